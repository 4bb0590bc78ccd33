//! The targets in the report for a terminal: a line for each GPU, and one for the driver.

use anstyle::{AnsiColor, Style};

use super::printable;
use crate::targets::{DriverFacts, GpuFacts, How, PackageCode, Support, TargetFacts};

const DIM: Style = Style::new().dimmed();

/// One line for each GPU and driver of the targets, each with its end; none without targets.
pub(super) fn lines(targets: &[TargetFacts]) -> String {
    let rows: Vec<[String; 3]> = targets.iter().flat_map(rows).collect();
    if rows.is_empty() {
        return String::new();
    }
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let (first, second) = (width(0), width(1));
    let mut out = format!("\n{DIM} RUNS ON{DIM:#}\n");
    for [target, machine, verdict] in &rows {
        let gap = if first > 0 { "  " } else { "" };
        out.push_str(&format!(
            " {target:first$}{gap}{machine:second$}  {verdict}\n"
        ));
    }
    out
}

/// The rows of one target, whose name stands in the first.
fn rows(target: &TargetFacts) -> Vec<[String; 3]> {
    let gpus = target.gpus.iter().map(|gpu| {
        let name = match gpu.name == gpu.sm {
            true => printable(&gpu.name),
            false => format!("{} ({})", printable(&gpu.name), gpu.sm),
        };
        [String::new(), name, on_gpu(gpu)]
    });
    let driver = target.driver.iter().map(|driver| {
        let name = format!("driver {}", printable(&driver.version));
        [String::new(), name, with_driver(driver)]
    });
    let mut rows: Vec<[String; 3]> = gpus.chain(driver).collect();
    if let Some(first) = rows.first_mut() {
        first[0] = printable(&target.name);
    }
    rows
}

fn on_gpu(gpu: &GpuFacts) -> String {
    let lacking = |package: &&PackageCode| !package.specific && lacks(&package.support);
    let mut parts: Vec<String> = Vec::new();
    if let Some(torch) = &gpu.torch {
        parts.push(covered("PyTorch", torch));
        parts.extend(
            gpu.packages
                .iter()
                .filter(lacking)
                .map(|it| covered(&it.name, &it.support)),
        );
    } else if gpu.packages.is_empty() {
        parts.push(format!(
            "{DIM}the image's process has no GPU code of its own{DIM:#}"
        ));
    } else {
        parts.extend(gpu.packages.iter().map(|it| covered(&it.name, &it.support)));
    }
    parts.join(", ")
}

fn lacks(support: &Support) -> bool {
    support.how == How::None || support.compiles == Some(false)
}

/// `PyTorch covered by sm_80`.
fn covered(name: &str, support: &Support) -> String {
    let name = printable(name);
    let by = &support.by;
    match (support.how, support.compiles) {
        (How::Sass, _) => format!("{name} {} by {by}", green("covered")),
        (How::Ptx, Some(false)) => {
            format!(
                "{name} {}: only {by}, which the driver cannot compile",
                red("not covered")
            )
        }
        (How::Ptx, _) => format!(
            "{name} {} ({by}): compiled at the first start",
            yellow("PTX only")
        ),
        (How::None, _) => format!("{name} {}", red("not covered")),
        (How::Unknown, _) => format!("{name} not known"),
    }
}

