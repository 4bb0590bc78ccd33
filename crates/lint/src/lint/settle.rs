//! Decides which packages with an environment marker are installed, when the Pythons that can apply are known.

use super::facts::{Pin, Stage};
use super::marker::PYTHONS;
use super::sources::Sources;
use imgcheck_base::lexical::name_of;
use imgcheck_base::version::marker::{Environment, holds};
use imgcheck_base::version::{meets, satisfies};

/// The first and the last Python of each PyTorch release with this version; `unknown` where a limit is unknown.
pub type TorchPythons<'p> = &'p dyn Fn(&str) -> Vec<(String, String)>;

impl Sources {
    /// Drops packages whose marker is false for every Python that can apply, and marks those for which it depends on the Python. The
    /// Pythons are those of the base image, of `requires-python`, and of the requested PyTorch; the machine is an x86-64, unless the
    /// name of the file says otherwise.
    pub fn settle(&mut self, torch: TorchPythons<'_>) {
        let machine = machine_of(&self.file);
        for stage in &mut self.stages {
            stage.settle(machine, torch);
        }
    }
}

impl Stage {
    fn settle(&mut self, machine: &str, torch: TorchPythons<'_>) {
        if self.pins.iter().all(|pin| pin.marker.is_none()) {
            return;
        }
        let mut pythons: Vec<&str> = PYTHONS.to_vec();
        let mut keep = |suits: &dyn Fn(&str) -> bool| {
            let left: Vec<&str> = pythons
                .iter()
                .copied()
                .filter(|python| suits(python))
                .collect();
            // Facts that exclude each other say nothing.
            if !left.is_empty() {
                pythons = left;
            }
        };
        let base = self.base.as_ref().filter(|base| base.is_python());
        for claim in base.into_iter().flat_map(|base| &base.claims) {
            if claim.subject == "python" && claim.version.contains('.') {
                keep(&|python| meets(&claim.version, python) == Some(true));
            }
        }
        if !self.requires_python.is_empty() {
            let newest = |python: &str| format!("{python}.99");
            keep(&|python| satisfies(&newest(python), &self.requires_python) != Ok(Some(false)));
        }
        let torches: Vec<(&Pin, Vec<(String, String)>)> = self
            .pins
            .iter()
            .filter(|pin| pin.component == "torch" && !pin.constraint)
            .map(|pin| (pin, pin.version.as_deref().map(torch).unwrap_or_default()))
            .collect();
        if !torches.is_empty() {
            keep(&|python| {
                let suits = |(from, to): &(String, String)| within(python, from, to);
                torches.iter().any(|(pin, ranges)| {
                    answer(pin, machine, python) != Some(false)
                        && (ranges.is_empty() || ranges.iter().any(suits))
                })
            });
        }
        self.pins.retain_mut(|pin| {
            let mut answers = pythons.iter().map(|python| answer(pin, machine, python));
            let first = answers.next().flatten();
            let same = answers.all(|answer| answer == first);
            pin.conditional |= !same || first.is_none();
            !same || first != Some(false)
        });
    }
}

/// The machine that a file is for by its name, as in `Dockerfile.arm64`; otherwise `x86_64`.
fn machine_of(file: &str) -> &'static str {
    let name = name_of(file).to_ascii_lowercase();
    let words = name.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let machine = |word: &str| match word {
        "arm" | "arm64" | "aarch64" | "sbsa" | "jetson" | "l4t" => Some("aarch64"),
        "ppc64le" => Some("ppc64le"),
        "s390x" => Some("s390x"),
        "riscv" | "riscv64" => Some("riscv64"),
        _ => None,
    };
    words.into_iter().find_map(machine).unwrap_or("x86_64")
}

/// Whether a package is installed for a Python; `None` if that depends on something else.
fn answer(pin: &Pin, machine: &str, python: &str) -> Option<bool> {
    let environment = Environment {
        python,
        full_python: None,
        machine,
    };
    let marker = pin.marker.as_deref();
    marker.map_or(Some(true), |marker| {
        holds(marker, &environment).ok().flatten()
    })
}

fn within(python: &str, from: &str, to: &str) -> bool {
    let newer = |a: &str, b: &str| imgcheck_base::version::newer(a, b) == Some(true);
    !newer(from, python) && !newer(python, to)
}
