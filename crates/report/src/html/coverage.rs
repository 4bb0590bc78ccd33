//! The GPU architectures that the libraries of an image support, as a table.

use std::collections::BTreeSet;

use crate::Inspection;
use imgcheck_model::stack::Coverage;
use imgcheck_model::targets::{Capability, CodeKind, GpuTable, TargetFacts, support_of};

/// How many libraries are shown.
const LIBRARIES: usize = 80;

/// The table: a row for each library, a column for each architecture.
#[derive(Debug, Default)]
pub(super) struct Matrix {
    /// GPU generations, each with its number of columns.
    pub generations: Vec<(String, usize)>,
    pub columns: Vec<Architecture>,
    /// PyTorch's own kernels, and libraries that a process maps.
    pub lines: Vec<Line>,
    /// Libraries that no process maps.
    pub others: Vec<Line>,
    /// How many libraries are left out.
    pub left_out: usize,
}

/// A column.
#[derive(Debug)]
pub(super) struct Architecture {
    /// `9.0`.
    pub capability: String,
    /// GPUs with this capability, such as `H100, H200`; empty if unknown.
    pub gpus: String,
}

/// A row.
#[derive(Debug)]
pub(super) struct Line {
    /// File name, or a description.
    pub name: String,
    pub directory: String,
    /// One cell for each column.
    pub cells: Vec<Cell>,
    /// Whether the row is for PyTorch's own kernels.
    pub is_torch: bool,
}

/// The support of a library for one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    /// `sass`, `ptx` or `both`; without code for exactly this architecture `same` (runs machine code of an older GPU of the
    /// same generation), `later` (the driver can compile older PTX), `none` or `unknown`.
    pub kind: &'static str,
    /// The variants of machine code, such as `a`.
    pub variants: String,
    /// The support in words.
    pub tooltip: String,
}

/// The table of an image, with a column for each architecture that it has code for and each GPU of the targets; `None` without
/// GPU code.
pub(super) fn matrix(
    facts: &Inspection,
    targets: &[TargetFacts],
    known: &GpuTable,
) -> Option<Matrix> {
    let gpu = &facts.gpu;
    let all = gpu.libraries.iter().map(|library| &library.coverage);
    let mut capabilities: BTreeSet<Capability> = all
        .chain(&gpu.torch)
        .flat_map(|coverage| coverage.sass.iter().chain(&coverage.ptx))
        .filter_map(|name| parts(name).map(|(capability, _)| capability))
        .collect();
    if capabilities.is_empty() {
        return None;
    }
    let gpus = targets.iter().flat_map(|target| &target.gpus);
    capabilities.extend(gpus.filter_map(|gpu| Capability::parse(&gpu.capability)));
    let capabilities: Vec<Capability> = capabilities.into_iter().collect();
    let mapped: BTreeSet<&str> = mapped(facts);
    let mut matrix = Matrix {
        generations: generations(&capabilities, known),
        columns: capabilities
            .iter()
            .map(|&it| architecture(it, known))
            .collect(),
        ..Matrix::default()
    };
    if let Some(torch) = &gpu.torch {
        matrix.lines.push(Line {
            name: "PyTorch, every kernel".to_owned(),
            directory: "architectures that all of libtorch_cuda supports".to_owned(),
            cells: cells(&capabilities, torch, known),
            is_torch: true,
        });
    }
    for library in &gpu.libraries {
        if matrix.lines.len() + matrix.others.len() >= LIBRARIES {
            matrix.left_out += 1;
            continue;
        }
        let (directory, name) = library.path.rsplit_once('/').unwrap_or(("", &library.path));
        let line = Line {
            name: name.to_owned(),
            directory: within_packages(directory).to_owned(),
            cells: cells(&capabilities, &library.coverage, known),
            is_torch: false,
        };
        match mapped.contains(library.path.as_str()) {
            true => matrix.lines.push(line),
            false => matrix.others.push(line),
        }
    }
    Some(matrix)
}

/// A directory relative to `site-packages`: `nvidia/cudnn/lib`.
fn within_packages(directory: &str) -> &str {
    let roots = ["/site-packages/", "/dist-packages/"];
    let mut below = roots
        .iter()
        .filter_map(|root| Some(directory.split_once(root)?.1));
    below.next().unwrap_or(directory)
}

fn mapped(facts: &Inspection) -> BTreeSet<&str> {
    let processes = facts.loader.iter().flat_map(|loader| &loader.processes);
    let objects = processes.flat_map(|process| &process.objects);
    objects.map(|object| object.path.as_str()).collect()
}

/// `sm_90a` as 9.0 and `a`.
fn parts(name: &str) -> Option<(Capability, &str)> {
    let (_, rest) = name.split_once('_')?;
    let digits = rest.trim_end_matches(|character: char| !character.is_ascii_digit());
    Some((Capability::parse(digits)?, &rest[digits.len()..]))
}

fn architecture(capability: Capability, known: &GpuTable) -> Architecture {
    let models = known.models(capability).iter().take(6);
    Architecture {
        capability: capability.to_string(),
        gpus: models.cloned().collect::<Vec<_>>().join(", "),
    }
}

/// Groups adjacent capabilities by generation.
fn generations(capabilities: &[Capability], known: &GpuTable) -> Vec<(String, usize)> {
    let mut generations: Vec<(String, usize)> = Vec::new();
    for &capability in capabilities {
        let name = known.generation(capability).unwrap_or_default();
        match generations.last_mut() {
            Some((last, count)) if last == name => *count += 1,
            _ => generations.push((name.to_owned(), 1)),
        }
    }
    generations
}

