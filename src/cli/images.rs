//! The images that a command reads, and how.

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Arc;

use clap::builder::{BoolishValueParser, Resettable};
use clap::{Args, ValueEnum};
use imgcheck::{Checker, CheckerBuilder, Depth, Error, ImageRequest, PublicKey, Report, Result};
use imgcheck_base::parallel::use_cores;

use super::interrupt::{GRACE, Run, Stop};
use super::limits::LimitArguments;
use super::output::one_line;
use super::{cache, names, output, progress, registry};

/// The images to read, and how.
#[derive(Debug, Args)]
pub struct ImageArguments {
    /// Reference, archive, OCI layout, root directory, or `-`: an archive on standard input
    ///
    /// imgcheck looks up a reference in Docker, then in its registry. A path is a docker archive, an OCI layout (directory or tar), a
    /// root directory, or a file from `imgcheck facts -f facts`; `-` reads an archive from standard input. Also: docker-daemon:REF,
    /// podman:REF, containerd:REF, docker://REF, docker-archive:PATH[:REF], oci:PATH[:TAG], oci-archive:PATH[:TAG], dir:PATH.
    /// docker-daemon:, podman: or containerd: alone means all images there
    #[arg(
        value_name = "IMAGE",
        required_unless_present = "all_images",
        default_value_if("all_images", "true", Some(ALL_IMAGES))
    )]
    images: Vec<String>,
    /// Read all images in Docker, like docker-daemon:
    #[arg(long, conflicts_with = "images")]
    all_images: bool,
    #[command(flatten)]
    pub reading: ReadingArguments,
}

/// All images of Docker.
const ALL_IMAGES: &str = "docker-daemon:";

/// How images are read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading")]
pub struct ReadingArguments {
    /// Compare the image with this reference instead of the one it records
    #[arg(long = "as", value_name = "REFERENCE", env = "IMGCHECK_AS", help_heading = Resettable::Reset)]
    reference: Option<String>,
    /// Platform to read from a multi-platform image, such as linux/arm64
    ///
    /// By default, imgcheck reads Linux on this machine's architecture, or the only platform.
    #[arg(
        long,
        value_name = "OS/ARCH",
        env = "IMGCHECK_PLATFORM",
        conflicts_with = "all_platforms"
    )]
    platform: Option<String>,
    /// Check every platform of a multi-platform image
    #[arg(long, env = "IMGCHECK_ALL_PLATFORMS", value_parser = BoolishValueParser::new())]
    all_platforms: bool,
    /// Search entire sections of libraries: slower, but finds more evidence for notes
    #[arg(long, env = "IMGCHECK_DEEP", value_parser = BoolishValueParser::new())]
    deep: bool,
    /// Read layers with a table of contents (zstd:chunked, eStargz) as streams, as container engines do; implied by --strict
    #[arg(long, env = "IMGCHECK_NO_LAZY", value_parser = BoolishValueParser::new())]
    no_lazy: bool,
    /// Use signed facts from this place instead of reading the layers
    #[arg(long, value_enum, value_name = "PLACE", env = "IMGCHECK_FACTS_FROM")]
    facts_from: Option<FactsPlace>,
    /// Trust facts signed with this public key: FILE, or env://NAME for a variable; repeatable, adds to `facts-keys` of the
    /// configuration
    #[arg(long, value_name = "FILE|env://NAME", env = "IMGCHECK_FACTS_KEY", value_parser = PublicKey::read, requires = "facts_from")]
    facts_key: Vec<PublicKey>,
    /// Work as on a machine with N processors [default: as many as this process may use]
    #[arg(long, value_name = "N", env = "IMGCHECK_JOBS", hide_short_help = true)]
    jobs: Option<NonZeroUsize>,
    /// Do not show progress; implied by --quiet
    #[arg(long, env = "IMGCHECK_NO_PROGRESS", value_parser = BoolishValueParser::new())]
    no_progress: bool,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    cache: cache::CacheArguments,
    #[command(flatten)]
    registry: registry::RegistryArguments,
}

/// Where facts are, other than in the cache.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum FactsPlace {
    /// Facts that `imgcheck attest` stored next to the image in its registry
    Registry,
}

impl ImageArguments {
    /// The images as they were named.
    pub fn images(&self) -> &[String] {
        &self.images
    }
}

impl ReadingArguments {
    /// Limits, cache and registries of a checker.
    ///
    /// # Errors
    /// A mirror is invalid.
    pub fn apply(&self, checker: CheckerBuilder) -> Result<CheckerBuilder> {
        if let Some(jobs) = self.jobs {
            use_cores(jobs);
        }
        let checker = self.limits.apply(checker).no_lazy(self.no_lazy);
        let checker = checker.registries(self.registry.options()?);
        let checker = match self.facts_from {
            Some(FactsPlace::Registry) => checker.facts_from_registry(self.facts_key.clone()),
            None => checker,
        };
        Ok(match self.cache.options() {
            Some(cache) => checker.cache(cache),
            None => checker,
        })
    }

