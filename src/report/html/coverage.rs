//! For which GPUs the libraries have code, as a table: a line a library, a column an architecture.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::embedded;
use crate::report::Inspection;
use crate::stack::Coverage;
use crate::targets::{Capability, CodeKind, TargetFacts, support_of};

/// So many libraries are shown.
const LIBRARIES: usize = 80;

/// The table.
#[derive(Debug, Default)]
pub(super) struct Matrix {
    /// Generations of GPUs, each with the number of its columns.
    pub generations: Vec<(String, usize)>,
    /// The columns.
    pub columns: Vec<Architecture>,
    /// PyTorch's own kernels, and what processes map.
    pub lines: Vec<Line>,
    /// Libraries that no process maps.
    pub others: Vec<Line>,
    /// How many libraries are left out, because there are too many.
    pub left_out: usize,
}

/// One column.
#[derive(Debug)]
pub(super) struct Architecture {
    /// `9.0`.
    pub capability: String,
    /// GPUs of it: `H100, H200`; empty if the table of GPUs has none.
    pub gpus: String,
}

/// One library.
#[derive(Debug)]
pub(super) struct Line {
    /// Name of the file, or what it is.
    pub name: String,
    /// Its directory.
    pub directory: String,
    /// What it has for each architecture.
    pub cells: Vec<Cell>,
    /// Whether it decides what PyTorch can run on.
    pub is_torch: bool,
}

/// What a library has for one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    /// `sass`, `ptx`, `both`, or without code of its own: `same` (machine code of an older GPU of the same generation runs),
    /// `later` (PTX of an older one can be compiled), `none` or `unknown`.
    pub kind: &'static str,
    /// What is written in it: the variants of machine code, such as `a`.
    pub variants: String,
    /// All in words.
    pub tooltip: String,
}

