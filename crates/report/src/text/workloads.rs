//! The report of `imgcheck preflight` for a terminal: each workload, its containers, the node classes on which their images run, and
//! each finding with the line of the manifest.

use std::borrow::Cow;

use anstyle::AnsiColor;

use super::file::{diagnostic, files};
use super::finding::head;
use super::gaps;
use super::heading::judged_by;
use super::options::TextOptions;
use super::reasons;
use super::said::{Said, Speaker};
use super::style::{BOLD, DIM, color, colored_word, line, separate};
use super::targets;
use super::wrap::wrap;
use crate::details::{count, full_tally};
use crate::{ClassReport, ContainerReport, Report, Verdict, WorkloadReport, one_line};
use imgcheck_model::finding::{Finding, Severity};

/// The report for a terminal, with ANSI styles; the caller strips them for other outputs.
pub fn workloads(report: &Report, fail_on: Option<Severity>, options: &TextOptions) -> String {
    let mut out = String::new();
    let mut said = Said::default();
    for workload in report.workloads {
        let containers = workload.containers.iter();
        let shown: Vec<_> = containers
            .filter(|it| options.shows(it.verdict(fail_on), it.findings()))
            .collect();
        let is_incomplete = workload.verdict == Verdict::Incomplete;
        if !shown.is_empty() || is_incomplete || !options.is_quiet() {
            separate(&mut out);
            write(&mut out, &mut said, workload, &shown, fail_on, options);
        }
    }
    if report.workloads.is_empty() && report.errors.is_empty() {
        line(
            &mut out,
            "nothing was judged: no object in the manifests starts a container",
        );
    }
    let unread = |file: &&crate::FileReport| {
        let containers = report.workloads.iter().flat_map(|it| &it.containers);
        file.gaps.is_empty() && !containers.clone().any(|it| it.title == file.file)
    };
    let others: Vec<_> = report.files.iter().filter(unread).cloned().collect();
    let others = files(&others, options);
    if !others.is_empty() {
        separate(&mut out);
        out.push_str(&others);
    }
    if !options.is_quiet() {
        judged_by(&mut out, report);
    }
    out
}

fn write(
    out: &mut String,
    said: &mut Said,
    workload: &WorkloadReport,
    containers: &[&ContainerReport],
    fail_on: Option<Severity>,
    options: &TextOptions,
) {
    let (file, title) = (one_line(&workload.file), one_line(&workload.title));
    line(out, &format!("{BOLD}{title}{BOLD:#} {DIM}({file}){DIM:#}"));
    if !options.is_quiet() || workload.verdict == Verdict::Incomplete {
        gaps::of_workload(out, workload, options.width);
    }
    for container in containers {
        let speaker = Speaker {
            workload: title.clone(),
            container: name(container),
        };
        let mut once = |text: String| said.once(text, &speaker);
        heading(out, container, fail_on);
        problem(out, container, options.width, &mut once);
        classes(out, container, options.width, &mut once);
        for finding in options.shown(container.findings()) {
            match before(finding, said, &speaker) {
                Some(before) if finding.severity == Severity::Note => {
                    out.push('\n');
                    let repeated = Finding {
                        message: before,
                        ..finding.clone()
                    };
                    head(out, &repeated, options.width);
                }
                before => {
                    let finding = with_reference(finding, before);
                    line(out, &format!("\n{}", diagnostic(&finding, options.width)));
                }
            }
        }
        if options.is_verbose() {
            reasons::ignored(out, container.ignored(), options.width);
        }
        if options.is_quiet() && container.verdict(fail_on) != Verdict::Incomplete {
            continue;
        }
        let gaps = container.judged.iter().flat_map(|it| &it.gaps);
        for gap in gaps {
            let message = said.once(one_line(&gap.message), &speaker);
            let text = format!("not judged ({}): {message}", gap.code);
            let text = wrap(&text, 2, options.width);
            line(out, &format!("\n{DIM}{text}{DIM:#}"));
        }
        let (found, ignored) = (container.findings(), container.ignored());
        if !found.is_empty() || !ignored.is_empty() {
            let (words, ignored) = full_tally(found, ignored);
            line(out, &format!("\n{words}{ignored}"));
        }
    }
}

