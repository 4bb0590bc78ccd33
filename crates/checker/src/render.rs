//! Reports in every format.

use super::report::Report;
use super::report::baseline;
use imgcheck_base::error::{Error, Result};
use imgcheck_model::finding::{Finding, Severity};
use imgcheck_report::difference::{self, Difference};
use imgcheck_report::requirements;
use imgcheck_report::text::options::{TextLevel, TextOptions};
use imgcheck_report::tree::{self, TreeQuery};
use imgcheck_report::{self as report, ImageReport};

/// A format of a report. Not every [`View`] has each of them.
///
/// ```
/// use imgcheck::Format;
///
/// assert_eq!(Format::printable("a\u{1b}[31m"), "a\\u{1b}[31m");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For a terminal, with ANSI styles.
    Text,
    /// For programs.
    Json,
    /// SARIF 2.1.0.
    Sarif,
    /// JUnit XML.
    Junit,
    /// Workflow commands of GitHub Actions.
    Github,
    /// Code Quality report of GitLab.
    Gitlab,
    /// Markdown, for a comment on a pull request.
    Markdown,
    /// CycloneDX 1.6.
    Cyclonedx,
    /// A page for a browser.
    Html,
    /// A graph for Graphviz.
    Dot,
    /// A part of the `spec` of a Pod.
    Kubernetes,
    /// An image compatibility specification of Node Feature Discovery.
    Nfd,
    /// Options of a Slurm job.
    Slurm,
    /// The resources of a SkyPilot task.
    Skypilot,
    /// A part of a request to RunPod's API.
    Runpod,
}

impl Format {
    /// A text for a terminal or a log. Hidden characters are written `\u{…}`, so that nothing in an image can control a terminal
    /// or disguise a name, and commands of build systems are defused. Line breaks are kept.
    pub fn printable(text: &str) -> String {
        imgcheck_report::printable(text)
    }
}

