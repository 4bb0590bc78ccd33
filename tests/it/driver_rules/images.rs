//! Made-up images, and what the rules say about them.

use imgcheck::Overlay;
use imgcheck_base::bounds::Bounds;
use imgcheck_image::configuration;
use imgcheck_model::finding::Finding;
use imgcheck_model::knowledge;
use imgcheck_model::targets::{DriverFacts, GpuFacts, TargetFacts};
use imgcheck_rules::rules::{Facts, ImageFacts, RuleSet};
use serde_json::json;

use crate::sample::{Derived, Image, SITE, identified};

pub const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

impl Image {
    /// Python 3.11 with PyTorch 2.8.0 for CUDA 12.8 and the runtime of its wheels.
    pub fn pytorch() -> Self {
        let cudart = identified("cuda-runtime", "libcudart.so.12", &[("version", "12.8")]);
        let torch = "Requires-Dist: nvidia-cudnn-cu12==9.10.2.21; platform_system == \"Linux\"\n";
        Image::python()
            .torch()
            .distribution_with(SITE, "torch", "2.8.0+cu128", torch)
            .package("nvidia-cudnn-cu12", "9.10.2.21")
            .elf(
                &format!("{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12"),
                cudart,
            )
    }

    /// The compat package of a CUDA release, where `nvidia/cuda` has it.
    pub fn compat(self, cuda: &str, driver: &str) -> Self {
        let path = format!("usr/local/cuda-{cuda}/compat/libcuda.so.{driver}");
        let readings = [
            ("version", driver),
            ("cuda-level", cuda),
            ("compat-drivers", "535 550"),
        ];
        self.elf(&path, identified("driver", "libcuda.so.1", &readings))
            .link(
                &format!("usr/local/cuda-{cuda}/compat/libcuda.so.1"),
                &format!("libcuda.so.{driver}"),
            )
            .link("usr/local/cuda", &format!("cuda-{cuda}"))
    }

    /// A file below `/etc/ld.so.conf.d` beside that of Debian.
    pub fn configured(self, file: &str, text: &str) -> Self {
        let libc = identified("glibc", "libc.so.6", &[("version", "2.36")]);
        let debian =
            format!("/usr/local/lib/x86_64-linux-gnu\n/lib/x86_64-linux-gnu\n/{LIBRARIES}\n");
        self.elf("lib64/libc.so.6", libc.clone())
            .elf(&format!("{LIBRARIES}/libc.so.6"), libc)
            .text("etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
            .text("etc/ld.so.conf.d/x86_64-linux-gnu.conf", &debian)
            .text(&format!("etc/ld.so.conf.d/{file}"), text)
    }

    pub fn env(mut self, line: &str) -> Self {
        if self.config.get("Env").is_none() {
            self.config["Env"] = json!([]);
        }
        self.config["Env"].as_array_mut().unwrap().push(line.into());
        self
    }

    pub fn findings(&self) -> Vec<Finding> {
        self.findings_on(Vec::new())
    }

    /// The findings on machines with a GPU and a driver that runs the image.
    fn findings_on(&self, targets: Vec<TargetFacts>) -> Vec<Finding> {
        let Derived {
            config,
            stack,
            loader,
            ..
        } = self.derive(&Overlay::default()).unwrap();
        let driver = stack.driver_floor(None, &knowledge::toolkits().unwrap());
        let about = ImageFacts {
            os: Some("linux".to_owned()),
            env: Some(configuration::environment(&config)),
            ..ImageFacts::default()
        };
        let facts = Facts {
            driver: driver.and_then(|floor| serde_json::to_value(floor).ok()),
            loader: Some(loader.into()),
            targets,
            ..Facts::of_image(about, vec![], &stack.into())
        };
        RuleSet::builtin()
            .unwrap()
            .evaluate(&facts, &Bounds::default())
            .unwrap()
    }

    /// [`said`](Self::said) on a machine with a GPU and a driver that runs the image.
    pub fn said_on(&self, gpu: &str, driver: &str) -> Vec<String> {
        let known = knowledge::gpus().unwrap().parse(gpu).unwrap();
        let target = TargetFacts {
            gpus: vec![GpuFacts {
                name: known.name,
                segment: known.segment,
                ..GpuFacts::default()
            }],
            driver: Some(DriverFacts {
                version: driver.to_owned(),
                how: "native".to_owned(),
                ..DriverFacts::default()
            }),
            ..TargetFacts::default()
        };
        said(&self.findings_on(vec![target]))
    }

    /// `severity rule` of the findings of the rules that this file is about.
    pub fn said(&self) -> Vec<String> {
        said(&self.findings())
    }

    pub fn message(&self, rule: &str) -> String {
        let findings = self.findings();
        let finding = findings.iter().find(|finding| finding.rule == rule);
        finding.map_or_else(String::new, |finding| finding.message.clone())
    }
}

fn said(findings: &[Finding]) -> Vec<String> {
    let own = |finding: &&Finding| {
        finding.rule.starts_with("driver-") || finding.rule == "torch-requirement-unmet"
    };
    findings
        .iter()
        .filter(own)
        .map(|finding| format!("{:?} {}", finding.severity, finding.rule))
        .collect()
}

/// A line of drivers as NVIDIA writes it: each brand on each branch.
fn exceptions(brands: &[&str], branches: &[u32]) -> String {
    let line = branches.iter().flat_map(|branch| {
        brands
            .iter()
            .map(move |brand| format!(" brand={brand},driver>={branch},driver<{}", branch + 1))
    });
    line.collect()
}

/// NVIDIA_REQUIRE_CUDA of nvidia/cuda:12.8.1-base-ubuntu22.04.
pub fn cuda_12_8() -> String {
    let brands = [
        "unknown",
        "grid",
        "tesla",
        "nvidia",
        "quadro",
        "quadrortx",
        "nvidiartx",
        "vapps",
        "vpc",
        "vcs",
        "vws",
        "cloudgaming",
    ];
    let line = exceptions(&brands, &[470, 535, 550, 560, 565]);
    format!("NVIDIA_REQUIRE_CUDA=cuda>=12.8{line}")
}

/// NVIDIA_REQUIRE_CUDA of nvidia/cuda:11.8.0-base-ubuntu22.04.
pub fn cuda_11_8() -> String {
    let brands = [
        "tesla",
        "unknown",
        "nvidia",
        "nvidiartx",
        "geforce",
        "geforcertx",
        "quadro",
        "quadrortx",
        "titan",
        "titanrtx",
    ];
    let tesla = exceptions(&["tesla"], &[450]);
    let others = exceptions(&brands, &[470, 510, 515]);
    format!("NVIDIA_REQUIRE_CUDA=cuda>=11.8{tesla}{others}")
}

/// What the images of nvidia/cuda set beside the requirement.
pub fn nvidia(image: Image) -> Image {
    image
        .env("NVIDIA_VISIBLE_DEVICES=all")
        .env("NVIDIA_DRIVER_CAPABILITIES=compute,utility")
        .env("LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64")
}
