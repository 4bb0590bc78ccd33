//! What one call found.

use std::sync::Arc;

use super::request::ImageRequest;
use super::state::Checker;
use imgcheck_base::error::{Error, Result};
use imgcheck_model::finding::{Finding, Severity};
use imgcheck_model::knowledge::Knowledge;
use imgcheck_report::{
    self, ContainerReport, FileReport, ImageReport, ReferenceReport, UnreadImage, Verdict,
    WorkloadReport, safe_json,
};
use imgcheck_rules::policy::Baseline;
use imgcheck_rules::rules::RuleSet;

/// What one call of [`Checker::check`](crate::Checker::check), [`Checker::lint`](crate::Checker::lint),
/// [`Checker::preflight`](crate::Checker::preflight) or [`Checker::claims`](crate::Checker::claims) found.
///
/// ```
/// # fn main() -> imgcheck::Result<()> {
/// use imgcheck::{Checker, Format, ImageRequest, View};
///
/// let checker = Checker::builder().build()?;
/// let report = checker.check(&[ImageRequest::new("no-such.tar")]);
/// assert_eq!(report.errors[0].error.code().as_str(), "not-found");
/// let sarif = report.render(View::Findings, Format::Sarif, None)?;
/// assert!(sarif.contains("2.1.0"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Report {
    /// The images that were read and judged.
    pub images: Vec<ImageReport>,
    /// The files that images are built from.
    pub files: Vec<FileReport>,
    /// The workloads of manifests.
    pub workloads: Vec<WorkloadReport>,
    /// The configuration file, if its ignores have findings: they have expired, or match nothing.
    pub configuration: Option<FileReport>,
    /// The references whose claims were read.
    pub references: Vec<ReferenceReport>,
    /// What could not be read or judged.
    pub errors: Vec<Unread>,
    pub(crate) rules: Arc<RuleSet>,
    pub(crate) knowledge: Arc<Knowledge>,
    pub(crate) fail_on: Option<Severity>,
    pub(crate) configuration_file: Option<String>,
    pub(crate) is_lint: bool,
    pub(crate) is_preflight: bool,
}

/// An image or file that could not be read or judged.
///
/// ```
/// # fn main() -> imgcheck::Result<()> {
/// use imgcheck::{Checker, ImageRequest};
///
/// let report = Checker::builder().build()?.check(&[ImageRequest::new("no-such.tar")]);
/// assert_eq!(report.errors[0].error.exit_code(), 3);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Unread {
    /// The image or file as it was named.
    pub name: String,
    /// What is wrong.
    pub error: Error,
    /// The request; `None` for an image that was read, but could not be judged, and for a file.
    pub(crate) request: Option<ImageRequest>,
}

impl Unread {
    pub(crate) fn of(request: &ImageRequest, error: Error) -> Self {
        Unread {
            name: request.name.clone(),
            error,
            request: Some(request.clone()),
        }
    }

    pub(crate) fn unjudged(name: String, error: Error) -> Self {
        Unread {
            name,
            error,
            request: None,
        }
    }
}

impl Report {
    /// An empty report.
    pub(crate) fn new(checker: &Checker) -> Self {
        Report {
            images: Vec::new(),
            files: Vec::new(),
            workloads: Vec::new(),
            configuration: None,
            references: Vec::new(),
            errors: Vec::new(),
            rules: checker.rules.clone(),
            knowledge: checker.knowledge.clone(),
            fail_on: checker.policy.fail_on,
            configuration_file: checker.configuration.clone(),
            is_lint: false,
            is_preflight: false,
        }
    }

    /// The worst verdict. Check [`errors`](Self::errors), too: what could not be read did not pass.
    pub fn verdict(&self) -> Verdict {
        let images = self.images.iter().map(|image| image.verdict);
        let files = self.files.iter().chain(&self.configuration);
        let files = files.map(|file| file.verdict);
        let references = self.references.iter();
        let references = references.map(|it| Verdict::of(&it.findings, self.fail_on));
        let containers = self.workloads.iter().flat_map(|it| &it.containers);
        let containers = containers.map(|it| it.verdict(self.fail_on));
        let workloads = self.workloads.iter().map(|it| it.verdict);
        let all = images.chain(files).chain(references);
        let all = all.chain(containers).chain(workloads);
        all.max().unwrap_or(Verdict::Pass)
    }

    /// The text of a baseline file: with [`CheckerBuilder::baseline`](crate::CheckerBuilder::baseline) only other findings count.
    ///
    /// # Errors
    /// None in practice: no image can cause one.
    pub fn baseline(&self) -> Result<String> {
        baseline(self.findings())
    }

    /// All findings about images, the files that images are built from and the configuration, each with its image or file.
    fn findings(&self) -> impl Iterator<Item = (&str, &Finding)> {
        let images = self.images.iter().flat_map(|image| {
            let findings = image.findings.iter();
            findings.map(|finding| (image.facts.name(), finding))
        });
        let files = self.files.iter().chain(&self.configuration);
        let files = files.flat_map(|file| {
            let findings = file.findings.iter();
            findings.map(|finding| (file.file.as_str(), finding))
        });
        let containers = self.workloads.iter().flat_map(|it| &it.containers);
        let containers = containers.flat_map(|container| {
            let findings = container.findings().iter();
            findings.map(|finding| (container.image.as_str(), finding))
        });
        images.chain(files).chain(containers)
    }

    /// The number of findings in [`baseline`](Self::baseline).
    pub fn baseline_length(&self) -> usize {
        self.findings().count()
    }

    /// The report as the formats take it.
    pub(crate) fn with_view<T>(&self, work: impl FnOnce(&imgcheck_report::Report) -> T) -> T {
        let containers = || self.workloads.iter().flat_map(|it| &it.containers);
        let deployed = containers().filter_map(|it| it.judged.as_ref());
        let images: Vec<ImageReport> = self.images.iter().chain(deployed).cloned().collect();
        let unread = containers().filter(|it| it.judged.is_none());
        let files = self.files.iter().chain(&self.configuration).cloned();
        let files = files.chain(unread.map(ContainerReport::as_file));
        let workloads = self.workloads.iter();
        let files = files.chain(workloads.filter_map(WorkloadReport::as_file));
        let files: Vec<FileReport> = files.collect();
        work(&imgcheck_report::Report {
            images: &images,
            files: &files,
            workloads: &self.workloads,
            errors: &self.unread(),
            rules: &self.rules,
            knowledge: &self.knowledge,
            configuration: self.configuration_file.as_deref(),
        })
    }

    pub(crate) fn unread(&self) -> Vec<UnreadImage> {
        let errors = self.errors.iter();
        errors
            .map(|unread| UnreadImage::new(&unread.name, &unread.error))
            .collect()
    }
}

pub(crate) fn baseline<'f>(
    findings: impl Iterator<Item = (&'f str, &'f Finding)>,
) -> Result<String> {
    let text = Baseline::text(findings).map_err(|error| Error::output("the baseline", error))?;
    Ok(safe_json(&text))
}
