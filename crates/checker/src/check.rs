//! From facts to findings and reports.

use std::collections::BTreeSet;
use std::convert::Infallible;

use super::analyze::Analysis;
use super::cached_model::KnownImage;
use super::facts::ImageFacts;
use super::judge;
use super::model::Models;
use super::report::{Report, Unread};
use super::request::ImageRequest;
use super::state::Checker;
use super::subject::Subject;
use imgcheck_base::error::Result;
use imgcheck_base::parallel;
use imgcheck_layer::ReadContext;
use imgcheck_model::finding::Finding;
use imgcheck_report::ImageReport;
use imgcheck_rules::policy::Subjects;
use imgcheck_source::source::Image;

/// Requests of one call that are read at once: as many as layers, so that small images and slow networks use what is there.
const REQUESTS: usize = 4;

impl Checker {
    /// Judges facts. The findings depend on the arguments and the checker only: there is no clock, no network and no file.
    /// The most severe come first; those that the policy ignores are left out.
    ///
    /// ```
    /// # fn main() -> imgcheck::Result<()> {
    /// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
    /// use imgcheck::{Checker, Day, ImageRequest, Subject};
    ///
    /// let checker = Checker::builder().build()?;
    /// let facts = checker.facts(&ImageRequest::new("testdata/sample/pytorch-cuda-v2.9.tar"))?;
    /// let day = Day::from_ymd_opt(2026, 11, 22).unwrap();
    /// let findings = checker.judge(&facts, &Subject::new("pytorch-cuda:v2.9", day))?;
    /// assert!(findings.iter().any(|finding| finding.rule == "claim-torch-version"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The image exceeds a limit, or a rule of the user cannot be evaluated.
    pub fn judge(&self, facts: &ImageFacts, subject: &Subject) -> Result<Vec<Finding>> {
        Ok(self.report(facts, subject)?.findings)
    }

    /// The report of one image: its stack, claims, GPU code and loader model, with the findings of [`judge`](Self::judge).
    ///
    /// # Errors
    /// Same as [`judge`](Self::judge).
    pub fn report(&self, facts: &ImageFacts, subject: &Subject) -> Result<ImageReport> {
        let analysis = Analysis::of(self, &mut Models::default(), facts, subject)?;
        let fleet = judge::fleet(&self.policy, &[&analysis]);
        Ok(judge::judge(self, &analysis, &fleet)?.report)
    }

    /// Reads and judges images, several at once. The report has them in the order of the requests; those that cannot be read or
    /// judged are in [`Report::errors`].
    ///
    /// Where the policy demands it, their versions must agree; ignores that no finding matches are reported once all were read.
    pub fn check(&self, requests: &[ImageRequest]) -> Report {
        let mut report = Report::new(self);
        let mut images = Vec::new();
        let analyze = |at: usize| Ok::<_, Infallible>(self.analyze_all(&requests[at]));
        let Ok(analyzed) = parallel::map(REQUESTS, requests.len(), analyze);
        for (request, read) in requests.iter().zip(analyzed) {
            match read {
                Ok(read) => images.extend(read),
                Err(error) => report.errors.push(Unread::of(request, error)),
            }
        }
        self.judge_all(&mut report, images);
        report
    }

    /// Judges facts that were read before, as [`check`](Self::check) does.
    pub fn check_facts(&self, images: &[(ImageFacts, Subject)]) -> Report {
        let mut report = Report::new(self);
        let (mut analyzed, mut models) = (Vec::new(), Models::default());
        for (facts, subject) in images {
            match Analysis::of(self, &mut models, facts, subject) {
                Ok(image) => analyzed.push(image),
                Err(error) => report
                    .errors
                    .push(Unread::unjudged(subject.named.clone(), error)),
            }
        }
        self.judge_all(&mut report, analyzed);
        report
    }

    /// Reads and analyzes the images of a request, one by one, so that the facts of one are freed before the next is analyzed.
    fn analyze_all(&self, request: &ImageRequest) -> Result<Vec<Analysis>> {
        let known = |context: &ReadContext, image: &Image| self.cached_model(context, image);
        let images = self.images_or_known(request, known)?.into_iter();
        let mut models = Models::default();
        let analyze = |(image, subject): (KnownImage, Subject)| {
            let mut analysis = match image {
                KnownImage::Model(image, model) => Analysis::of_model(self, image, model, &subject),
                KnownImage::Facts(facts) => {
                    let analysis = Analysis::of(self, &mut models, &facts, &subject)?;
                    self.cache_model(&facts, &subject, &analysis);
                    analysis
                }
            };
            self.read_sboms(request, &subject, &mut analysis)?;
            Ok(analysis)
        };
        images.map(analyze).collect()
    }

    fn judge_all(&self, report: &mut Report, images: Vec<Analysis>) {
        let fleet = judge::fleet(&self.policy, &images.iter().collect::<Vec<_>>());
        let day = images.first().map(|image| image.day);
        let mut used_ignores = BTreeSet::new();
        let judge = |at: usize| Ok::<_, Infallible>(judge::judge(self, &images[at], &fleet));
        let Ok(judged) = parallel::map(parallel::cores(), images.len(), judge);
        for (image, judged) in images.iter().zip(judged) {
            match judged {
                Ok(judgement) => {
                    report.images.push(judgement.report);
                    used_ignores.extend(judgement.used_ignores);
                }
                Err(error) => {
                    let name = image.inspection.name().to_owned();
                    report.errors.push(Unread::unjudged(name, error));
                }
            }
        }
        // Whether an ignore is used is unknown if an image is missing.
        let (true, Some(day)) = (report.errors.is_empty(), day) else {
            return;
        };
        let typed: Vec<&str> = images.iter().map(|image| &*image.typed).collect();
        let recorded = images.iter().map(|image| &image.inspection.reference);
        let recorded: Vec<&str> = recorded.flatten().map(String::as_str).collect();
        let subjects = Subjects::Images {
            typed: &typed,
            recorded: &recorded,
        };
        match judge::configuration(self, subjects, &used_ignores, day) {
            Ok(file) => report.configuration = file,
            Err(error) => report
                .errors
                .push(Unread::unjudged("the configuration".to_owned(), error)),
        }
    }
}
