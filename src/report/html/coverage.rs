//! For which GPUs the libraries have code, as a table: a line a library, a column an architecture.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::embedded;
use crate::report::ImageFacts;
use crate::stack::Coverage;

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
    /// `sass`, `ptx`, `both`, or without code of its own: `same` (machine code of an older GPU of the same major number runs),
    /// `later` (PTX of an older one can be compiled) or `none`.
    pub kind: &'static str,
    /// What is written in it: the variants of machine code, such as `a`.
    pub variants: String,
    /// All in words.
    pub tooltip: String,
}

/// Builds the table of an image; `None` without any GPU code.
pub(super) fn matrix(facts: &ImageFacts) -> Option<Matrix> {
    let gpu = &facts.gpu;
    let all = gpu.libraries.iter().map(|library| &library.coverage);
    let numbers: BTreeSet<u32> = all
        .chain(&gpu.torch)
        .flat_map(|coverage| coverage.sass.iter().chain(&coverage.ptx))
        .filter_map(|name| parts(name).map(|(number, _)| number))
        .collect();
    if numbers.is_empty() {
        return None;
    }
    let numbers: Vec<u32> = numbers.into_iter().collect();
    let known = known();
    let mapped: BTreeSet<&str> = mapped(facts);
    let mut matrix = Matrix {
        generations: generations(&numbers, &known),
        columns: numbers.iter().map(|&it| architecture(it, &known)).collect(),
        ..Matrix::default()
    };
    if let Some(torch) = &gpu.torch {
        matrix.lines.push(Line {
            name: "PyTorch, every kernel".to_owned(),
            directory: "what all of libtorch_cuda is built for".to_owned(),
            cells: cells(&numbers, torch, &known),
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
            cells: cells(&numbers, &library.coverage, &known),
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

fn mapped(facts: &ImageFacts) -> BTreeSet<&str> {
    let processes = facts.loader.iter().flat_map(|loader| &loader.processes);
    let objects = processes.flat_map(|process| &process.objects);
    objects.map(|object| object.path.as_str()).collect()
}

/// `sm_90a` as 90 and `a`.
fn parts(name: &str) -> Option<(u32, &str)> {
    let (_, rest) = name.split_once('_')?;
    let end = rest
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(rest.len());
    Some((rest[..end].parse().ok()?, &rest[end..]))
}

/// By number, the generation and GPUs of the knowledge table.
type Known = BTreeMap<u32, (String, Vec<String>)>;

fn known() -> Known {
    #[derive(Deserialize)]
    struct Table {
        gpus: Vec<Row>,
    }
    #[derive(Deserialize)]
    struct Row {
        gpu: String,
        sm: String,
        architecture: String,
    }
    let rows = embedded::knowledge::<Table>("gpus").map_or_else(|_| Vec::new(), |table| table.gpus);
    let mut known = Known::new();
    for row in rows {
        let Some((number, _)) = parts(&row.sm) else {
            continue;
        };
        let entry = known
            .entry(number)
            .or_insert_with(|| (row.architecture, Vec::new()));
        entry.1.push(row.gpu);
    }
    known
}

fn architecture(number: u32, known: &Known) -> Architecture {
    let gpus = known.get(&number).map_or(&[][..], |(_, gpus)| gpus);
    let shown: Vec<&str> = gpus.iter().take(6).map(String::as_str).collect();
    Architecture {
        capability: format!("{}.{}", number / 10, number % 10),
        gpus: shown.join(", "),
    }
}

/// Neighbours of one generation together. An architecture without a GPU in the table is of its neighbour's generation if that is
/// of the same major number.
fn generations(numbers: &[u32], known: &Known) -> Vec<(String, usize)> {
    let name = |number: u32| known.get(&number).map(|(generation, _)| generation.clone());
    let of_major = |number: u32| {
        let same = known.range(number / 10 * 10..number / 10 * 10 + 10).next();
        same.map(|(_, (generation, _))| generation.clone())
    };
    let mut generations: Vec<(String, usize)> = Vec::new();
    for &number in numbers {
        let generation = name(number)
            .or_else(|| of_major(number))
            .unwrap_or_default();
        match generations.last_mut() {
            Some((last, count)) if *last == generation => *count += 1,
            _ => generations.push((generation, 1)),
        }
    }
    generations
}

/// What a library has for each architecture.
///
/// Machine code runs on GPUs of the same major number with the same or a higher minor one, and that of a variant such as `sm_90a`
/// only on its own; PTX can be compiled for all later ones. Of Tegra's GPUs nothing is concluded: binary compatibility between them
/// and the others is not promised (CUDA C++ Programming Guide, "Binary Compatibility" and "PTX Compatibility").
fn cells(numbers: &[u32], coverage: &Coverage, known: &Known) -> Vec<Cell> {
    let of = |names: &[String], number: u32| -> Vec<String> {
        let own = names
            .iter()
            .filter(|name| parts(name).is_some_and(|(it, _)| it == number));
        own.cloned().collect()
    };
    let cell = |&number: &u32| {
        let (sass, ptx) = (of(&coverage.sass, number), of(&coverage.ptx, number));
        if sass.is_empty() && ptx.is_empty() {
            return without_own(number, coverage, known);
        }
        let variants: Vec<&str> = sass
            .iter()
            .filter_map(|name| Some(parts(name)?.1))
            .collect();
        let variants = match variants.contains(&"") {
            true => String::new(),
            false => variants.concat(),
        };
        let kind = match (sass.is_empty(), ptx.is_empty()) {
            (false, true) => "sass",
            (false, false) => "both",
            (true, _) => "ptx",
        };
        let words: Vec<String> = sass.into_iter().chain(ptx).collect();
        Cell {
            kind,
            variants,
            tooltip: words.join(", "),
        }
    };
    numbers.iter().map(cell).collect()
}

/// What runs on an architecture that there is no code of its own for.
fn without_own(number: u32, coverage: &Coverage, known: &Known) -> Cell {
    let is_tegra = |gpus: &Vec<String>| gpus.iter().all(|gpu| gpu.contains("Jetson"));
    let concludes = known.get(&number).is_some_and(|(_, gpus)| !is_tegra(gpus));
    let newest = |names: &[String], fits: &dyn Fn(u32) -> bool| {
        let plain = names.iter().filter_map(|name| parts(name));
        let plain = plain.filter(|(it, variant)| variant.is_empty() && *it < number && fits(*it));
        plain.map(|(it, _)| it).max()
    };
    let same = |it: u32| {
        let of_tegra = known.get(&it).is_none_or(|(_, gpus)| is_tegra(gpus));
        it / 10 == number / 10 && !of_tegra
    };
    let sass = newest(&coverage.sass, &same).filter(|_| concludes);
    let ptx = newest(&coverage.ptx, &|_| true).filter(|_| concludes);
    let (kind, tooltip) = match (sass, ptx) {
        (Some(older), _) => ("same", format!("runs the machine code of sm_{older}")),
        (None, Some(older)) => (
            "later",
            format!("the driver can compile the PTX of compute_{older}"),
        ),
        (None, None) => ("none", "no code".to_owned()),
    };
    Cell {
        kind,
        variants: String::new(),
        tooltip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_tells_machine_code_from_ptx_and_names_variants() {
        let coverage = Coverage {
            sass: ["sm_80", "sm_90a", "sm_100", "sm_100f"]
                .map(str::to_owned)
                .to_vec(),
            ptx: vec!["compute_80".to_owned(), "compute_120".to_owned()],
        };
        let cells = cells(&[75, 80, 90, 100, 120], &coverage, &known());
        let kinds: Vec<&str> = cells.iter().map(|cell| cell.kind).collect();
        assert_eq!(kinds, ["none", "both", "sass", "sass", "ptx"]);
        let variants: Vec<&str> = cells.iter().map(|cell| cell.variants.as_str()).collect();
        assert_eq!(variants, ["", "", "a", "", ""]);
        assert_eq!(cells[1].tooltip, "sm_80, compute_80");
    }

    /// As PyTorch 2.8.0 for CUDA 12.8 is built: nobody with an Ada GPU is to think that it is left out.
    #[test]
    fn code_of_an_older_gpu_of_the_same_major_number_counts() {
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect();
        let coverage = Coverage {
            sass: names(&["sm_70", "sm_86", "sm_90a", "sm_120"]),
            ptx: names(&[]),
        };
        let kinds = |coverage: &Coverage| -> Vec<&str> {
            let cells = cells(&[72, 80, 87, 89, 100, 121], coverage, &known());
            cells.iter().map(|cell| cell.kind).collect()
        };
        // Xavier (7.2) and Orin (8.7) are Tegra, A100 (8.0) is older than 8.6.
        assert_eq!(
            kinds(&coverage),
            ["none", "none", "none", "same", "none", "same"]
        );
        let coverage = Coverage {
            sass: names(&[]),
            ptx: names(&["compute_80", "compute_90a"]),
        };
        assert_eq!(
            kinds(&coverage),
            ["none", "ptx", "none", "later", "later", "later"]
        );
    }

    #[test]
    fn architectures_stand_below_their_generation() {
        let known = known();
        let numbers = [80, 86, 89, 90, 100, 120];
        let generations = generations(&numbers, &known);
        let expected = [("Ampere", 2), ("Ada", 1), ("Hopper", 1), ("Blackwell", 2)];
        assert_eq!(
            generations,
            expected.map(|(name, count)| (name.to_owned(), count))
        );
        assert!(architecture(90, &known).gpus.contains("H100"));
        assert_eq!(architecture(120, &known).capability, "12.0");
    }
}
