//! Judges the images of manifests with what their containers replace, on the nodes that they may run on.

mod classes;
mod container;
mod deployment;
mod hidden;
mod images;
mod input;
mod judging;
mod kubelet;
mod manifests;
mod not_understood;
mod request;
mod schedule;
mod sources;
mod workloads;

use super::judge;
use super::report::{Report, Unread};
use super::state::Checker;
use imgcheck_base::error::{Error, Result};
use imgcheck_lint::workload;
use imgcheck_rules::policy::Subjects;

pub use deployment::Deployment;
use judging::{Judging, schedules};
use manifests::Manifests;
pub use request::PreflightRequest;
pub use schedule::Schedule;
use sources::{Sources, name_files};

impl Checker {
    /// Judges what manifests deploy: Kubernetes manifests, Compose files, batch scripts. Each container is judged with what it
    /// replaces in its image, on each class of nodes that the scheduler may choose. Files and images that cannot be read are in
    /// [`Report::errors`].
    ///
    /// ```
    /// # fn main() -> imgcheck::Result<()> {
    /// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
    /// use imgcheck::{Checker, Format, PreflightRequest, View};
    ///
    /// let checker = Checker::builder().build()?;
    /// let request = PreflightRequest::new(["testdata/preflight/deployment.yaml"])
    ///     .images_file("testdata/preflight/images.yaml")
    ///     .nodes("testdata/preflight/nodes.json");
    /// let report = checker.preflight(&request)?;
    /// println!("{}", report.render(View::Findings, Format::Text, None)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The file of images or of nodes is wrong, the cluster is not declared, or the request was cancelled.
    pub fn preflight(&self, request: &PreflightRequest) -> Result<Report> {
        let mut report = Report::new(self);
        report.is_preflight = true;
        let sources = request.sources()?;
        let settings = request.request("");
        let Manifests {
            texts: files,
            unread,
            unsearched,
        } = request.manifests(&settings.cancellation);
        let listing = request.listing(&files, &settings.cancellation)?;
        let classes = request.classes(self, listing.as_ref())?;
        report.errors.extend(unread);
        let related = listing.map(|it| it.related).unwrap_or_default();
        let kinds = self.kinds()?;
        let (mut workloads, malformed) = workload::read(&files, &related, &kinds);
        workloads.extend(unsearched);
        name_files(&mut workloads, &sources);
        let malformed = malformed.into_iter();
        report
            .errors
            .extend(malformed.map(|(name, error)| Unread::unjudged(name, error)));
        settings.cancellation.check()?;
        let images = Sources {
            checker: self,
            request,
            sources: &sources,
            workloads: &workloads,
        };
        let judging = Judging {
            checker: self,
            settings: &settings,
            read: &|image, architecture| images.read(image, architecture),
            workloads: &workloads,
            schedules: classes.as_deref().map(|it| schedules(&workloads, it)),
            locates: true,
        };
        let used_ignores = judging.report(&mut report);
        settings.cancellation.check()?;
        if self.policy.strict && workloads.is_empty() && report.errors.is_empty() {
            let name = files.first().map_or("-", |(name, _)| name.as_str());
            let problem = "nothing was judged: no object in the manifests starts a container";
            let error = Error::damaged(name, problem).with_help("without --strict, this passes");
            report.errors.push(Unread::unjudged(name.to_owned(), error));
        }
        // Whether an ignore is used is unknown if something is missing.
        if report.errors.is_empty() {
            let images = workloads.iter().flat_map(|it| &it.containers);
            let names: Vec<&str> = images.map(|it| it.image.as_str()).collect();
            let subjects = Subjects::Images {
                typed: &names,
                recorded: &[],
            };
            report.configuration =
                judge::configuration(self, subjects, &used_ignores, settings.day)?;
        }
        Ok(report)
    }
}
