//! The volumes of a container whose files the input has, in its root filesystem.

use std::cell::OnceCell;

use imgcheck_base::bounds::Bounds;
use imgcheck_base::error::Result;
use imgcheck_image::{Content, Entry, EntryKind, LayerFacts, RootFilesystem};
use imgcheck_launch::{ConfigMapFile, ConfigMapVolume, Overlay};

/// Permission bits of the directory of a volume, which is mounted read-only.
const DIRECTORY: u32 = 0o755;

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
            ConfigMapVolume::Directory(files) => {
                let directory = |kind| Entry {
                    path: path.to_owned(),
                    kind,
                    size: 0,
                    mode: DIRECTORY,
                    owner: Default::default(),
                };
                entries.extend([EntryKind::Directory, EntryKind::Opaque].map(directory));
                let files = files.iter();
                entries.extend(files.map(|(name, it)| file(format!("{path}/{name}"), it)));
            }
        }
    }
    LayerFacts { entries }
}

fn file(path: String, file: &ConfigMapFile) -> Entry {
    let content = file.text.clone().map_or(Content::Unread, Content::Text);
    Entry {
        path,
        size: file.text.as_ref().map_or(0, |it| it.len() as u64),
        kind: EntryKind::File(content),
        mode: file.mode,
        owner: Default::default(),
    }
}
