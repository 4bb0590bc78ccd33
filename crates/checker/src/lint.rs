//! Files that an image is built from.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::NaiveDate;

use super::inline_ignores;
use super::judge;
use super::lint_files;
use super::lint_request::LintRequest;
use super::report::Report;
use super::report::Unread;
use super::state::Checker;
use super::torch_pythons::torch_pythons;
use imgcheck_base::bounds::Bounds;
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::Result;
use imgcheck_base::lexical;
use imgcheck_base::parallel;
use imgcheck_base::reference::name::Name;
use imgcheck_lint::lint::{Base, BaseFinding, FileKind, InlineIgnore, Sources};
use imgcheck_model::finding::{Finding, Location};
use imgcheck_report::{FileReport, ReferenceReport, Verdict};
use imgcheck_rules::policy::{Policy, PolicyOutcome, Subjects};
use imgcheck_rules::rules::Facts;

impl Checker {
    /// Checks the files that images are built from: Dockerfiles, requirements, projects, lock files and others. Files that cannot be
    /// read are in [`Report::errors`].
    ///
    /// ```no_run
    /// # fn main() -> imgcheck::Result<()> {
    /// use imgcheck::{Cancellation, Checker, Day, Format, LintRequest, View};
    ///
    /// let checker = Checker::builder().build()?;
    /// let day = Day::from_ymd_opt(2026, 11, 22).unwrap();
    /// let report = checker.lint(&LintRequest::new(["Dockerfile"]), day, &Cancellation::default())?;
    /// println!("{}", report.render(View::Findings, Format::Text, None)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A directory cannot be read or has no such file, the build context is not a directory, or the request was cancelled.
    pub fn lint(
        &self,
        request: &LintRequest,
        day: NaiveDate,
        cancellation: &Cancellation,
    ) -> Result<Report> {
        for rule in request.selected.iter().chain(&request.ignored) {
            self.rules
                .get(rule)
                .ok_or_else(|| self.unknown_rule(rule))?;
        }
        let mut report = Report::new(self);
        report.is_lint = true;
        let mut used_ignores = BTreeSet::new();
        let (bases, bounds) = (Bases::default(), self.bounds(None, cancellation));
        let (read, mut judged) = parallel::fed(
            parallel::cores(),
            |judge| {
                let mut files = 0..;
                let number = |file| judge((files.next(), file));
                lint_files::read(request, &self.knowledge, cancellation, number)
            },
            |(at, (path, sources))| {
                let judge = |sources| self.lint_one(sources, request, &bases, day, &bounds);
                (at, path, sources.and_then(judge))
            },
        );
        read?;
        cancellation.check()?;
        judged.sort_unstable_by_key(|(at, ..)| *at);
        for (_, path, judged) in judged {
            match judged {
                Ok((file, used)) => {
                    report.files.push(file);
                    used_ignores.extend(used);
                }
                Err(error) => {
                    let name = lexical::shown(&path);
                    report.errors.push(Unread::unjudged(name, error));
                }
            }
        }
        deduplicate(&mut report.files, &self.policy);
        // Whether an ignore is used is unknown if a file is missing.
        if report.errors.is_empty() {
            let names: Vec<&str> = report.files.iter().map(|it| it.file.as_str()).collect();
            let file = judge::configuration(self, Subjects::Files(&names), &used_ignores, day)?;
            report.configuration = file;
        }
        Ok(report)
    }

    /// Judges one file. Returns the indexes of the ignores that one of its findings matched, too.
    fn lint_one(
        &self,
        mut sources: Sources,
        request: &LintRequest,
        bases: &Bases,
        day: NaiveDate,
        bounds: &Bounds,
    ) -> Result<(FileReport, BTreeSet<usize>)> {
        let stages = sources.stages.iter_mut();
        for base in stages.filter_map(|stage| stage.base.as_mut()) {
            let Some(reference) = &base.reference else {
                continue;
            };
            let report = bases.get_or_judge(self, reference)?;
            base.claims.clone_from(&report.claims);
            let findings = report.findings.iter();
            // With a digest, Docker does not look at the tag.
            let name = Name::of_grammar(reference);
            let has_digest = name.is_ok_and(|it| it.digest.is_some());
            let is_of_tag = |it: &&Finding| it.claim.as_ref().is_some_and(|it| it.origin == "tag");
            let findings = findings.filter(|it| !(has_digest && is_of_tag(it)));
            base.findings = findings
                .map(|finding| base_finding(base, finding))
                .collect();
        }
        sources.settle(&torch_pythons);
        let (file, kind) = (sources.file.clone(), sources.kind.clone());
        let mut ignores = std::mem::take(&mut sources.ignores);
        let facts = Facts::of_sources(sources)?;
        let found = self.rules.evaluate(&facts, bounds)?;
        let PolicyOutcome {
            mut findings,
            mut ignored,
            used,
            ..
        } = self.policy.apply(found, &file, day);
        let (left, commented) = inline_ignores::separate(findings, &mut ignores);
        findings = left;
        ignored.extend(commented);
        findings.extend(self.judge_ignores(ignores, (&file, &kind), day, bounds)?);
        findings.retain(|finding| request.reports(&finding.rule));
        findings.sort_by_key(|finding| {
            let location = finding.location.clone();
            location.map(|it| (it.file != file, it.file, it.line, it.column))
        });
        let report = FileReport {
            verdict: Verdict::of(&findings, self.policy.fail_on),
            file,
            kind,
            findings,
            ignored,
            gaps: Vec::new(),
        };
        Ok((report, used))
    }

