//! The volumes of a container whose files the input has, in its root filesystem.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use imgcheck_base::bounds::Bounds;
use imgcheck_base::error::Result;
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts, RootFilesystem};
use imgcheck_launch::{ConfigMapFile, ConfigMapVolume, Overlay};

/// Permission bits of the directory of a volume, which is mounted read-only.
const DIRECTORY: u32 = 0o755;
const LINK: u32 = 0o777;
/// Where the files of a volume are.
const DATA: &str = "..data";

/// The files of volumes.
#[derive(Debug, Default)]
pub(crate) struct Volumes(OnceCell<LayerFacts>);

impl Volumes {
    /// The root filesystem of a container: layers, lowest first, and its volumes.
    ///
    /// # Errors
    /// Those of [`RootFilesystem::merge_within`].
    pub fn mounted<'a>(
        &'a self,
        layers: impl Iterator<Item = &'a LayerFacts>,
        overlay: &Overlay,
        bounds: &Bounds,
    ) -> Result<RootFilesystem<'a>> {
        let mut root = RootFilesystem::merge_within(layers, bounds)?;
        if !overlay.config_maps.is_empty() {
            let volumes = self.0.get_or_init(|| volumes(&root, overlay));
            root.mount(volumes, bounds)?;
        }
        Ok(root)
    }
}

fn volumes(root: &RootFilesystem, overlay: &Overlay) -> LayerFacts {
    let mut entries = Vec::new();
    for (path, volume) in &overlay.config_maps {
        let destination = root.destination(path);
        let path = destination.trim_start_matches('/');
        match volume {
            ConfigMapVolume::File(it) => entries.push(file(path.to_owned(), it)),
            ConfigMapVolume::Directory(files) => entries.extend(directory(path, files)),
        }
    }
    LayerFacts { entries }
}

/// The directory of a volume. As the kubelet writes it (`AtomicWriter` in pkg/volume/util/atomic_writer.go), it has links to what is below `..data`; that is a
/// link to a directory with a time as its name, which is left out here.
fn directory(path: &str, files: &BTreeMap<String, ConfigMapFile>) -> Vec<Entry> {
    let directory = |kind| entry(path.to_owned(), kind, DIRECTORY);
    let mut entries = vec![
        directory(EntryKind::Directory),
        directory(EntryKind::Opaque),
        entry(format!("{path}/{DATA}"), EntryKind::Directory, DIRECTORY),
    ];
    let first = |name: &String| name.split('/').next().unwrap_or_default().to_owned();
    let names: BTreeSet<String> = files.keys().map(first).collect();
    entries.extend(names.into_iter().map(|name| {
        let target = EntryKind::Symlink(format!("{DATA}/{name}"));
        entry(format!("{path}/{name}"), target, LINK)
    }));
    let files = files.iter();
    entries.extend(files.map(|(name, it)| file(format!("{path}/{DATA}/{name}"), it)));
    entries
}

fn file(path: String, file: &ConfigMapFile) -> Entry {
    let content = file.text.clone().map_or(Content::Unread, Content::Text);
    Entry {
        size: file.text.as_ref().map_or(0, |it| it.len() as u64),
        ..entry(path, EntryKind::File(content), file.mode)
    }
}

/// An entry of root.
fn entry(path: String, kind: EntryKind, mode: u32) -> Entry {
    Entry {
        path,
        kind,
        size: 0,
        mode,
        owner: Default::default(),
    }
}
