//! The images that a command reads: how they are named, how they are read, and what becomes of those that cannot be.

use std::process::ExitCode;

use clap::Args;
use clap::builder::BoolishValueParser;

use super::limits::LimitArguments;
use super::{cache, deadline, interrupt, output, progress, registry};
use imgcheck::internals::cache::Cache;
use imgcheck::internals::checker::{Progress as _, Reading, Scan, Scanner, Unjudged};
use imgcheck::internals::elf::Depth;
use imgcheck::internals::error::{Error, Result};
use imgcheck::internals::limits::Limits;
use imgcheck::internals::reference::name::Name;
use imgcheck::internals::reference::transport::ImageReference;
use imgcheck::internals::report::{UnreadImage, one_line};
use imgcheck::internals::source::{Access, Selection};

/// The images to read, and how.
#[derive(Debug, Args)]
pub(super) struct ImageArguments {
    /// Images: a reference (what the engine here holds, else what the registry has), a path (docker archive, OCI layout or its
    /// tar, root directory; recognised by content), - for an archive on the standard input, or one of
    /// docker-daemon:REF, podman:REF, docker://REF, docker-archive:PATH[:REF], oci:PATH[:TAG], oci-archive:PATH[:TAG], dir:PATH
    #[arg(value_name = "IMAGE", required = true)]
    images: Vec<String>,
    #[command(flatten)]
    reading: ReadingArguments,
}

/// How images are read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading")]
pub(super) struct ReadingArguments {
    /// Compare with this reference in place of the one that the image records
    #[arg(long = "as", value_name = "REFERENCE", env = "IMGCHECK_AS")]
    reference: Option<String>,
    /// The platform of a multi-platform image, as in linux/arm64 [default: linux and this machine's
    /// architecture, else the only one there is]
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
    /// Also search whole sections of libraries: slower, more evidence for notes
    #[arg(long, env = "IMGCHECK_DEEP", value_parser = BoolishValueParser::new())]
    deep: bool,
    /// No progress: neither a bar on a terminal nor a line now and then elsewhere
    #[arg(long, env = "IMGCHECK_NO_PROGRESS", value_parser = BoolishValueParser::new())]
    no_progress: bool,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    cache: cache::CacheArguments,
    #[command(flatten)]
    registry: registry::RegistryArguments,
}

impl ImageArguments {
    /// As they were named.
    pub fn images(&self) -> &[String] {
        &self.images
    }

    pub fn targets(&self) -> Vec<ImageReference> {
        targets(&self.images)
    }

    /// As [`ReadingArguments::limits`].
    pub fn limits(&self, configured: &Limits) -> Limits {
        self.reading.limits(configured)
    }

    /// Reads all images, with the loader model as a `tree` if that is asked for.
    pub fn scan_all(&self, tree: bool, limits: Limits) -> Result<(Vec<Scan>, Vec<Unreadable>)> {
        self.reading.scan_all(&self.images, tree, limits)
    }
}

/// The places that images are named by.
pub(super) fn targets(images: &[String]) -> Vec<ImageReference> {
    images
        .iter()
        .map(|image| ImageReference::parse(image))
        .collect()
}

impl ReadingArguments {
    /// The limits of the configuration, and above them those of the command line.
    pub fn limits(&self, configured: &Limits) -> Limits {
        self.limits.above(configured)
    }

    fn reading(&self, tree: bool, cache: Cache, limits: Limits) -> Reading {
        Reading {
            tree,
            selection: Selection {
                platform: self.platform.clone(),
                all_platforms: self.all_platforms,
            },
            depth: if self.deep {
                Depth::Deep
            } else {
                Depth::Default
            },
            reference: self.reference.clone(),
            access: Access {
                cache,
                registry: self.registry.registries(),
                limits,
                ..Access::default()
            },
        }
    }

    /// Reads all images; those that cannot be read come back with the reason, so that the others are not lost. `tree` asks
    /// for the loader model as a tree, too.
    pub fn scan_all(
        &self,
        images: &[String],
        tree: bool,
        limits: Limits,
    ) -> Result<(Vec<Scan>, Vec<Unreadable>)> {
        if self.reference.is_some() && images.len() > 1 {
            return Err(Error::Usage {
                problem: "--as gives a name to one image, and several are named".to_owned(),
                help: Some("check them one by one".to_owned()),
            });
        }
        Ok(self.reader(tree, limits)?.scan(images))
    }

    /// What reads images, from now on within the time of `limits`. A command has one.
    pub fn reader(&self, tree: bool, limits: Limits) -> Result<Reader> {
        if let Some(reference) = &self.reference {
            reference.parse::<Name>()?;
        }
        let cache = self.cache.open()?;
        let scanner = Scanner::new(self.reading(tree, cache.clone(), limits))?;
        let progress = progress::report(self.no_progress);
        let (bar, kept) = (progress.bar(), cache.clone());
        // The terminal gets rid of the bar, the cache of half-written files.
        let leave = move || {
            bar.finish_and_clear();
            kept.abandon();
        };
        interrupt::watch(leave.clone());
        deadline::watch(limits, leave)?;
        Ok(Reader {
            scanner,
            progress,
            cache,
        })
    }
}

/// Reads images, one after the other.
pub(super) struct Reader {
    scanner: Scanner,
    progress: progress::Report,
    cache: Cache,
}

impl Reader {
    /// As [`ReadingArguments::scan_all`].
    pub fn scan(&self, images: &[String]) -> (Vec<Scan>, Vec<Unreadable>) {
        let mut scans = Vec::new();
        let mut unreadable = Vec::new();
        for (image, target) in images.iter().zip(targets(images)) {
            let scanned = self.scanner.scan(&target, &self.progress);
            // An error ends it in the middle.
            self.progress.finish();
            match scanned {
                Ok(read) => scans.extend(read),
                Err(error) => unreadable.push(Unreadable {
                    image: image.clone(),
                    target: Some(target),
                    error,
                }),
            }
        }
        for remark in self.cache.remarks() {
            output::remark(&format!("{}\n", one_line(&remark)));
        }
        (scans, unreadable)
    }
}

/// What could not be read, and why.
pub(super) struct Unreadable {
    image: String,
    /// Where it was looked for; `None` for one that was found and read, but could not be judged.
    pub target: Option<ImageReference>,
    error: Error,
}

impl From<Unjudged> for Unreadable {
    fn from(unjudged: Unjudged) -> Self {
        Unreadable {
            image: unjudged.image,
            target: None,
            error: unjudged.error,
        }
    }
}

impl Unreadable {
    pub fn report(list: &[Unreadable]) -> Vec<UnreadImage> {
        list.iter()
            .map(|unread| UnreadImage {
                image: unread.image.clone(),
                error: unread.error.to_string(),
            })
            .collect()
    }
}

/// Tells what could not be read; the worst of its exit codes stands above that of what was read.
pub(super) fn finish(unreadable: &[Unreadable], otherwise: ExitCode) -> ExitCode {
    for image in unreadable {
        output::error_about(&image.image, &image.error);
    }
    match unreadable.iter().map(|image| image.error.exit_code()).max() {
        Some(code) => ExitCode::from(code),
        None => otherwise,
    }
}
