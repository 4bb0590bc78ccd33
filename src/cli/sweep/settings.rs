//! What all parts of a sweep share: the store, how images are reached, and how a run ends.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;
use imgcheck::{
    CacheKey, Checker, CheckerBuilder, Error, ImageRequest, Limit, RegistryOptions, Result,
};

use super::super::interrupt::{GRACE_TO_WRITE, Run, Stop};
use super::super::limits::LimitArguments;
use super::super::progress;
use super::super::registry::RegistryArguments;

/// The store of a sweep.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Store")]
pub struct StoreArguments {
    /// Where to keep facts: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, or file:///DIRECTORY
    #[arg(
        long,
        value_name = "URL",
        env = "IMGCHECK_STORE",
        hide_env_values = true
    )]
    store: Option<String>,
    /// Sign entries of the store with this key, and trust no others: FILE, or env://NAME for a variable. Required for a store that
    /// others can write to
    #[arg(
        long,
        value_name = "FILE|env://NAME",
        env = "IMGCHECK_STORE_KEY",
        value_parser = CacheKey::read
    )]
    store_key: Option<CacheKey>,
}

impl StoreArguments {
    pub fn apply(&self, checker: CheckerBuilder) -> CheckerBuilder {
        match &self.store {
            Some(store) => checker.store(store, self.store_key.clone()),
            None => checker,
        }
    }

    /// Like [`apply`](Self::apply), for a command that needs a store.
    pub fn required(&self, checker: CheckerBuilder) -> Result<CheckerBuilder> {
        match &self.store {
            Some(_) => Ok(self.apply(checker)),
            None => Err(Error::usage("--store is missing")
                .with_help("name the store of the sweep: --store s3://BUCKET/PREFIX, or --store file:///DIRECTORY")),
        }
    }
}

/// How images are reached.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Reading")]
pub struct SweepReading {
    /// Do not show progress
    #[arg(long, env = "IMGCHECK_NO_PROGRESS", value_parser = BoolishValueParser::new())]
    pub no_progress: bool,
    #[command(flatten)]
    limits: LimitArguments,
    /// Send at most this many requests per second to each registry; with N shards, each `sweep run` sends an Nth of them
    #[arg(long, value_name = "NUMBER", env = "IMGCHECK_REQUESTS_PER_SECOND", value_parser = clap::value_parser!(u32).range(1..))]
    requests_per_second: Option<u32>,
    #[command(flatten)]
    registry: RegistryArguments,
}

impl SweepReading {
    /// For one of so many processes, which share the budget of requests.
    pub fn apply(&self, checker: CheckerBuilder, processes: u32) -> Result<CheckerBuilder> {
        // A sweep takes as long as it takes.
        let checker = checker.limits([(Limit::Time, u64::MAX)]);
        let checker = self.limits.apply(checker);
        let interval = self.requests_per_second;
        let interval = interval.map(|number| Duration::from_secs(1) * processes / number);
        Ok(checker.registries(RegistryOptions {
            request_interval: interval.unwrap_or_default(),
            ..self.registry.options()?
        }))
    }
}

/// A run of one part, and what makes its requests.
pub struct Started<M> {
    pub checker: Arc<Checker>,
    pub run: Run,
    pub make: M,
}

/// From now on signals end the run, and its time counts.
pub fn start(
    checker: CheckerBuilder,
    no_progress: bool,
) -> Result<Started<impl Fn(&str) -> ImageRequest + Clone + Send + Sync + 'static>> {
    let checker = Arc::new(checker.build()?);
    let display = progress::display(no_progress);
    let bars = display.bars();
    let clear = move || {
        // The process is about to exit: a terminal that cannot be written to changes nothing.
        let _ = bars.clear();
    };
    let run = Run::start(&checker, GRACE_TO_WRITE, clear)?;
    let (end, progress) = (run.cancellation(), display.request());
    let make = move |image: &str| {
        ImageRequest::new(image)
            .cancellation(end.clone())
            .progress(Arc::clone(&progress))
    };
    Ok(Started { checker, run, make })
}

/// A cancelled run says which signal ended it.
pub fn unless_stopped<T>(run: &Run, result: Result<T>) -> Result<T, Stop> {
    run.check()?;
    Ok(result?)
}