fn cells(capabilities: &[Capability], coverage: &Coverage, known: &GpuTable) -> Vec<Cell> {
    let cell = |&capability: &Capability| cell(capability, coverage, known);
    capabilities.iter().map(cell).collect()
}

/// The support for one architecture.
fn cell(capability: Capability, coverage: &Coverage, known: &GpuTable) -> Cell {
    let of = |names: &[String]| -> Vec<String> {
        let own = names
            .iter()
            .filter(|name| parts(name).is_some_and(|(it, _)| it == capability));
        own.cloned().collect()
    };
    let (sass, ptx) = (of(&coverage.sass), of(&coverage.ptx));
    let support = support_of(capability, coverage, known);
    let (by, runs) = (support.by, support.how);
    let (kind, remark) = match runs {
        CodeKind::Sass if !sass.is_empty() && !ptx.is_empty() => ("both", None),
        CodeKind::Sass if !sass.is_empty() => ("sass", None),
        CodeKind::Sass => ("same", Some(format!("runs the machine code of {by}"))),
        CodeKind::Ptx if !ptx.is_empty() => ("ptx", None),
        CodeKind::Ptx => (
            "later",
            Some(format!("the driver can compile the PTX of {by}")),
        ),
        CodeKind::None => ("none", Some("no code".to_owned())),
        CodeKind::Unknown => ("unknown", Some("unknown".to_owned())),
    };
    Cell {
        kind,
        variants: variants(&sass),
        tooltip: remark
            .into_iter()
            .chain(sass.into_iter().chain(ptx))
            .collect::<Vec<String>>()
            .join(", "),
    }
}

/// The suffixes of machine code that exists only for variants of an architecture: `a` of `sm_90a`.
fn variants(sass: &[String]) -> String {
    let variants: Vec<&str> = sass
        .iter()
        .filter_map(|name| Some(parts(name)?.1))
        .collect();
    match variants.contains(&"") {
        true => String::new(),
        false => variants.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> GpuTable {
        imgcheck_model::knowledge::gpus().unwrap_or_else(|error| panic!("{error}"))
    }

    fn capability(number: u32) -> Capability {
        Capability {
            major: number / 10,
            minor: number % 10,
        }
    }

    fn all(numbers: &[u32]) -> Vec<Capability> {
        numbers.iter().map(|&number| capability(number)).collect()
    }

    fn coverage(sass: &[&str], ptx: &[&str]) -> Coverage {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Coverage {
            sass: owned(sass),
            ptx: owned(ptx),
        }
    }

    fn kinds(numbers: &[u32], coverage: &Coverage) -> Vec<&'static str> {
        let cells = cells(&all(numbers), coverage, &known());
        cells.iter().map(|cell| cell.kind).collect()
    }

    #[test]
    fn a_cell_distinguishes_machine_code_ptx_and_variants() {
        let coverage = coverage(
            &["sm_80", "sm_90a", "sm_100", "sm_100f"],
            &["compute_80", "compute_120"],
        );
        let cells = cells(&all(&[75, 80, 90, 100, 120]), &coverage, &known());
        let kinds: Vec<&str> = cells.iter().map(|cell| cell.kind).collect();
        assert_eq!(kinds, ["none", "both", "sass", "sass", "ptx"]);
        let variants: Vec<&str> = cells.iter().map(|cell| cell.variants.as_str()).collect();
        assert_eq!(variants, ["", "", "a", "", ""]);
        assert_eq!(cells[1].tooltip, "sm_80, compute_80");
    }

    /// As in PyTorch 2.8.0 for CUDA 12.8, which runs on Ada GPUs.
    #[test]
    fn code_for_an_older_gpu_of_the_same_generation_counts() {
        let machine_code = coverage(&["sm_70", "sm_86", "sm_90a", "sm_120"], &[]);
        // Xavier (7.2) and Orin (8.7) are Tegra, A100 (8.0) is older than 8.6.
        assert_eq!(
            kinds(&[72, 80, 87, 89, 100, 121], &machine_code),
            ["none", "none", "none", "same", "none", "same"]
        );
        let ptx = coverage(&["sm_80"], &["compute_86"]);
        assert_eq!(kinds(&[86], &ptx), ["same"]);
    }

    /// Tegra does not run machine code of other GPUs, but compiles their PTX.
    #[test]
    fn older_ptx_counts_on_tegra_too() {
        let ptx = coverage(&["sm_80"], &["compute_80", "compute_90a"]);
        assert_eq!(
            kinds(&[72, 80, 87, 89, 100, 121], &ptx),
            ["none", "both", "later", "same", "later", "later"]
        );
    }

    /// Thor was 10.1 before CUDA 13, and whether it runs code for 10.1 is unknown.
    #[test]
    fn unverified_support_is_unknown() {
        let cell = cell(capability(110), &coverage(&["sm_101"], &[]), &known());
        assert_eq!((cell.kind, cell.tooltip.as_str()), ("unknown", "unknown"));
    }

    #[test]
    fn architectures_are_grouped_by_generation() {
        let known = known();
        let generations = generations(&all(&[80, 86, 89, 90, 100, 120]), &known);
        let expected = [("Ampere", 2), ("Ada", 1), ("Hopper", 1), ("Blackwell", 2)];
        assert_eq!(
            generations,
            expected.map(|(name, count)| (name.to_owned(), count))
        );
        assert!(architecture(capability(90), &known).gpus.contains("H100"));
        assert_eq!(architecture(capability(120), &known).capability, "12.0");
    }
}
