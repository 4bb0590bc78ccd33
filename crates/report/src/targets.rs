//! What an image is on each GPU and driver of a target, in words that several formats share. Nothing is escaped here.

use imgcheck_model::targets::{CodeKind, DriverFacts, GpuFacts, PackageCode, Support, TargetFacts};

/// One GPU or driver of a target.
#[derive(Debug)]
pub(crate) struct Machine {
    /// `H100 (sm_90)`, `driver 535.183.06`.
    pub name: String,
    /// The verdicts, the most important first.
    pub answers: Vec<Answer>,
}

/// One verdict on a machine: `PyTorch covered by sm_90`.
#[derive(Debug)]
pub(crate) struct Answer {
    /// What is judged: `PyTorch`, a package; empty for a driver.
    pub subject: String,
    /// The verdict: `covered`.
    pub word: &'static str,
    /// How good the verdict is.
    pub grade: Grade,
    /// What connects the word with the rest of the sentence.
    pub joint: &'static str,
    /// The rest of the sentence: `by sm_90`.
    pub rest: String,
}

/// How good a verdict is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grade {
    /// It runs.
    Good,
    /// It runs, with a cost.
    Doubtful,
    /// It does not run.
    Bad,
    /// Nothing is concluded.
    Open,
}

/// The GPUs of a target, and then its driver.
pub(crate) fn machines(target: &TargetFacts) -> Vec<Machine> {
    let gpus = target.gpus.iter().map(|gpu| Machine {
        name: match gpu.name == gpu.sm {
            true => gpu.name.clone(),
            false => format!("{} ({})", gpu.name, gpu.sm),
        },
        answers: on_gpu(gpu),
    });
    let driver = target.driver.iter().map(|driver| Machine {
        name: format!("driver {}", driver.version),
        answers: vec![with_driver(driver)],
    });
    gpus.chain(driver).collect()
}

/// PyTorch and the packages that lack code; without PyTorch, all packages with GPU code.
pub(crate) fn on_gpu(gpu: &GpuFacts) -> Vec<Answer> {
    let packages = gpu.packages.iter();
    let listed = packages.filter(|package| gpu.torch.is_none() || lacks(package));
    let torch = gpu.torch.iter().map(|torch| covered("PyTorch", torch));
    let answers: Vec<Answer> = torch
        .chain(listed.map(|package| covered(&package.name, &package.support)))
        .collect();
    match answers.is_empty() {
        true => vec![Answer::new(
            Grade::Open,
            "the image's main process has no GPU code of its own",
        )],
        false => answers,
    }
}

fn lacks(package: &PackageCode) -> bool {
    let support = &package.support;
    !package.specific && (support.how == CodeKind::None || support.compiles == Some(false))
}

/// `PyTorch covered by sm_80`.
fn covered(name: &str, support: &Support) -> Answer {
    let by = &support.by;
    let answer = match (support.how, support.compiles) {
        (CodeKind::Sass, _) => Answer::new(Grade::Good, "covered").then(" ", format!("by {by}")),
        (CodeKind::Ptx, Some(false)) => Answer::new(Grade::Bad, "not covered")
            .then(": ", format!("only {by}, which the driver cannot compile")),
        (CodeKind::Ptx, _) => Answer::new(Grade::Doubtful, "PTX only")
            .then(" ", format!("({by}): compiled at first start")),
        (CodeKind::None, _) => Answer::new(Grade::Bad, "not covered"),
        (CodeKind::Unknown, _) => Answer::new(Grade::Open, "unknown"),
    };
    Answer {
        subject: name.to_owned(),
        ..answer
    }
}

fn with_driver(driver: &DriverFacts) -> Answer {
    let cuda = driver.needs_cuda.as_deref().unwrap_or_default();
    let native = driver.native.as_deref().unwrap_or_default();
    if driver.how != "none" && !driver.unmet.is_empty() {
        let rest = format!("for {}", driver.unmet.join(", "));
        return Answer::new(Grade::Doubtful, "refused by the container toolkit")
            .then(", except with CDI: ", rest);
    }
    match driver.how.as_str() {
        "native" => Answer::new(Grade::Good, "native")
            .then(": ", format!("the driver supports CUDA {cuda}")),
        "minor-version" if native.is_empty() => {
            let rest = format!(
                "machine code for CUDA {cuda} runs; the first driver with native support is unknown"
            );
            Answer::new(Grade::Good, "minor-version compatibility").then(": ", rest)
        }
        "minor-version" => {
            let limit = match driver.compiles_ptx {
                Some(_) => format!("PTX for CUDA {cuda} does not compile"),
                None => format!(
                    "PTX needs the image's cuda-compat {}, which may not be used",
                    driver.compat.as_deref().unwrap_or_default()
                ),
            };
            let rest = format!(
                "native support for CUDA {cuda} starts at {native}; machine code runs, {limit}"
            );
            Answer::new(Grade::Good, "minor-version compatibility").then(": ", rest)
        }
        "compat-package" => {
            Answer::new(Grade::Good, "compat package").then(": ", format!("by {}", driver.reason))
        }
        "none" => {
            let floor = driver.compatible.as_deref().unwrap_or(native);
            Answer::new(Grade::Bad, "too old")
                .then(": ", format!("CUDA {cuda} needs at least {floor}"))
        }
        _ => Answer::new(Grade::Open, "unknown").then(": ", driver.reason.clone()),
    }
}