/// The reference to another container that has the same finding.
fn before(finding: &Finding, said: &mut Said, speaker: &Speaker) -> Option<String> {
    let help = finding.help.as_deref().unwrap_or_default();
    let text = format!("{}: {} {help}", finding.rule, finding.message);
    said.before(&text, speaker)
}

/// The finding, with a reference to another container in place of help and documentation, if there is one.
fn with_reference(finding: &Finding, before: Option<String>) -> Cow<'_, Finding> {
    match before {
        None => Cow::Borrowed(finding),
        Some(before) => Cow::Owned(Finding {
            help: Some(before),
            docs: String::new(),
            ..finding.clone()
        }),
    }
}

fn name(container: &ContainerReport) -> String {
    match container.group.as_str() {
        "" => one_line(&container.name),
        group => one_line(&format!("{group}/{}", container.name)),
    }
}

/// `PASS  worker  repository:tag`.
fn heading(out: &mut String, container: &ContainerReport, fail_on: Option<Severity>) {
    let name = name(container);
    let role = match container.role {
        "main" => String::new(),
        role => format!(" {DIM}({role}){DIM:#}"),
    };
    let verdict = colored_word(container.verdict(fail_on), container.heading(fail_on));
    let image = match container.image.as_str() {
        "" => "the image is not named".to_owned(),
        image => one_line(image),
    };
    line(
        out,
        &format!("\n{verdict}  {BOLD}{name}{BOLD:#}{role}  {image}"),
    );
}

/// Why the image could not be read.
fn problem(
    out: &mut String,
    container: &ContainerReport,
    columns: Option<u16>,
    once: impl FnOnce(String) -> String,
) {
    if let Some(problem) = &container.problem {
        let problem = one_line(problem.lines().next().unwrap_or_default());
        let text = format!("could not be read: {}", once(problem));
        line(out, &format!("      {}", wrap(&text, 6, columns)));
    }
}

/// How many node classes the image runs on, and why not on the others; without nodes, on which of the given targets.
fn classes(
    out: &mut String,
    container: &ContainerReport,
    columns: Option<u16>,
    mut once: impl FnMut(String) -> String,
) {
    let all = &container.classes;
    if !container.knows_nodes {
        let judged = container.judged.iter();
        return judged.for_each(|it| out.push_str(&targets::lines(&it.targets, columns)));
    }
    if all.is_empty() {
        return line(out, "      the scheduler can choose none of the nodes");
    }
    let count_of = |verdict| all.iter().filter(|it| it.verdict == verdict).count();
    let unknown = match count_of(Verdict::Incomplete) {
        0 => String::new(),
        several => format!(", {several} unknown"),
    };
    let good = count_of(Verdict::Pass);
    let classes = match all.len() {
        1 => "1 node class".to_owned(),
        several => format!("{several} node classes"),
    };
    line(out, &format!("      runs on {good} of {classes}{unknown}"));
    let width = all.iter().map(|it| one_line(&it.name).chars().count());
    let width = width.max().unwrap_or_default();
    for class in all {
        let name = one_line(&class.name);
        let (word, reason) = (word(class), once(reason(class)));
        let reason = wrap(&reason, 19 + width, columns);
        line(out, &format!("        {word}  {name:width$}  {reason}"));
    }
}

fn word(class: &ClassReport) -> String {
    let (style, word) = match class.verdict {
        Verdict::Pass => (color(AnsiColor::Green), "yes    "),
        Verdict::Incomplete => (color(AnsiColor::Yellow), "unknown"),
        Verdict::Fail => (color(AnsiColor::Red), "no     "),
    };
    format!("{style}{word}{style:#}")
}

fn reason(class: &ClassReport) -> String {
    match class.reason.as_str() {
        "" => {
            let nodes = class.nodes.map(|it| count(it, "node"));
            let nodes = nodes.unwrap_or_else(|| "declared".to_owned());
            format!("{DIM}{nodes}{DIM:#}")
        }
        reason => one_line(reason),
    }
}
