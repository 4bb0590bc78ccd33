//! `imgcheck cache`, and the options that say where the cache is.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::BoolishValueParser;
use clap::{Args, Subcommand};
use imgcheck::{CacheKey, CacheOptions, CacheUsage, Format, clean_cache};
use indicatif::DecimalBytes;

use super::formats::TextOrJson;
use super::interrupt::Stop;
use super::output::{self, OutputArguments, one_line};

/// Where layer facts are kept, if they are.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Cache of layer facts")]
pub struct CacheArguments {
    /// Do not use the cache
    #[arg(long, env = "IMGCHECK_NO_CACHE", value_parser = BoolishValueParser::new())]
    no_cache: bool,
    #[command(flatten)]
    places: PlaceArguments,
}

/// Where layer facts are kept.
#[derive(Debug, Clone, Args)]
struct PlaceArguments {
    /// Cache directory [default: imgcheck in $XDG_CACHE_HOME or ~/.cache]
    #[arg(long, value_name = "DIR", env = "IMGCHECK_CACHE_DIR")]
    cache_dir: Option<PathBuf>,
    /// Maximum size of the cache directory; imgcheck removes the least recently used entries
    #[arg(
        long,
        value_name = "SIZE",
        env = "IMGCHECK_CACHE_SIZE",
        default_value = "2GB",
        value_parser = size
    )]
    cache_size: u64,
    /// Share layer facts with other machines: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX,
    /// https://SERVER/PATH (WebDAV) or file:///DIRECTORY
    #[arg(
        long = "cache",
        value_name = "URL",
        env = "IMGCHECK_CACHE",
        hide_env_values = true
    )]
    shared: Option<String>,
    /// Sign entries of the shared cache with this key, and trust no others: FILE, or env://NAME for a variable
    #[arg(
        long,
        value_name = "FILE|env://NAME",
        env = "IMGCHECK_CACHE_KEY",
        value_parser = CacheKey::read
    )]
    cache_key: Option<CacheKey>,
}

impl CacheArguments {
    /// The cache of a checker; `None` if nothing is kept.
    pub fn options(&self) -> Option<CacheOptions> {
        (!self.no_cache).then(|| self.places.options())
    }
}

impl PlaceArguments {
    fn options(&self) -> CacheOptions {
        CacheOptions {
            directory: self.cache_dir.clone(),
            shared: self.shared.clone(),
            key: self.cache_key.clone(),
            limit: self.cache_size,
        }
    }
}

/// A number of bytes, as options take it.
///
/// # Errors
/// It is not a size.
pub(super) fn size(text: &str) -> Result<u64, String> {
    CacheOptions::parse_size(text).ok_or_else(|| "not a size such as 500MB or 2GiB".to_owned())
}

/// Arguments of `imgcheck cache`.
#[derive(Debug, Args)]
pub struct CommandArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show where this machine's cache is and what it contains
    Info {
        #[command(flatten)]
        places: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments<TextOrJson>,
    },
    /// Empty this machine's cache; the shared store does not change
    Clean {
        #[command(flatten)]
        places: PlaceArguments,
        /// Remove only facts that other versions of imgcheck wrote
        #[arg(long)]
        stale: bool,
        /// Remove only entries that were not used for this many days
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u32>,
    },
}

/// Runs one of the commands.
pub fn run(arguments: &CommandArguments) -> Result<ExitCode, Stop> {
    match &arguments.command {
        Command::Info { places, output } => {
            let usage = CacheUsage::of(&places.options())?;
            output::write_text(output, |format| match format {
                Format::Json => usage.to_json(),
                _ => Ok(text(&usage)),
            })?;
        }
        Command::Clean {
            places,
            stale,
            older_than,
        } => {
            let removed = clean_cache(&places.options(), *stale, *older_than)?;
            let removed = count(removed.entries, removed.bytes);
            output::print(&format!("removed {removed}\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn count(entries: usize, bytes: u64) -> String {
    let noun = if entries == 1 { "entry" } else { "entries" };
    format!("{entries} {noun}, {}", DecimalBytes(bytes))
}

fn text(usage: &CacheUsage) -> String {
    let directory = usage
        .directory
        .as_deref()
        .unwrap_or("none: HOME is not set");
    let directory = one_line(directory);
    let shared = usage.shared.iter();
    let shared = shared.map(|url| format!("shared      {}\n", one_line(url)));
    format!(
        "directory   {directory}\n{}limit       {}\ntotal       {}\nfacts       {}\nstale       {}\ndocuments   {}\n",
        shared.collect::<String>(),
        DecimalBytes(usage.limit),
        count(usage.total.entries, usage.total.bytes),
        count(usage.facts.entries, usage.facts.bytes),
        count(usage.stale.entries, usage.stale.bytes),
        count(usage.documents.entries, usage.documents.bytes),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("2GB", Some(2_000_000_000)),
            ("500 mb", Some(500_000_000)),
            ("1GiB", Some(1 << 30)),
            ("99999999999TB", None),
            ("1.5GB", Some(1_500_000_000)),
            ("GB", None),
            ("-1", None),
            ("2 apples", None),
            ("", None),
        ] {
            assert_eq!(size(text).ok(), bytes, "{text}");
        }
    }
}