    /// Starts to read images: from now on signals end the run, and its time counts. Progress is shown unless the command is `quiet`.
    /// `commands` are those that a misspelled image may mean.
    ///
    /// # Errors
    /// `--as` is given for several images, several images are standard input, none of the images is a file that exists, or an engine
    /// that all images were requested from does not answer.
    pub fn start(
        &self,
        checker: CheckerBuilder,
        images: &[String],
        quiet: bool,
        commands: &[&str],
    ) -> Result<Reader> {
        self.check_one_image(images.len())?;
        if images.iter().filter(|it| is_standard_input(it)).count() > 1 {
            return Err(Error::usage("only one image can come from standard input")
                .with_help("save the others to files, and name these"));
        }
        let questions = names::questions_about(images, commands)?;
        let (checker, run, make) = self.begin(checker, quiet)?;
        let mut requests = Vec::new();
        for (image, question) in images.iter().zip(questions) {
            match question {
                Some(question) => requests.push(make(image).without_registry(question)),
                None => requests.extend(checker.expand(&make(image))?),
            }
        }
        self.check_one_image(requests.len())?;
        Ok(Reader {
            requests,
            checker,
            run,
        })
    }

    fn check_one_image(&self, count: usize) -> Result<()> {
        match self.reference.is_some() && count > 1 {
            true => Err(Error::usage("--as needs exactly one image")
                .with_help("check the images one by one, each with its own --as")),
            false => Ok(()),
        }
    }

    /// Like [`start`](Self::start), for images that are not known yet: returns what makes the request of an image.
    ///
    /// # Errors
    /// The checker cannot be built.
    pub fn begin(
        &self,
        checker: CheckerBuilder,
        quiet: bool,
    ) -> Result<(Arc<Checker>, Run, impl Fn(&str) -> ImageRequest + use<>)> {
        let checker = Arc::new(checker.build()?);
        let progress = progress::display(self.no_progress || quiet);
        let bars = progress.bars();
        let clear = move || {
            // The process is about to exit: a terminal that cannot be written to changes nothing.
            let _ = bars.clear();
        };
        let run = Run::start(&checker, GRACE, clear)?;
        let (platform, reference) = (self.platform.clone(), self.reference.clone());
        let (all_platforms, deep) = (self.all_platforms, self.deep);
        let cancellation = run.cancellation();
        let make = move |image: &str| {
            let mut request = ImageRequest::new(image)
                .all_platforms(all_platforms)
                .cancellation(cancellation.clone())
                .progress(progress.request());
            if deep {
                request = request.depth(Depth::Deep);
            }
            if let Some(platform) = &platform {
                request = request.platform(platform);
            }
            if let Some(reference) = &reference {
                request = request.compare_with(reference);
            }
            request
        };
        Ok((checker, run, make))
    }

    /// Whether `--platform` is given.
    pub fn names_a_platform(&self) -> bool {
        self.platform.is_some()
    }

    /// Whether `--as` or `--all-platforms` is given.
    pub fn names_one_image(&self) -> bool {
        self.reference.is_some() || self.all_platforms
    }
}

/// Whether an image is `-`, `docker-archive:-` or `oci-archive:-`, perhaps with a reference.
fn is_standard_input(image: &str) -> bool {
    let path = ["docker-archive:", "oci-archive:"]
        .iter()
        .find_map(|transport| image.strip_prefix(transport));
    let path = path.unwrap_or(image);
    path == "-" || path.starts_with("-:")
}

/// Reads images.
pub struct Reader {
    pub checker: Arc<Checker>,
    pub requests: Vec<ImageRequest>,
    run: Run,
}

impl Reader {
    /// Reads and judges all images.
    ///
    /// # Errors
    /// The run ended early.
    pub fn check(&self) -> Result<Report, Stop> {
        let report = self.checker.check(&self.requests);
        let errors = report.errors.iter();
        let unread = errors.filter(|it| it.error.is_interrupted());
        let unread: Vec<&str> = unread.map(|it| it.name.as_str()).collect();
        print_remarks(&self.checker);
        self.run.check_reading(&unread)?;
        Ok(report)
    }

    /// Same as [`finish_reading`].
    ///
    /// # Errors
    /// The run ended early.
    pub fn finish(&self) -> Result<(), Stop> {
        finish_reading(&self.checker, &self.run)
    }
}

/// Call it when the images have been read: it prints what users should know about the cache and the like.
///
/// # Errors
/// The run ended early.
pub fn finish_reading(checker: &Checker, run: &Run) -> Result<(), Stop> {
    print_remarks(checker);
    run.check()
}

fn print_remarks(checker: &Checker) {
    for remark in checker.remarks() {
        output::remark(&format!("{}\n", one_line(&remark)));
    }
}

/// The requests of images, to check that no report overwrites one of them.
pub fn requests(images: &[String]) -> Vec<ImageRequest> {
    images.iter().map(ImageRequest::new).collect()
}

/// Prints what could not be read. The highest exit code counts: that of an error, or `otherwise`.
pub fn finish(report: &Report, otherwise: u8) -> ExitCode {
    for unread in &report.errors {
        output::error_about(&unread.name, &unread.error);
    }
    let codes = report.errors.iter().map(|unread| unread.error.exit_code());
    ExitCode::from(codes.fold(otherwise, u8::max))
}
