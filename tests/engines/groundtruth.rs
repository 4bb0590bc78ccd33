//! Reading agrees with `testdata/groundtruth.csv`: files of published wheels whose versions are known.
//!
//! `testdata/recipes/groundtruth.py --cheap` fetches what continuous integration compares; without `--cheap` all of them.
//! They are looked for in the directory `groundtruth` of IMGCHECK_REAL, else of `testdata/real`. Without them the test is
//! skipped, unless IMGCHECK_REQUIRE_REAL=1 says that they must be there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::Arc;
use testkit::tools::say;
use testkit::tools::{real_images, real_images_required};

use imgcheck_archive::archive::FileRange;
use imgcheck_elf::facts::{ElfFacts, GpuCode};
use imgcheck_elf::retain::DEFAULT_LIMIT;
use imgcheck_elf::{self as elf, Depth, ElfError, ReadAt, Recipes, Retainer};

type Row = BTreeMap<String, String>;

/// Fields of the table hold no commas in quotes, except the two path lists, which hold none either.
fn rows() -> Vec<Row> {
    let text = include_str!("../../testdata/groundtruth.csv");
    let mut lines = text.lines().map(fields);
    let names = lines.next().unwrap();
    lines
        .map(|line| names.iter().cloned().zip(line).collect())
        .collect()
}

fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            other => fields.last_mut().unwrap().push(other),
        }
    }
    fields
}

#[test]
fn reading_agrees_with_the_table() {
    let recipes = imgcheck_model::knowledge::recipes().unwrap();
    let directory = real_images().join("groundtruth");
    let (mut compared, mut missing, mut differences) = (BTreeMap::new(), Vec::new(), Vec::new());
    for row in rows() {
        let path = directory.join(&row["path"]);
        let Ok(file) = File::open(&path) else {
            if row["cheap"] == "yes" {
                missing.push(row["path"].clone());
            }
            continue;
        };
        let size = file.metadata().unwrap().len();
        if size.to_string() != row["size"] {
            continue; // still being fetched
        }
        let source = FileRange::new(Arc::new(file), 0, size);
        *compared.entry(row["arch"].clone()).or_insert(0) += 1;
        for problem in compare(&row, &source, &recipes) {
            differences.push(format!("{}: {problem}", row["path"]));
        }
    }
    if compared.is_empty() && !real_images_required() {
        say(format_args!(
            "skipped: no files in {}; fetch them with testdata/recipes/groundtruth.py --cheap",
            directory.display()
        ));
        return;
    }
    say(format_args!(
        "compared {compared:?} files, {} differences",
        differences.len()
    ));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(
        !real_images_required() || missing.is_empty(),
        "not fetched:\n{}",
        missing.join("\n")
    );
}

fn compare(row: &Row, source: &FileRange, recipes: &Recipes) -> Vec<String> {
    let default = elf::read(source, recipes, Depth::Default).unwrap();
    let deep = elf::read(source, recipes, Depth::Deep).unwrap();
    let mut problems = Vec::new();
    let mut check = |what: &str, got: String, expected: &str| {
        if got != expected {
            problems.push(format!("{what} is {got:?}, expected {expected:?}"));
        }
    };
    let machine = match deep.machine {
        62 => "x86_64",
        183 => "aarch64",
        _ => "other",
    };
    check("machine", machine.to_owned(), &row["arch"]);
    check(
        "soname",
        deep.soname.clone().unwrap_or_default(),
        &row["soname"],
    );
    check(
        "rpath",
        deep.rpath.clone().unwrap_or_default(),
        &row["rpath"],
    );
    check(
        "runpath",
        deep.runpath.clone().unwrap_or_default(),
        &row["runpath"],
    );
    check(
        "build id",
        deep.build_id.clone().unwrap_or_default(),
        &row["build_id"],
    );
    let needed: Vec<&str> = row["needed"]
        .split_whitespace()
        .filter(|name| !deep.needed.iter().any(|it| it == name))
        .collect();
    check("missing in NEEDED", needed.join(" "), "");
    versions(row, &default, &deep, &mut check);
    gpu(row, &default, &deep, &mut check);
    problems.extend(streamed(source, recipes, &default, &deep));
    problems
}

fn values<'f>(facts: &'f ElfFacts, fact: &str) -> Vec<&'f str> {
    let readings = facts.identity.iter().flat_map(|it| &it.readings);
    readings
        .filter(|reading| reading.fact == fact)
        .map(|reading| reading.value.as_str())
        .collect()
}

