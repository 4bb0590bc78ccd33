//! CUDA toolkits: their version files, nvcc and C headers.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::evidence::is_version;
use super::inventory::{Inventory, TextFile};
use super::{Component, Evidence, EvidenceKind};
use imgcheck_base::lexical::{directory_of, name_of};

/// The used part of `version.json`.
#[derive(Deserialize)]
struct VersionFile<'t> {
    #[serde(borrow)]
    cuda: ToolkitPart<'t>,
}

#[derive(Deserialize)]
struct ToolkitPart<'t> {
    version: std::borrow::Cow<'t, str>,
}

/// One component per toolkit: a directory with a version file, nvcc or CUDA headers.
pub(super) fn components(inventory: &Inventory, headers: &[Header]) -> Vec<Component> {
    let mut toolkits: BTreeMap<String, Component> = BTreeMap::new();
    for file in &inventory.texts {
        if let Some(version) = version_file(file) {
            add_evidence(
                toolkits.entry(directory_of(&file.path).to_owned()),
                file,
                version,
                "version file",
            );
        }
    }
    for header in headers
        .iter()
        .filter(|header| header.component == "cuda-runtime")
    {
        let toolkit = toolkits.entry(header.prefix.clone());
        add_evidence(toolkit, header.file, header.version.clone(), header.macros);
    }
    for file in &inventory.elf {
        let prefix = directory_of(directory_of(&file.path));
        if name_of(&file.path) == "nvcc" && name_of(directory_of(&file.path)) == "bin" {
            let toolkit = toolkits
                .entry(prefix.to_owned())
                .or_insert_with(|| empty(prefix, file.node.layer()));
            toolkit.details.insert("nvcc".to_owned(), file.path.clone());
            toolkit.evidence.extend(file.versions());
        }
    }
    let mut toolkits: Vec<Component> = toolkits.into_values().collect();
    for toolkit in &mut toolkits {
        add_headers(toolkit, headers);
        let name = name_of(&toolkit.path);
        if let Some(version) = name.strip_prefix("cuda-").filter(|text| is_version(text)) {
            let evidence = Evidence::new(EvidenceKind::FileName, version, &toolkit.path, name);
            toolkit.evidence.push(evidence);
        }
    }
    toolkits
}

fn add_evidence(
    toolkit: std::collections::btree_map::Entry<String, Component>,
    file: &TextFile,
    version: String,
    detail: &str,
) {
    let prefix = toolkit.key().clone();
    let evidence = Evidence::new(EvidenceKind::HeaderFile, version, &file.path, detail);
    let component = toolkit.or_insert_with(|| empty(&prefix, file.layer));
    component.evidence.push(evidence);
}

fn empty(prefix: &str, layer: Option<usize>) -> Component {
    Component {
        name: "cuda-toolkit".to_owned(),
        path: prefix.to_owned(),
        layer,
        ..Component::default()
    }
}

/// Adds the details `headers` and `cudnn-headers`: versions of the C headers in the toolkit or in `/usr`.
fn add_headers(toolkit: &mut Component, headers: &[Header]) {
    for (component, detail) in [("cuda-runtime", "headers"), ("cudnn", "cudnn-headers")] {
        let header = headers
            .iter()
            .filter(|header| header.component == component)
            .find(|header| {
                header.prefix == toolkit.path || (component == "cudnn" && header.prefix == "/usr")
            });
        if let Some(header) = header {
            toolkit
                .details
                .insert(detail.to_owned(), header.version.clone());
        }
    }
}

/// The version in `version.json` (CUDA 11.1 and later) or `version.txt` (earlier releases).
fn version_file(file: &TextFile) -> Option<String> {
    let version = match name_of(&file.path) {
        "version.json" => serde_json::from_str::<VersionFile>(file.text)
            .ok()?
            .cuda
            .version
            .into_owned(),
        "version.txt" => file.text.trim().strip_prefix("CUDA Version ")?.to_owned(),
        _ => return None,
    };
    is_version(&version).then_some(version)
}

/// A C header that contains the version of a library.
pub(super) struct Header<'i> {
    /// The component whose version it contains.
    pub(super) component: &'static str,
    pub(super) version: String,
    /// The directory above `include`, and above `targets/…` in a toolkit.
    pub(super) prefix: String,
    pub(super) file: &'i TextFile<'i>,
    macros: &'static str,
}

/// The header and macros that contain the version of a component.
struct HeaderRow {
    name: fn(&str) -> bool,
    component: &'static str,
    macros: &'static str,
    read: fn(&BTreeMap<&str, u64>) -> Option<String>,
}

