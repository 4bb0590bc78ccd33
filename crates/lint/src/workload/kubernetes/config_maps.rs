//! The files of ConfigMap volumes.
//!
//! Source: kubernetes/kubernetes, `MakePayload` in pkg/volume/configmap/configmap.go, and `makeMounts` in pkg/kubelet/kubelet_pods.go.

use std::collections::BTreeMap;

use super::fields::number;
use super::reader::Reader;
use super::security_context::SecurityContext;
use crate::workload::shape::volume;
use imgcheck_base::document::Node;
use imgcheck_base::lexical::simplified;
use imgcheck_launch::{ConfigMapFile, ConfigMapVolume};

/// Permission bits of files for which the volume says nothing.
const MODE: u32 = 0o644;

/// The ConfigMaps of the input that a container mounts, by the path of the mount.
pub(super) fn mounted(
    container: &Node,
    pod: &Node,
    reader: &Reader,
) -> BTreeMap<String, ConfigMapVolume> {
    let has_other_groups = SecurityContext::of(pod, container).has_other_groups();
    let mounts = container.items_of("volumeMounts").filter_map(|mount| {
        let volume = volume(pod, mount.text_of("name")?)?;
        let mut files = files(volume.get("configMap")?, reader)?;
        if has_other_groups {
            let files = files.values_mut();
            files.for_each(|it| it.mode = for_groups(it.mode));
        }
        let volume = match (mount.text_of("subPath"), mount.get("subPathExpr")) {
            (_, Some(_)) => return None,
            (None | Some(""), None) => ConfigMapVolume::Directory(files),
            (Some(key), None) => ConfigMapVolume::File(files.get(key)?.clone()),
        };
        Some((simplified(mount.text_of("mountPath")?), volume))
    });
    mounts.collect()
}

/// The files of a volume by their paths in it; `None` if its ConfigMap is not in the input, or is left to who fills it.
fn files(source: &Node, reader: &Reader) -> Option<BTreeMap<String, ConfigMapFile>> {
    let name = source.text_of("name")?;
    let data = reader.objects.data("ConfigMap", reader.namespace, name)?;
    let default = source.get("defaultMode").map_or(Some(MODE), number)?;
    let file = |key: &str, path: &str, mode: u32| {
        let text = data.get(key)?.clone();
        let is_path = path.split('/').all(|it| !["", ".", ".."].contains(&it));
        is_path.then(|| (path.to_owned(), ConfigMapFile { text, mode }))
    };
    let files: Option<BTreeMap<_, _>> = match source.get("items") {
        None => data.keys().map(|key| file(key, key, default)).collect(),
        Some(_) => {
            let items = source.items_of("items").map(|item| {
                let mode = item.get("mode").map_or(Some(default), number)?;
                file(item.text_of("key")?, item.text_of("path")?, mode)
            });
            items.collect()
        }
    };
    files.filter(|it| !it.is_empty())
}

/// What everybody may do with a file here that a group of the container may: read it, as the kubelet lets `fsGroup` (`SetVolumeOwnership` in
/// pkg/volume/volume_linux.go), and execute it if its mode says so.
fn for_groups(mode: u32) -> u32 {
    mode | 0o444 | (mode & 0o010) >> 3
}
