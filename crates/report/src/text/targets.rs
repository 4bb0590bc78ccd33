//! The verdicts on targets: a line for each GPU, and one for the driver.

use anstyle::AnsiColor;

use super::style::{DIM, color};
use super::wrap::wrap;
use crate::one_line;
use crate::targets::{Answer, Grade, machines};
use imgcheck_model::targets::TargetFacts;

/// One line for each GPU and driver of the targets, or several where it is longer than `columns`; empty without targets.
pub(super) fn lines(targets: &[TargetFacts], columns: Option<u16>) -> String {
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
    let gap = if first > 0 { "  " } else { "" };
    let indent = 1 + first + gap.len() + second + 2;
    for [target, machine, answers] in &rows {
        let answers = wrap(answers, indent, columns);
        out.push_str(&format!(
            " {target:first$}{gap}{machine:second$}  {answers}\n"
        ));
    }
    out
}

/// The rows of one target; only the first has its name.
fn rows(target: &TargetFacts) -> Vec<[String; 3]> {
    let mut name = one_line(&target.name);
    let machines = machines(target).into_iter();
    let rows = machines.map(|machine| {
        let answers: Vec<String> = machine.answers.iter().map(answer_text).collect();
        [
            std::mem::take(&mut name),
            one_line(&machine.name),
            answers.join(", "),
        ]
    });
    rows.collect()
}

fn answer_text(answer: &Answer) -> String {
    let word = match answer.grade {
        Grade::Good => colored(AnsiColor::Green, answer.word),
        Grade::Doubtful => colored(AnsiColor::Yellow, answer.word),
        Grade::Bad => colored(AnsiColor::Red, answer.word),
        Grade::Open => answer.word.to_owned(),
    };
    let subject = match answer.subject.as_str() {
        "" => String::new(),
        subject => format!("{} ", one_line(subject)),
    };
    format!("{subject}{word}{}{}", answer.joint, one_line(&answer.rest))
}

fn colored(of: AnsiColor, text: &str) -> String {
    let style = color(of);
    format!("{style}{text}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use imgcheck_model::targets::{CodeKind, DriverFacts, GpuFacts, PackageCode, Support};

    fn plain(targets: &[TargetFacts]) -> String {
        anstream::adapter::strip_str(&lines(targets, None)).to_string()
    }

    fn support(how: CodeKind, by: &str) -> Support {
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
                support: support(CodeKind::None, ""),
                ..PackageCode::default()
            }],
            ..GpuFacts::default()
        };
        let target = TargetFacts {
            name: "pool".to_owned(),
            gpus: vec![
                gpu(
                    "GeForce RTX 5090",
                    "sm_120",
                    support(CodeKind::Sass, "sm_120"),
                ),
                gpu("sm_90", "sm_90", support(CodeKind::Ptx, "compute_80")),
            ],
            driver: Some(DriverFacts {
                version: "535.183.06".to_owned(),
                how: "minor-version".to_owned(),
                needs_cuda: Some("12.8".to_owned()),
                native: Some("570.26".to_owned()),
                compiles_ptx: Some(false),
                ..DriverFacts::default()
            }),
            ..TargetFacts::default()
        };
        assert_eq!(
            plain(std::slice::from_ref(&target)),
            "\n RUNS ON\n \
             pool  GeForce RTX 5090 (sm_120)  PyTorch covered by sm_120, flash_attn not covered\n       \
             sm_90                      PyTorch PTX only (compute_80): compiled at first start, flash_attn not covered\n       \
             driver 535.183.06          minor-version compatibility: native support for CUDA 12.8 starts at 570.26; machine code runs, PTX for CUDA 12.8 does not compile\n"
        );
        assert_eq!(plain(&[]), "");
        let wrapped = lines(std::slice::from_ref(&target), Some(80));
        let wrapped = anstream::adapter::strip_str(&wrapped).to_string();
        assert!(wrapped.lines().all(|it| it.chars().count() <= 80));
        let words = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(words(&wrapped), words(&plain(&[target])));
    }

    #[test]
    fn a_package_name_cannot_control_the_terminal() {
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