fn versions(
    row: &Row,
    default: &ElfFacts,
    deep: &ElfFacts,
    check: &mut impl FnMut(&str, String, &str),
) {
    let expected = &row["decoded"];
    let found = values(deep, "version");
    if let Some(number) = expected.strip_prefix("api ") {
        check("api", values(deep, "api").join(" "), number);
        return;
    }
    let torch_cpu = deep
        .identity
        .as_ref()
        .is_some_and(|it| it.library == "torch-cpu");
    if !expected.is_empty() && !torch_cpu {
        check(
            "a version reading",
            found.contains(&expected.as_str()).to_string(),
            "true",
        );
    }
    for value in found {
        // A reading may be shorter than the package's version (12.8 of 12.8.93), never another one.
        let known = row["version"].as_str();
        let fits = known.is_empty() || format!("{known}.").starts_with(&format!("{value}."));
        let torch = deep
            .identity
            .as_ref()
            .is_some_and(|it| it.library.starts_with("torch"));
        // Wheels of other packages bundle libraries of other versions.
        if !fits && (torch || row["package"].starts_with("nvidia")) {
            check("version", value.to_owned(), known);
        }
    }
    let early = values(default, "version");
    if !expected.is_empty() && !torch_cpu {
        let prefix = early
            .iter()
            .any(|value| format!("{expected}.").starts_with(&format!("{value}.")));
        check(
            "a version reading in default depth",
            prefix.to_string(),
            "true",
        );
    }
    let built = [values(deep, "built-with-cuda"), values(deep, "cuda-level")].concat();
    check(
        "built with",
        built.first().unwrap_or(&"").to_string(),
        &row["built_with"],
    );
    let device = row["max_device"].parse::<u32>();
    let device = device.map_or(String::new(), |it| {
        format!("{}.{}", it / 100, it % 100 / 10)
    });
    check("max device", values(deep, "max-device").join(" "), &device);
    let copies: Vec<String> = deep
        .identity
        .iter()
        .flat_map(|it| &it.readings)
        .filter(|reading| reading.fact == "static-cudart")
        .map(|it| format!("{} x{}", it.value, it.detail.split(' ').next().unwrap()))
        .collect();
    check("static cudart", copies.join(","), &row["static_cudart"]);
    let mut silent = vec![
        "compiled-cudnn",
        "compiled-cuda",
        "compiled-nccl",
        "arch-list",
    ];
    for method in row["methods"].split("; ") {
        let told = compiled(method, default, check);
        silent.retain(|fact| Some(*fact) != told);
    }
    for fact in silent {
        check(fact, values(default, fact).join(" "), "");
    }
}

/// What PyTorch was compiled against, as the table's `methods` say it; gives the fact that was compared.
fn compiled(
    method: &str,
    facts: &ElfFacts,
    check: &mut impl FnMut(&str, String, &str),
) -> Option<&'static str> {
    let (fact, expected) = if let Some(number) = method.strip_prefix("ret-const cuDNN=") {
        let number: u32 = number.parse().unwrap();
        let unit = if number < 10_000 { 1000 } else { 10_000 };
        let version = format!("{}.{}.{}", number / unit, number % unit / 100, number % 100);
        ("compiled-cudnn", version)
    } else if let Some(numbers) = method.strip_prefix("ret-const CUDA=") {
        let number: u32 = numbers.rsplit(',').next().unwrap().parse().unwrap();
        (
            "compiled-cuda",
            format!("{}.{}", number / 1000, number % 1000 / 10),
        )
    } else if let Some(version) = method.strip_prefix("nccl::version()=") {
        ("compiled-nccl", version.to_owned())
    } else {
        ("arch-list", method.strip_prefix("NVCC flags ")?.to_owned())
    };
    check(fact, values(facts, fact).join(" "), &expected);
    Some(fact)
}

fn gpu(row: &Row, default: &ElfFacts, deep: &ElfFacts, check: &mut impl FnMut(&str, String, &str)) {
    let of = |facts: &ElfFacts| facts.gpu.clone().unwrap_or_default();
    let (default, deep) = (of(default), of(deep));
    // Some rows count the named sections only.
    let totals = |gpu: &GpuCode| format!("{} containers, {} entries", gpu.containers, gpu.entries);
    let total = format!(
        "{} containers, {} entries",
        row["containers"], row["entries"]
    );
    let counted = if totals(&default) == total {
        &default
    } else {
        &deep
    };
    check("GPU code", totals(counted), &total);
    check(
        "coverage",
        architectures(counted),
        &expected(&row["sm_all"]),
    );
    check("damaged", deep.damaged.to_string(), "false");
    let (named, early) = (expected(&row["sm_named"]), architectures(&default));
    let lacking = named
        .split(' ')
        .filter(|name| !early.split(' ').any(|it| it == *name));
    check(
        "lacking in default depth",
        lacking.collect::<Vec<_>>().join(" "),
        "",
    );
}

fn architectures(gpu: &GpuCode) -> String {
    let all = gpu.sass.iter().chain(&gpu.ptx).chain(&gpu.lto);
    let names: BTreeSet<&str> = all.map(|(name, _)| name.as_str()).collect();
    names.into_iter().collect::<Vec<_>>().join(" ")
}

/// The table counts entries (`sm_90a:3`) and writes `ptx_` and `k8_` for what nvcc calls `compute_` and `lto_`.
fn expected(list: &str) -> String {
    let names: BTreeSet<String> = list
        .split_whitespace()
        .map(|item| item.split(':').next().unwrap())
        .map(|name| name.replace("ptx_", "compute_").replace("k8_", "lto_"))
        .collect();
    names.into_iter().collect::<Vec<_>>().join(" ")
}

/// Reading from what a single pass kept gives the same facts.
fn streamed(
    source: &FileRange,
    recipes: &Recipes,
    default: &ElfFacts,
    deep: &ElfFacts,
) -> Vec<String> {
    let mut retainer = Retainer::new(source.size(), DEFAULT_LIMIT);
    let (mut offset, mut buffer) = (0, vec![0; 100_000]);
    loop {
        let got = source.read_at(offset, &mut buffer).unwrap();
        if got == 0 {
            break;
        }
        retainer.push(&buffer[..got]);
        offset += got as u64;
    }
    let kept = retainer.finish();
    let mut problems = Vec::new();
    for (depth, facts) in [(Depth::Default, default), (Depth::Deep, deep)] {
        match elf::read(&kept, recipes, depth) {
            Ok(again) if again == *facts => {}
            Ok(_) => problems.push(format!("{depth:?}: other facts from one pass")),
            // Whole sections of the largest files do not fit: a second pass fetches them.
            Err(ElfError::Missing { .. }) if depth == Depth::Deep => {
                say(format_args!(
                    "needs a second pass in deep: {} bytes held",
                    kept.held()
                ));
            }
            Err(error) => problems.push(format!("{depth:?} from one pass: {error}")),
        }
    }
    problems
}
