//! `imgcheck cache`: what was kept from earlier runs; and the options that say where.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, Subcommand};
use indicatif::DecimalBytes;
use serde::Serialize;

use super::output::{self, Format, OutputArguments};
use imgcheck::internals::cache::{Cache, Kind, Places, Stored};
use imgcheck::internals::elf::Depth;
use imgcheck::internals::error::Result;
use imgcheck::internals::layer::cache;
use imgcheck::internals::limits::Limits;
use imgcheck::internals::limits::unit::Unit;
use imgcheck::internals::report::{self, one_line};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The form of `imgcheck cache info -f json`.
const SCHEMA: &str = "imgcheck/cache/v1";

/// Where the facts of layers are kept, if they are.
#[derive(Debug, Args)]
#[command(next_help_heading = "Cache of layer facts")]
pub struct CacheArguments {
    /// Keep nothing and use nothing of earlier runs
    #[arg(long, env = "IMGCHECK_NO_CACHE", value_parser = BoolishValueParser::new())]
    no_cache: bool,
    #[command(flatten)]
    places: PlaceArguments,
}

/// Where the facts of layers are kept.
#[derive(Debug, Args)]
struct PlaceArguments {
    /// Where the facts of layers are kept for later runs [default: imgcheck in $XDG_CACHE_HOME or ~/.cache]
    #[arg(long, value_name = "DIR", env = "IMGCHECK_CACHE_DIR")]
    cache_dir: Option<PathBuf>,
    /// Bytes that this directory may hold; what was not used for longest is removed
    #[arg(
        long,
        value_name = "SIZE",
        env = "IMGCHECK_CACHE_SIZE",
        default_value = "2GB",
        value_parser = size
    )]
    cache_size: u64,
    /// Share the facts with other machines, too: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX,
    /// https://SERVER/PATH (WebDAV) or file:///DIRECTORY
    #[arg(
        long = "cache",
        value_name = "URL",
        env = "IMGCHECK_CACHE",
        hide_env_values = true
    )]
    shared: Option<String>,
}

impl CacheArguments {
    /// The cache that is asked for.
    ///
    /// # Errors
    /// [`Error::Usage`](imgcheck::internals::error::Error::Usage) for a URL that names no kind of store.
    pub fn open(&self) -> Result<Cache> {
        match self.no_cache {
            true => Ok(Cache::default()),
            false => self.places.open(),
        }
    }
}

impl PlaceArguments {
    fn open(&self) -> Result<Cache> {
        Cache::open(&Places {
            directory: self.cache_dir.clone(),
            shared: self.shared.clone(),
            limit: self.cache_size,
        })
    }
}

fn size(text: &str) -> Result<u64, String> {
    let bytes = Unit::Bytes.parse(text);
    bytes.ok_or_else(|| "no number of bytes, as in 500MB or 2GiB".to_owned())
}

/// Arguments of `imgcheck cache`.
#[derive(Debug, Args)]
pub struct CommandArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show where the cache of this machine is, and what it holds
    Info {
        #[command(flatten)]
        places: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// Empty the cache of this machine; what is shared stays
    Clean {
        #[command(flatten)]
        places: PlaceArguments,
        /// Only facts of other versions of imgcheck, which this one does not read
        #[arg(long)]
        stale: bool,
        /// Only what was not used for so many days
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u32>,
    },
}

/// Runs one of the commands.
pub fn run(arguments: &CommandArguments) -> Result<ExitCode> {
    match &arguments.command {
        Command::Info { places, output } => {
            let info = Info::of(&places.open()?, places.cache_size)?;
            output::write(output, |format| match format {
                Format::Text => Ok(info.text()),
                Format::Json => report::to_json(&info),
            })?;
        }
        Command::Clean {
            places,
            stale,
            older_than,
        } => {
            let versions = versions();
            let chosen = |entry: &Stored| {
                let old = |days| entry.used.elapsed().is_ok_and(|age| age > DAY * days);
                (!stale || is_stale(entry, &versions)) && older_than.is_none_or(old)
            };
            let removed = Count::of(&places.open()?.clean(chosen)?, |_| true);
            output::print(&format!("removed {}\n", removed.text()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The versions of the facts that this program reads.
fn versions() -> [String; 2] {
    [Depth::Default, Depth::Deep].map(|depth| cache::version(depth, &Limits::default()))
}

fn is_stale(entry: &Stored, versions: &[String]) -> bool {
    matches!(&entry.kind, Kind::Facts { version } if !versions.contains(version))
}

/// What `imgcheck cache info` tells.
#[derive(Debug, Serialize)]
struct Info {
    schema: &'static str,
    /// The directory of this machine; `null` where the user has none.
    directory: Option<String>,
    /// The address of the shared store.
    shared: Option<String>,
    /// Bytes that the directory may hold.
    limit: u64,
    /// All that is in the directory.
    total: Count,
    /// Facts that this program reads.
    facts: Count,
    /// Facts of other versions.
    stale: Count,
    /// Manifests and configurations.
    documents: Count,
}

#[derive(Debug, Default, Serialize)]
struct Count {
    entries: usize,
    bytes: u64,
}

impl Count {
    fn of(entries: &[Stored], condition: impl Fn(&&Stored) -> bool) -> Self {
        let chosen = entries.iter().filter(condition);
        chosen.fold(Count::default(), |count, entry| Count {
            entries: count.entries + 1,
            bytes: count.bytes + entry.bytes,
        })
    }

    fn text(&self) -> String {
        let noun = if self.entries == 1 {
            "entry"
        } else {
            "entries"
        };
        format!("{} {noun}, {}", self.entries, DecimalBytes(self.bytes))
    }
}

impl Info {
    fn of(cache: &Cache, limit: u64) -> Result<Self> {
        let (entries, versions) = (cache.list()?, versions());
        let facts =
            |it: &&Stored| matches!(it.kind, Kind::Facts { .. }) && !is_stale(it, &versions);
        Ok(Info {
            schema: SCHEMA,
            directory: cache.directory().map(|path| path.display().to_string()),
            shared: cache.shared().map(str::to_owned),
            limit,
            total: Count::of(&entries, |_| true),
            facts: Count::of(&entries, facts),
            stale: Count::of(&entries, |it| is_stale(it, &versions)),
            documents: Count::of(&entries, |it| it.kind == Kind::Document),
        })
    }

    fn text(&self) -> String {
        let directory = self.directory.as_deref().unwrap_or("none: HOME is not set");
        let directory = one_line(directory);
        let shared = self.shared.iter();
        let shared = shared.map(|url| format!("shared      {}\n", one_line(url)));
        format!(
            "directory   {directory}\n{}limit       {}\ntotal       {}\nfacts       {}\nstale       {}\ndocuments   {}\n",
            shared.collect::<String>(),
            DecimalBytes(self.limit),
            self.total.text(),
            self.facts.text(),
            self.stale.text(),
            self.documents.text(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("2GB", Some(imgcheck::internals::cache::DEFAULT_LIMIT)),
            ("500 mb", Some(500_000_000)),
            ("1GiB", Some(1 << 30)),
            ("99999999999TB", None),
            ("1.5GB", None),
            ("GB", None),
            ("-1", None),
            ("2 apples", None),
            ("", None),
        ] {
            assert_eq!(size(text).ok(), bytes, "{text}");
        }
    }
}