const HEADERS: [HeaderRow; 6] = [
    HeaderRow {
        name: |name| name == "cuda.h",
        component: "cuda-runtime",
        macros: "CUDA_VERSION",
        read: |macros| cuda_version(*macros.get("CUDA_VERSION")?),
    },
    HeaderRow {
        name: |name| name == "cuda_runtime_api.h",
        component: "cuda-runtime",
        macros: "CUDART_VERSION",
        read: |macros| cuda_version(*macros.get("CUDART_VERSION")?),
    },
    HeaderRow {
        name: |name| name.starts_with("cudnn_version") && name.ends_with(".h"),
        component: "cudnn",
        macros: "CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL",
        read: |macros| dotted(macros, &["CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL"]),
    },
    HeaderRow {
        name: |name| name == "nccl.h",
        component: "nccl",
        macros: "NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH",
        read: |macros| dotted(macros, &["NCCL_MAJOR", "NCCL_MINOR", "NCCL_PATCH"]),
    },
    HeaderRow {
        name: |name| name == "cublas_api.h",
        component: "cublas",
        macros: "CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH, CUBLAS_VER_BUILD",
        read: |macros| {
            dotted(
                macros,
                &[
                    "CUBLAS_VER_MAJOR",
                    "CUBLAS_VER_MINOR",
                    "CUBLAS_VER_PATCH",
                    "CUBLAS_VER_BUILD",
                ],
            )
        },
    },
    HeaderRow {
        name: |name| name == "NvInferVersion.h",
        component: "tensorrt",
        macros: "NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH, NV_TENSORRT_BUILD",
        read: |macros| {
            dotted(
                macros,
                &[
                    "NV_TENSORRT_MAJOR",
                    "NV_TENSORRT_MINOR",
                    "NV_TENSORRT_PATCH",
                    "NV_TENSORRT_BUILD",
                ],
            )
        },
    },
];

/// All headers that contain a version, sorted by path.
pub(super) fn headers<'i>(inventory: &'i Inventory) -> Vec<Header<'i>> {
    inventory.texts.iter().filter_map(header).collect()
}

fn header<'i>(file: &'i TextFile<'i>) -> Option<Header<'i>> {
    let name = name_of(&file.path);
    let row = HEADERS.iter().find(|row| (row.name)(name))?;
    let (above, _) = file.path.rsplit_once("/include/")?;
    let prefix = match above.rsplit_once("/targets/") {
        Some((prefix, target)) if !target.contains('/') => prefix,
        _ => above,
    };
    Some(Header {
        component: row.component,
        version: (row.read)(&macros(file.text))?,
        prefix: prefix.to_owned(),
        file,
        macros: row.macros,
    })
}

/// The macros of a header whose value is a number.
fn macros(text: &str) -> BTreeMap<&str, u64> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.strip_prefix("#define ")?.split_whitespace();
            Some((words.next()?, words.next()?.parse().ok()?))
        })
        .collect()
}

/// `12.8` for 12080 (`CUDA_VERSION`: 1000 × major + 10 × minor).
fn cuda_version(value: u64) -> Option<String> {
    (1000..100_000)
        .contains(&value)
        .then(|| format!("{}.{}", value / 1000, value % 1000 / 10))
}

fn dotted(macros: &BTreeMap<&str, u64>, names: &[&str]) -> Option<String> {
    let numbers: Option<Vec<String>> = names
        .iter()
        .map(|name| macros.get(name).map(u64::to_string))
        .collect();
    Some(numbers?.join("."))
}

/// Adds a header's version as evidence to the library below the same prefix. If the prefix has several copies of the library,
/// the header proves nothing.
pub(super) fn add_header_evidence(components: &mut [Component], headers: &[Header]) {
    for header in headers {
        let beside: BTreeSet<usize> = components
            .iter()
            .enumerate()
            .filter(|(_, component)| {
                component.name == header.component
                    && component
                        .path
                        .strip_prefix(&header.prefix)
                        .is_some_and(|rest| {
                            rest.starts_with("/lib") || rest.starts_with("/targets/")
                        })
                    && !component.details.contains_key("kind")
            })
            .map(|(index, _)| index)
            .collect();
        if let [only] = beside.into_iter().collect::<Vec<_>>()[..] {
            components[only].evidence.push(Evidence::new(
                EvidenceKind::HeaderFile,
                &header.version,
                &header.file.path,
                header.macros,
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_and_versions() {
        let cudnn = "#ifndef X\n#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 10\n#define CUDNN_PATCHLEVEL 2\n\
                     #define CUDNN_VERSION (CUDNN_MAJOR * 10000)\n";
        assert_eq!(
            dotted(
                &macros(cudnn),
                &["CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL"]
            )
            .as_deref(),
            Some("9.10.2")
        );
        assert_eq!(cuda_version(12080).as_deref(), Some("12.8"));
        assert_eq!(cuda_version(7), None);
    }
}
