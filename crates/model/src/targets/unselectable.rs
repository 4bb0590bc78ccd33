//! GPU code that none of the given GPUs can select.
//!
//! CUDA C++ Programming Guide, "Just-in-Time Compilation" and "Binary Compatibility": the driver takes machine code for the GPU if a
//! container has it, else older machine code of the same generation, and compiles PTX only if there is none.

use super::code::Selection;
use super::gpu::Gpu;
use super::tables::Tables;
use super::target::Target;
use crate::size::{Cause, CauseSize, ImageSize, SizedPath, largest};
use crate::stack::LibraryCoverage;
use imgcheck_base::lexical::is_below;
use imgcheck_base::spelling::InvalidInput;
use imgcheck_elf::facts::GpuCode;

/// The GPU code of libraries that no GPU of the targets selects, without what the image does not use for another cause. `None` if no
/// target has a GPU.
///
/// # Errors
/// A target names an unknown GPU.
pub fn unselectable(
    targets: &[Target],
    libraries: &[LibraryCoverage],
    size: &ImageSize,
    tables: &Tables,
) -> Result<Option<CauseSize>, InvalidInput> {
    let names = targets.iter().flat_map(|it| &it.gpus);
    let gpus: Result<Vec<Gpu>, _> = names.map(|it| tables.gpus.parse(it)).collect();
    let gpus = gpus?;
    if gpus.is_empty() {
        return Ok(None);
    }
    let used = libraries
        .iter()
        .filter(|it| !has_other_cause(&it.path, size));
    let paths = used.filter_map(|library| {
        let bytes = bytes(&library.code, &gpus, tables);
        let all: u64 = library.code.bytes.iter().map(|(_, bytes)| bytes).sum();
        (bytes > 0).then(|| SizedPath {
            path: library.path.clone(),
            bytes,
            detail: format!("{} % of its GPU code", bytes * 100 / all.max(1)),
        })
    });
    let paths: Vec<SizedPath> = paths.collect();
    Ok(Some(CauseSize {
        cause: Cause::GpuCode,
        bytes: paths.iter().map(|it| it.bytes).sum(),
        largest: largest(paths),
    }))
}

fn has_other_cause(path: &str, size: &ImageSize) -> bool {
    let others = size.causes.iter().filter(|it| it.cause != Cause::Replaced);
    let mut paths = others.flat_map(|it| &it.largest);
    paths.any(|it| is_below(path, &it.path))
}

/// Bytes of the code that no GPU selects; 0 if not all code was read.
fn bytes(code: &GpuCode, gpus: &[Gpu], tables: &Tables) -> u64 {
    if code.sampled || code.damaged {
        return 0;
    }
    let selections = gpus
        .iter()
        .map(|it| Selection::of(it.capability, code, &tables.gpus));
    let selections: Vec<Selection> = selections.collect();
    let is_selected = |name: &str| selections.iter().any(|it| it.may_take(name));
    let unselected = code
        .bytes
        .iter()
        .filter(|(names, _)| !names.split(' ').any(is_selected));
    unselected.map(|(_, bytes)| bytes).sum()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn unselected(gpus: &[&str], sass: &[(&str, u32)], bytes: &[(&str, u64)]) -> u64 {
        let owned = |it: &(&str, u64)| (it.0.to_owned(), it.1);
        let library = LibraryCoverage {
            path: "/x/lib.so".to_owned(),
            code: GpuCode {
                containers: 2,
                sass: sass.iter().map(|it| (it.0.to_owned(), it.1)).collect(),
                bytes: bytes.iter().map(owned).collect(),
                ..GpuCode::default()
            },
            ..LibraryCoverage::default()
        };
        let target = Target {
            gpus: gpus.iter().map(|it| (*it).to_owned()).collect(),
            ..Target::default()
        };
        let tables = crate::knowledge::targets().unwrap();
        let found = unselectable(&[target], &[library], &ImageSize::default(), &tables).unwrap();
        found.unwrap().bytes
    }

    #[test]
    fn only_what_no_gpu_may_take_counts() {
        let sass = [("sm_80", 2), ("sm_90", 2)];
        let bytes = [
            ("sm_80", 1),
            ("sm_90", 10),
            ("sm_90a", 100),
            ("compute_90", 1000),
        ];
        // Every container has machine code for it, so that the driver compiles no PTX.
        assert_eq!(unselected(&["h100"], &sass, &bytes), 1001);
        assert_eq!(unselected(&["h100", "a100"], &sass, &bytes), 1000);
        assert_eq!(unselected(&["a10"], &sass, &bytes), 1110);
        assert_eq!(unselected(&["b200"], &sass, &bytes), 111);
        // Only half of the containers have it.
        assert_eq!(unselected(&["h100"], &[("sm_90", 1)], &bytes), 1);
    }

    #[test]
    fn code_that_is_compressed_together_is_taken_together() {
        let bytes = [("sm_80 sm_90", 7), ("sm_75 sm_86", 5)];
        assert_eq!(unselected(&["h100"], &[("sm_90", 2)], &bytes), 5);
    }
}