/// Builds the table of an image, with a column for each architecture that it has code for and each GPU of the targets; `None`
/// without any GPU code.
pub(super) fn matrix(facts: &Inspection, targets: &[TargetFacts]) -> Option<Matrix> {
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
    let known = known();
    let mapped: BTreeSet<&str> = mapped(facts);
    let mut matrix = Matrix {
        generations: generations(&capabilities, &known),
        columns: capabilities
            .iter()
            .map(|&it| architecture(it, &known))
            .collect(),
        ..Matrix::default()
    };
    if let Some(torch) = &gpu.torch {
        matrix.lines.push(Line {
            name: "PyTorch, every kernel".to_owned(),
            directory: "what all of libtorch_cuda is built for".to_owned(),
            cells: cells(&capabilities, torch),
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
            cells: cells(&capabilities, &library.coverage),
            is_torch: false,
        };
        match mapped.contains(library.path.as_str()) {
            true => matrix.lines.push(line),
            false => matrix.others.push(line),
        }
    }
    Some(matrix)
}

/// A directory below the one that Python packages are installed in: `nvidia/cudnn/lib`.
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

/// By capability, the generation and GPUs of the knowledge table.
type Known = BTreeMap<Capability, (String, Vec<String>)>;

fn known() -> Known {
    #[derive(Deserialize)]
    struct Table {
        gpus: Vec<Row>,
    }
    #[derive(Deserialize)]
    struct Row {
        gpu: String,
        compute_capability: String,
        architecture: String,
    }
    let rows = embedded::knowledge::<Table>("gpus").map_or_else(|_| Vec::new(), |table| table.gpus);
    let mut known = Known::new();
    for row in rows {
        let Some(capability) = Capability::parse(&row.compute_capability) else {
            continue;
        };
        let entry = known
            .entry(capability)
            .or_insert_with(|| (row.architecture, Vec::new()));
        entry.1.push(row.gpu);
    }
    known
}

fn architecture(capability: Capability, known: &Known) -> Architecture {
    let gpus = known.get(&capability).map_or(&[][..], |(_, gpus)| gpus);
    let shown: Vec<&str> = gpus.iter().take(6).map(String::as_str).collect();
    Architecture {
        capability: capability.to_string(),
        gpus: shown.join(", "),
    }
}

/// Neighbours of one generation together. An architecture without a GPU in the table is of its neighbour's generation if that is
/// of the same major number.
fn generations(capabilities: &[Capability], known: &Known) -> Vec<(String, usize)> {
    let of_major = |major: u32| {
        let same = known.iter().find(|(known, _)| known.major == major);
        same.map(|(_, (generation, _))| generation.clone())
    };
    let mut generations: Vec<(String, usize)> = Vec::new();
    for capability in capabilities {
        let name = known
            .get(capability)
            .map(|(generation, _)| generation.clone());
        let name = name
            .or_else(|| of_major(capability.major))
            .unwrap_or_default();
        match generations.last_mut() {
            Some((last, count)) if *last == name => *count += 1,
            _ => generations.push((name, 1)),
        }
    }
    generations
}

/// What a library has for each architecture.
fn cells(capabilities: &[Capability], coverage: &Coverage) -> Vec<Cell> {
    let cell = |&capability: &Capability| cell(capability, coverage);
    capabilities.iter().map(cell).collect()
}

/// Its own code, and what follows from that for other architectures.
fn cell(capability: Capability, coverage: &Coverage) -> Cell {
    let of = |names: &[String]| -> Vec<String> {
        let own = names
            .iter()
            .filter(|name| parts(name).is_some_and(|(it, _)| it == capability));
        own.cloned().collect()
    };
    let (sass, ptx) = (of(&coverage.sass), of(&coverage.ptx));
    let support = support_of(capability, coverage);
    let (by, runs) = (support.by, support.how);
    let (kind, said) = match runs {
        CodeKind::Sass if !sass.is_empty() && !ptx.is_empty() => ("both", None),
        CodeKind::Sass if !sass.is_empty() => ("sass", None),
        CodeKind::Sass => ("same", Some(format!("runs the machine code of {by}"))),
        CodeKind::Ptx if !ptx.is_empty() => ("ptx", None),
        CodeKind::Ptx => (
            "later",
            Some(format!("the driver can compile the PTX of {by}")),
        ),
        CodeKind::None => ("none", Some("no code".to_owned())),
        CodeKind::Unknown => ("unknown", Some("not known".to_owned())),
    };
    Cell {
        kind,
        variants: variants(&sass),
        tooltip: said
            .into_iter()
            .chain(sass.into_iter().chain(ptx))
            .collect::<Vec<String>>()
            .join(", "),
    }
}

/// The letters of machine code that there is only for variants of an architecture: `a` of `sm_90a`.
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
        let cells = cells(&all(numbers), coverage);
        cells.iter().map(|cell| cell.kind).collect()
    }

    #[test]
    fn a_cell_tells_machine_code_from_ptx_and_names_variants() {
        let coverage = coverage(
            &["sm_80", "sm_90a", "sm_100", "sm_100f"],
            &["compute_80", "compute_120"],
        );
        let cells = cells(&all(&[75, 80, 90, 100, 120]), &coverage);
        let kinds: Vec<&str> = cells.iter().map(|cell| cell.kind).collect();
        assert_eq!(kinds, ["none", "both", "sass", "sass", "ptx"]);
        let variants: Vec<&str> = cells.iter().map(|cell| cell.variants.as_str()).collect();
        assert_eq!(variants, ["", "", "a", "", ""]);
        assert_eq!(cells[1].tooltip, "sm_80, compute_80");
    }

    /// As PyTorch 2.8.0 for CUDA 12.8 is built: nobody with an Ada GPU is to think that it is left out.
    #[test]
    fn code_of_an_older_gpu_of_the_same_generation_counts() {
        let machine_code = coverage(&["sm_70", "sm_86", "sm_90a", "sm_120"], &[]);
        // Xavier (7.2) and Orin (8.7) are Tegra, A100 (8.0) is older than 8.6.
        assert_eq!(
            kinds(&[72, 80, 87, 89, 100, 121], &machine_code),
            ["none", "none", "none", "same", "none", "same"]
        );
        let ptx = coverage(&["sm_80"], &["compute_86"]);
        assert_eq!(kinds(&[86], &ptx), ["same"]);
    }

    /// Tegra runs no machine code of others, and compiles their PTX.
    #[test]
    fn ptx_of_an_older_gpu_counts_on_tegra_too() {
        let ptx = coverage(&["sm_80"], &["compute_80", "compute_90a"]);
        assert_eq!(
            kinds(&[72, 80, 87, 89, 100, 121], &ptx),
            ["none", "both", "later", "same", "later", "later"]
        );
    }

    /// Thor was 10.1 before CUDA 13, and nobody established whether it runs what was made for it then.
    #[test]
    fn what_nobody_established_is_not_concluded() {
        let cell = cell(capability(110), &coverage(&["sm_101"], &[]));
        assert_eq!((cell.kind, cell.tooltip.as_str()), ("unknown", "not known"));
    }

    #[test]
    fn architectures_stand_below_their_generation() {
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