    /// What is wrong with the comments of a file that ignore findings. One of a list may ignore what another file is reported for.
    fn judge_ignores(
        &self,
        mut ignores: Vec<InlineIgnore>,
        (file, kind): (&str, &str),
        day: NaiveDate,
        bounds: &Bounds,
    ) -> Result<Vec<Finding>> {
        ignores.retain(|ignore| ignore.location.file == file);
        if ignores.is_empty() {
            return Ok(Vec::new());
        }
        for ignore in &mut ignores {
            ignore.used |= kind != FileKind::Dockerfile.name();
            let is_unknown = |rule: &&String| self.rules.get(rule).is_none();
            ignore.unknown = ignore.rules.iter().filter(is_unknown).cloned().collect();
        }
        let facts = Facts::of_sources(Sources {
            ignores,
            ..Sources::default()
        })?;
        let found = self.rules.evaluate(&facts, bounds)?;
        Ok(self.policy.apply(found, file, day).findings)
    }
}

/// What the references of base images promise. Many files have the same base.
#[derive(Default)]
struct Bases(Mutex<HashMap<String, Arc<ReferenceReport>>>);

impl Bases {
    fn get_or_judge(&self, checker: &Checker, reference: &str) -> Result<Arc<ReferenceReport>> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(report) = known().get(reference) {
            return Ok(Arc::clone(report));
        }
        let report = Arc::new(checker.reference(reference)?);
        known().insert(reference.to_owned(), Arc::clone(&report));
        Ok(report)
    }
}

/// A finding about a base image, at the words of the reference that it is about.
fn base_finding(base: &Base, finding: &Finding) -> BaseFinding {
    let claim = finding.claim.as_ref();
    let found = claim.and_then(|claim| match claim.origin.as_str() {
        "tag" => Some((base.written.rfind(&claim.text)?, &claim.text)),
        _ => Some((base.written.find(&claim.text)?, &claim.text)),
    });
    let whole = base.location.clone();
    let width = whole.end_column.saturating_sub(whole.column);
    let location = match found {
        Some((at, text)) if base.written.chars().count() == width => {
            let column = whole.column + base.written[..at].chars().count();
            Location {
                column,
                end_column: column + text.chars().count(),
                ..whole
            }
        }
        _ => whole,
    };
    BaseFinding {
        rule: finding.rule.clone(),
        severity: finding.severity,
        message: finding.message.clone(),
        help: finding.help.clone().unwrap_or_default(),
        location,
    }
}

/// Keeps each finding, ignored or not, once: in the report of its own file if there is one, else in the first report that has it. A
/// Dockerfile is judged together with the requirements that it installs.
fn deduplicate(reports: &mut [FileReport], policy: &Policy) {
    keep_once(reports, |report| &mut report.findings, |it| it);
    keep_once(reports, |report| &mut report.ignored, |it| &it.finding);
    for report in reports {
        report.verdict = Verdict::of(&report.findings, policy.fail_on);
    }
}

fn keep_once<T>(
    reports: &mut [FileReport],
    list: impl Fn(&mut FileReport) -> &mut Vec<T>,
    finding: impl Fn(&T) -> &Finding,
) {
    type Key = (String, String, String, usize, usize);
    let key = |it: &T| -> Option<Key> {
        let finding = finding(it);
        let place = finding.location.as_ref()?;
        let file = place.file.trim_start_matches("./").to_owned();
        let (rule, message) = (finding.rule.clone(), finding.message.clone());
        Some((rule, file, message, place.line, place.column))
    };
    let mut seen: HashSet<Key> = HashSet::new();
    for report in reports.iter_mut() {
        let file = report.file.trim_start_matches("./").to_owned();
        let keys = list(report).iter().filter_map(&key);
        seen.extend(keys.filter(|key| key.1 == file));
    }
    for report in reports {
        let file = report.file.trim_start_matches("./").to_owned();
        list(report).retain(|it| key(it).is_none_or(|key| key.1 == file || seen.insert(key)));
    }
}