/// Which parts of a report to render.
///
/// ```
/// # fn main() -> imgcheck::Result<()> {
/// use imgcheck::{Checker, Format, View};
///
/// let report = Checker::builder().build()?.check(&[]);
/// let page = report.render(View::Findings, Format::Markdown, None)?;
/// assert!(page.starts_with("## imgcheck"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View<'v> {
    /// Findings, with what they are about.
    Findings,
    /// What the images contain, without findings: text, JSON and CycloneDX.
    Contents,
    /// The loader model as a tree: text, JSON, DOT and HTML. In text only about this library if one is given: a SONAME, a file
    /// name, a path, or the start of a name. The checker must be built with
    /// [`loader_trees`](crate::CheckerBuilder::loader_trees).
    Loader(Option<&'v str>),
    /// What the Python programs import: text and JSON. The checker must be built with
    /// [`loader_trees`](crate::CheckerBuilder::loader_trees).
    Imports,
    /// Where the bytes of the images are: text and JSON.
    Sizes,
    /// What the images need of a machine: text, JSON and the formats that no other view has. The checker must be built with
    /// [`all_gpus`](crate::CheckerBuilder::all_gpus). The format of Slurm needs the features of the nodes, with commas or white space
    /// between them.
    Requirements(Option<&'v str>),
    /// What references promise: text and JSON.
    Claims,
}

impl Report {
    /// Writes the report in a format. `width` is the width of the terminal in columns; text is not wrapped without it.
    ///
    /// # Errors
    /// The view does not have the format, or no process loads the library of [`View::Loader`].
    pub fn render(&self, view: View, format: Format, width: Option<u16>) -> Result<String> {
        let failed = |error: serde_json::Error| Error::output("the report", error);
        match view {
            View::Findings => self.with_view(|report| self.findings_in(report, format, width)),
            View::Contents => {
                let images: Vec<_> = self
                    .images
                    .iter()
                    .map(|image| image.facts.clone())
                    .collect();
                match format {
                    Format::Text => Ok(report::text::facts(&images, width)),
                    Format::Json => report::json::facts(&images, &self.unread()).map_err(failed),
                    Format::Cyclonedx => {
                        report::cyclonedx::report(images.iter(), &self.unread()).map_err(failed)
                    }
                    _ => unavailable(format),
                }
            }
            View::Loader(library) => self.trees(library, format),
            View::Imports => match format {
                Format::Text => {
                    let images = self.images.iter();
                    let images = images.map(|it| tree::imports(it.facts.name(), &it.imports));
                    Ok(images.collect::<Vec<_>>().join("\n"))
                }
                Format::Json => {
                    let images = self.images.iter();
                    let trees = images.map(|it| (it.facts.reference.as_deref(), &**it.imports));
                    report::json::imports(trees, &self.unread()).map_err(failed)
                }
                _ => unavailable(format),
            },
            View::Sizes => match format {
                Format::Text => Ok(report::text::sizes(&self.images, width)),
                Format::Json => report::json::sizes(&self.images, &self.unread()).map_err(failed),
                _ => unavailable(format),
            },
            View::Requirements(features) => self.requirements(format, features, width),
            View::Claims => match format {
                Format::Text => Ok(report::text::claims(&self.references, width)),
                Format::Json => report::json::claims(&self.references).map_err(failed),
                _ => unavailable(format),
            },
        }
    }

    fn requirements(
        &self,
        format: Format,
        features: Option<&str>,
        width: Option<u16>,
    ) -> Result<String> {
        let (images, known) = (&self.images, &self.knowledge);
        Ok(match format {
            Format::Text => requirements::text(images, known, width),
            Format::Json => report::json::requirements(images, known, &self.unread())
                .map_err(|error| Error::output("the report", error))?,
            Format::Kubernetes => requirements::kubernetes(images, known),
            Format::Nfd => requirements::nfd(images, known),
            Format::Slurm => match features {
                Some(features) => requirements::slurm(images, known, features)?,
                None => {
                    return Err(Error::usage("which features do the nodes have?")
                        .with_help("name them: --features \"$(sinfo -h -o %f)\""));
                }
            },
            Format::Skypilot => requirements::skypilot(images, known),
            Format::Runpod => requirements::runpod(images, known),
            _ => return unavailable(format),
        })
    }

    /// Writes the report for people.
    pub fn text(&self, options: &TextOptions) -> String {
        // Quiet or not, a failure shows what makes it fail.
        let is_quiet = options.level == TextLevel::Quiet;
        let failing = self
            .fail_on
            .filter(|it| is_quiet && *it < Severity::Warning);
        let options = TextOptions {
            severity: options.severity.or(failing),
            ..*options
        };
        self.with_view(|report| self.text_of(report, &options))
    }

    fn text_of(&self, report: &report::Report, options: &TextOptions) -> String {
        match self.is_preflight {
            true => report::text::workloads(report, self.fail_on, options),
            false => report::text::report(report, options),
        }
    }

    fn findings_in(
        &self,
        report: &report::Report,
        format: Format,
        width: Option<u16>,
    ) -> Result<String> {
        let failed = |error: serde_json::Error| Error::output("the report", error);
        match format {
            Format::Text => Ok(self.text_of(report, &TextOptions::wide(width))),
            Format::Json if self.is_preflight => {
                report::json::preflight(report, self.fail_on).map_err(failed)
            }
            Format::Json if self.is_lint => report::json::lint(report).map_err(failed),
            Format::Json => report::json::report(report).map_err(failed),
            Format::Sarif => report::sarif::report(report).map_err(failed),
            Format::Junit => report::junit::report(report, self.fail_on)
                .map_err(|error| Error::output("the report", error)),
            Format::Github => Ok(report::github::report(report)),
            Format::Gitlab => report::gitlab::report(report).map_err(failed),
            Format::Markdown => Ok(report::markdown::report(report)),
            Format::Cyclonedx => {
                let images = report.images.iter().map(|image| &image.facts);
                report::cyclonedx::report(images, report.errors).map_err(failed)
            }
            Format::Html => {
                report::html::page(report).map_err(|error| Error::output("the report", error))
            }
            _ => unavailable(format),
        }
    }

    fn trees(&self, library: Option<&str>, format: Format) -> Result<String> {
        match format {
            Format::Text => {
                let images = self.images.iter().map(|image| {
                    let name = image.facts.name();
                    let question = TreeQuery {
                        image: name,
                        launch: Some(&image.facts.launch),
                        library,
                    };
                    tree::text(question, &image.tree).ok_or_else(|| not_loaded(name, library))
                });
                Ok(images.collect::<Result<Vec<_>>>()?.join("\n"))
            }
            Format::Json => {
                let images = self.images.iter();
                let trees = images.map(|it| (it.facts.reference.as_deref(), &*it.tree));
                report::json::trees(trees, &self.unread())
                    .map_err(|error| Error::output("the report", error))
            }
            Format::Dot => Ok(self
                .images
                .iter()
                .map(|it| {
                    tree::dot(
                        TreeQuery {
                            image: &it.facts.named,
                            launch: None,
                            library,
                        },
                        &it.tree,
                    )
                })
                .collect()),
            Format::Html => {
                report::html::trees(self.images.iter().map(|it| (&it.facts, &*it.tree)))
                    .map_err(|error| Error::output("the report", error))
            }
            _ => unavailable(format),
        }
    }
}

fn unavailable<T>(format: Format) -> Result<T> {
    Err(Error::usage(format!(
        "{format:?} is not a format of this view"
    )))
}

fn not_loaded(image: &str, library: Option<&str>) -> Error {
    let library = library.unwrap_or_default();
    Error::usage(format!("no process of {image} loads {library}"))
        .with_help("run `imgcheck tree IMAGE` to list what is loaded; the start of a name, such as libcudnn, is enough")
}

/// What changed from one image to another.
///
/// ```
/// # fn main() -> imgcheck::Result<()> {
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
/// use imgcheck::{Checker, Comparison, Format, ImageRequest};
///
/// let checker = Checker::builder().build()?;
/// let report = checker.check(&[
///     ImageRequest::new("testdata/sample/pytorch-cuda-v2.9.tar"),
///     ImageRequest::new("testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar"),
/// ]);
/// let comparison = Comparison::between(("before", &report.images[0]), ("after", &report.images[1]));
/// assert!(comparison.new_findings().is_empty());
/// println!("{}", comparison.render(Format::Markdown, None)?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Comparison<'r> {
    images: [&'r ImageReport; 2],
    difference: Difference,
}

impl<'r> Comparison<'r> {
    /// Compares two images, each with the name that the comparison gives it.
    pub fn between(before: (&str, &'r ImageReport), after: (&str, &'r ImageReport)) -> Self {
        Comparison {
            images: [before.1, after.1],
            difference: Difference::between(before, after),
        }
    }

    /// Findings that only the second image has.
    pub fn new_findings(&self) -> &[Finding] {
        &self.difference.findings.new
    }

    /// The text of a baseline file with the findings of both images, and their number.
    ///
    /// # Errors
    /// None in practice: no image can cause one.
    pub fn baseline(&self) -> Result<(String, usize)> {
        let findings: Vec<_> = self
            .images
            .iter()
            .flat_map(|image| image.findings.iter().map(|it| (image.facts.name(), it)))
            .collect();
        let count = findings.len();
        Ok((baseline(findings.into_iter())?, count))
    }

    /// Writes the comparison as text, JSON or Markdown.
    ///
    /// # Errors
    /// It does not have the format.
    pub fn render(&self, format: Format, width: Option<u16>) -> Result<String> {
        match format {
            Format::Text => Ok(difference::text::render(&self.difference, width)),
            Format::Markdown => Ok(report::markdown::difference(&self.difference)),
            Format::Json => report::json::difference(&self.difference)
                .map_err(|error| Error::output("the report", error)),
            _ => unavailable(format),
        }
    }
}