impl Answer {
    fn new(grade: Grade, word: &'static str) -> Self {
        Answer {
            subject: String::new(),
            word,
            grade,
            joint: "",
            rest: String::new(),
        }
    }

    fn then(self, joint: &'static str, rest: String) -> Self {
        Answer {
            joint,
            rest,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn support(how: CodeKind, compiles: Option<bool>) -> Support {
        Support {
            how,
            compiles,
            by: "compute_90".to_owned(),
            ..Support::default()
        }
    }

    fn text_of(how: &str, compiles_ptx: Option<bool>) -> (Grade, String) {
        let answer = with_driver(&DriverFacts {
            how: how.to_owned(),
            reason: "why".to_owned(),
            needs_cuda: Some("12.8".to_owned()),
            native: Some("570.26".to_owned()),
            compatible: Some("525.60.13".to_owned()),
            compat: Some("570.86".to_owned()),
            compiles_ptx,
            ..DriverFacts::default()
        });
        (
            answer.grade,
            format!("{}{}{}", answer.word, answer.joint, answer.rest),
        )
    }

    #[test]
    fn ptx_that_the_driver_cannot_compile_does_not_cover() {
        let grade = |how, compiles| covered("PyTorch", &support(how, compiles)).grade;
        assert_eq!(grade(CodeKind::Ptx, None), Grade::Doubtful);
        assert_eq!(grade(CodeKind::Ptx, Some(false)), Grade::Bad);
        assert_eq!(grade(CodeKind::Sass, None), Grade::Good);
        assert_eq!(grade(CodeKind::None, None), Grade::Bad);
        assert_eq!(grade(CodeKind::Unknown, None), Grade::Open);
    }

    #[test]
    fn each_driver_verdict_has_a_grade_and_a_text() {
        let expected = [
            (
                "native",
                Grade::Good,
                "native: the driver supports CUDA 12.8",
            ),
            ("compat-package", Grade::Good, "compat package: by why"),
            (
                "none",
                Grade::Bad,
                "too old: CUDA 12.8 needs at least 525.60.13",
            ),
            ("unknown", Grade::Open, "unknown: why"),
        ];
        for (how, grade, text) in expected {
            assert_eq!(text_of(how, None), (grade, text.to_owned()));
        }
        let (_, text) = text_of("minor-version", Some(false));
        assert!(text.ends_with("machine code runs, PTX for CUDA 12.8 does not compile"));
        let (_, text) = text_of("minor-version", None);
        assert!(text.ends_with("PTX needs the image's cuda-compat 570.86, which may not be used"));
    }

    #[test]
    fn a_cuda_release_without_a_known_native_driver() {
        let driver = DriverFacts {
            version: "580.65.06".to_owned(),
            how: "minor-version".to_owned(),
            needs_cuda: Some("13.99".to_owned()),
            ..DriverFacts::default()
        };
        let answer = with_driver(&driver);
        assert_eq!(
            (answer.grade, answer.rest.as_str()),
            (
                Grade::Good,
                "machine code for CUDA 13.99 runs; the first driver with native support is unknown"
            )
        );
    }

    #[test]
    fn a_package_for_specific_gpus_is_not_listed_beside_pytorch() {
        let package = |name: &str, how, specific| PackageCode {
            name: name.to_owned(),
            specific,
            support: support(how, None),
            ..PackageCode::default()
        };
        let packages = vec![
            package("flash_attn", CodeKind::None, false),
            package("deep_gemm", CodeKind::None, true),
            package("xformers", CodeKind::Sass, false),
        ];
        let names = |gpu: &GpuFacts| -> Vec<String> {
            let answers = on_gpu(gpu).into_iter();
            answers.map(|answer| answer.subject).collect()
        };
        let gpu = GpuFacts {
            torch: Some(support(CodeKind::Sass, None)),
            packages,
            ..GpuFacts::default()
        };
        assert_eq!(names(&gpu), ["PyTorch", "flash_attn"]);
        let gpu = GpuFacts { torch: None, ..gpu };
        assert_eq!(names(&gpu), ["flash_attn", "deep_gemm", "xformers"]);
        assert_eq!(names(&GpuFacts::default()), [""]);
    }
}
