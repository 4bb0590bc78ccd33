//! `imgcheck sweep run`.

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use imgcheck::{Checker, Error, Result, Shard, Sweep, WorkerOptions};
use indicatif::{DecimalBytes, HumanCount};

use super::super::interrupt::Stop;
use super::super::output::{self, one_line};
use super::super::policy::NOT_JUDGED;
use super::place::PlanPlace;
use super::settings::{StoreArguments, SweepReading, start, unless_stopped};

/// Arguments of `imgcheck sweep run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Plan: a file, or store:NAME
    #[arg(value_name = "PLAN", value_parser = PlanPlace::parse)]
    plan: PlanPlace,
    /// Part of the plan to read, such as 2/8 [default: by JOB_COMPLETION_INDEX (Kubernetes) or SLURM_ARRAY_TASK_ID (Slurm), else the
    /// whole plan]
    #[arg(
        long,
        value_name = "I/N",
        env = "IMGCHECK_SHARD",
        conflicts_with = "shards"
    )]
    shard: Option<Shard>,
    /// Number of parts, if the environment selects the part to read
    #[arg(long, value_name = "N", env = "IMGCHECK_SHARDS")]
    shards: Option<usize>,
    /// Number of layers to read at the same time
    #[arg(long, value_name = "N", default_value_t = WorkerOptions::default().jobs, env = "IMGCHECK_JOBS")]
    jobs: usize,
    /// Seconds after which other workers take over from one that died; at least 4
    #[arg(long, value_name = "SECONDS", default_value_t = WorkerOptions::default().claim_expiry.as_secs(), value_parser = clap::value_parser!(u64).range(4..))]
    claim_expiry: u64,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    reading: SweepReading,
}

/// Reads a shard. The exit code is 3 if an image of it could not be read.
pub fn run(arguments: &RunArguments) -> Result<ExitCode, Stop> {
    let options = WorkerOptions {
        shard: arguments.shard()?,
        jobs: arguments.jobs.max(1),
        claim_expiry: Duration::from_secs(arguments.claim_expiry),
    };
    let shards = u32::try_from(options.shard.count()).unwrap_or(u32::MAX);
    let checker = arguments.reading.apply(Checker::builder(), shards)?;
    let checker = arguments.store.required(checker)?;
    let started = start(checker, arguments.reading.no_progress)?;
    let plan = arguments.plan.read("PLAN", &started.checker)?;
    let outcome = Sweep::new(&started.checker).run(&plan, &options, started.make.clone());
    let outcome = unless_stopped(&started.run, outcome)?;
    output::print(&format!(
        "shard {}: read {} layers, {}; {} images are in the store, {} failed\n",
        options.shard,
        HumanCount(outcome.layers_read),
        DecimalBytes(outcome.bytes_read),
        HumanCount(outcome.images),
        HumanCount(outcome.failed.len() as u64),
    ))?;
    for (source, problem) in &outcome.failed {
        output::remark(&format!("{}: {}\n", one_line(source), one_line(problem)));
    }
    Ok(match outcome.failed.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(NOT_JUDGED),
    })
}

/// Index, first index, number of workers: what engines set for each of their tasks.
const ENGINES: [(&str, &str, &str); 2] = [
    ("JOB_COMPLETION_INDEX", "", ""),
    (
        "SLURM_ARRAY_TASK_ID",
        "SLURM_ARRAY_TASK_MIN",
        "SLURM_ARRAY_TASK_COUNT",
    ),
];

impl RunArguments {
    fn shard(&self) -> Result<Shard> {
        if let Some(shard) = self.shard {
            return Ok(shard);
        }
        let of_environment = |name: &str| env::var(name).ok()?.parse::<usize>().ok();
        let task = ENGINES.iter().find_map(|(index, first, count)| {
            let own = of_environment(index)?;
            let first = of_environment(first).unwrap_or(0);
            Some((index, own.saturating_sub(first), of_environment(count)))
        });
        match (task, self.shards) {
            (Some((_, index, count)), shards) if shards.or(count).is_some() => {
                Shard::of_index(index, shards.or(count).unwrap_or(1))
            }
            (Some((name, ..)), _) => {
                let problem =
                    format!("{name} says which part of the plan to read, but not of how many");
                Err(Error::usage(problem).with_help("add --shards N, the completions of the Job"))
            }
            (None, Some(_)) => {
                let problem = "--shards needs JOB_COMPLETION_INDEX or SLURM_ARRAY_TASK_ID";
                Err(Error::usage(problem).with_help("name the part: --shard I/N"))
            }
            (None, None) => Ok(Shard::default()),
        }
    }
}