fn with_driver(driver: &DriverFacts) -> String {
    let cuda = driver.needs_cuda.as_deref().unwrap_or_default();
    let native = driver.native.as_deref().unwrap_or_default();
    match driver.how.as_str() {
        "native" => format!("{}: has CUDA {cuda} itself", green("native")),
        "minor-version" if native.is_empty() => format!(
            "{}: machine code of CUDA {cuda} runs; from which driver on it is native is not known",
            green("minor-version compatibility")
        ),
        "minor-version" => format!(
            "{}: CUDA {cuda} is native from {native} on; machine code runs, {}",
            green("minor-version compatibility"),
            match driver.compiles_ptx {
                Some(_) => format!("PTX of CUDA {cuda} does not compile"),
                None => format!(
                    "whether cuda-compat {} of the image is used is not known",
                    printable(driver.compat.as_deref().unwrap_or_default())
                ),
            }
        ),
        "compat-package" => format!(
            "{}: by {}",
            green("compat package"),
            printable(&driver.reason)
        ),
        "none" => {
            let floor = driver.compatible.as_deref().unwrap_or(native);
            format!("{}: CUDA {cuda} needs at least {floor}", red("too old"))
        }
        _ => format!("not known: {}", printable(&driver.reason)),
    }
}

fn green(text: &str) -> String {
    coloured(AnsiColor::Green, text)
}

fn yellow(text: &str) -> String {
    coloured(AnsiColor::Yellow, text)
}

fn red(text: &str) -> String {
    coloured(AnsiColor::Red, text)
}

fn coloured(colour: AnsiColor, text: &str) -> String {
    let style = colour.on_default().bold();
    format!("{style}{text}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(targets: &[TargetFacts]) -> String {
        anstream::adapter::strip_str(&lines(targets)).to_string()
    }

    fn support(how: How, by: &str) -> Support {
        Support {
            how,
            by: by.to_owned(),
            ..Support::default()
        }
    }

    #[test]
    fn a_line_for_each_gpu_and_driver() {
        let gpu = |name: &str, sm: &str, torch: Support| GpuFacts {
            name: name.to_owned(),
            sm: sm.to_owned(),
            torch: Some(torch),
            packages: vec![PackageCode {
                name: "flash_attn".to_owned(),
                support: support(How::None, ""),
                ..PackageCode::default()
            }],
            ..GpuFacts::default()
        };
        let target = TargetFacts {
            name: "pool".to_owned(),
            gpus: vec![
                gpu("GeForce RTX 5090", "sm_120", support(How::Sass, "sm_120")),
                gpu("sm_90", "sm_90", support(How::Ptx, "compute_80")),
            ],
            driver: Some(DriverFacts {
                version: "535.183.06".to_owned(),
                how: "minor-version".to_owned(),
                needs_cuda: Some("12.8".to_owned()),
                native: Some("570.26".to_owned()),
                compiles_ptx: Some(false),
                ..DriverFacts::default()
            }),
        };
        assert_eq!(
            plain(&[target]),
            "\n RUNS ON\n \
             pool  GeForce RTX 5090 (sm_120)  PyTorch covered by sm_120, flash_attn not covered\n       \
             sm_90                      PyTorch PTX only (compute_80): compiled at the first start, flash_attn not covered\n       \
             driver 535.183.06          minor-version compatibility: CUDA 12.8 is native from 570.26 on; machine code runs, PTX of CUDA 12.8 does not compile\n"
        );
        assert_eq!(plain(&[]), "");
    }

    #[test]
    fn a_cuda_whose_driver_nobody_knows() {
        let target = TargetFacts {
            driver: Some(DriverFacts {
                version: "580.65.06".to_owned(),
                how: "minor-version".to_owned(),
                needs_cuda: Some("13.99".to_owned()),
                ..DriverFacts::default()
            }),
            ..TargetFacts::default()
        };
        assert_eq!(
            plain(&[target]),
            "\n RUNS ON\n driver 580.65.06  minor-version compatibility: machine code of CUDA 13.99 runs; \
             from which driver on it is native is not known\n"
        );
    }

    #[test]
    fn what_an_image_calls_itself_cannot_steer_the_terminal() {
        let target = TargetFacts {
            gpus: vec![GpuFacts {
                packages: vec![PackageCode {
                    name: "a\u{1b}[2J".to_owned(),
                    ..PackageCode::default()
                }],
                ..GpuFacts::default()
            }],
            ..TargetFacts::default()
        };
        assert!(!plain(&[target]).contains('\u{1b}'));
    }
}
