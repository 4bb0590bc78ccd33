//! Small images, and what their stacks hold.

use imgcheck_elf::ElfFacts;
use imgcheck_elf::facts::GpuCode;
use imgcheck_model::stack::{Component, Stack};

pub use crate::sample::{Image, SITE, elf, identified, reading};

/// An ELF file of x86-64 that no recipe knows.
pub fn plain(soname: &str) -> ElfFacts {
    ElfFacts {
        soname: Some(soname.to_owned()).filter(|soname| !soname.is_empty()),
        ..elf(&[])
    }
}

/// An ELF file of x86-64 that was identified as a library.
pub fn library(library: &str, soname: &str, version: Option<&str>) -> ElfFacts {
    let version = version.map(|version| ("version", version));
    identified(library, soname, version.as_slice())
}

pub fn part(library: &str, part: Option<&str>, soname: &str, version: Option<&str>) -> ElfFacts {
    let mut facts = self::library(library, soname, version);
    facts.identity.as_mut().unwrap().part = part.map(str::to_owned);
    facts
}

/// `name version path`, with `*` in front of what is loaded.
pub fn table(stack: &Stack, name: &str) -> Vec<String> {
    let rows = stack
        .components
        .iter()
        .filter(|component| component.name == name);
    rows.map(|row| {
        format!(
            "{}{} {}",
            if row.loaded { "*" } else { "" },
            row.version,
            row.path
        )
    })
    .collect()
}

pub fn only<'s>(stack: &'s Stack, name: &str) -> &'s Component {
    let found: Vec<_> = stack
        .components
        .iter()
        .filter(|component| component.name == name)
        .collect();
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found[0]
}

pub fn torch(image: Image, site: &str, version: &str, cuda: &str) -> Image {
    let version_py = format!(
        "__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = {cuda}\ngit_version = 'abc'\n"
    );
    let release = version.split('+').next().unwrap();
    image
        .text(&format!("{site}/torch/version.py"), &version_py)
        .distribution(site, "torch", release)
        .elf(
            &format!("{site}/torch/lib/libtorch_python.so"),
            library("torch-python", "libtorch_python.so", Some(release)),
        )
}

pub fn libtorch_cuda(sass: &[(&str, u32)]) -> ElfFacts {
    let mut facts = library("torch-cuda", "libtorch_cuda.so", None);
    facts.needed = vec!["libcudart.so.12".to_owned(), "libcudnn.so.9".to_owned()];
    facts.rpath = Some("$ORIGIN/../../nvidia/cuda_runtime/lib:$ORIGIN".to_owned());
    facts.gpu = Some(GpuCode {
        containers: 4,
        sass: sass
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect(),
        ..GpuCode::default()
    });
    let readings = &mut facts.identity.as_mut().unwrap().readings;
    readings.push(reading("compiled-cudnn", "9.8.0"));
    readings.push(reading("arch-list", "sm_80 sm_90"));
    facts
}
