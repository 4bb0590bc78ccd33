//! `imgcheck sweep plan`.

use std::process::ExitCode;

use clap::Args;
use clap::builder::BoolishValueParser;
use imgcheck::{Checker, Day, Error, Result, Sweep, SweepPlan, SweepRequest, SweepTotals};
use indicatif::{DecimalBytes, HumanCount};

use super::super::formats::TextOrJson;
use super::super::interrupt::Stop;
use super::super::output::{self, one_line};
use super::super::policy::NOT_JUDGED;
use super::place::PlanPlace;
use super::settings::{StoreArguments, SweepReading, start, unless_stopped};

/// Maximum number of missing references that the summary names.
const MISSING: usize = 10;

/// Arguments of `imgcheck sweep plan`.
#[derive(Debug, Args)]
pub struct PlanArguments {
    /// What to list: registry:HOST[/PREFIX]; harbor:HOST[/PROJECT] (Harbor API); gitlab:HOST[/GROUP[/PROJECT]] (GitLab API, with the
    /// token in GITLAB_TOKEN); cluster:[CONTEXT] (running Pods); pods:FILE (output of `kubectl get pods -A -o json`); docker-daemon: or
    /// podman: (all images there); a file with one image per line, optionally followed by the reference to compare it with (- for
    /// standard input); or a directory of archives
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<String>,
    /// Write the plan to this file, or to the store with store:NAME
    #[arg(short, long, value_name = "FILE|store:NAME", value_parser = PlanPlace::parse)]
    output: PlanPlace,
    /// Include only references that match, such as 'registry.example/team/*'; repeatable
    #[arg(long, value_name = "PATTERN")]
    include: Vec<String>,
    /// Exclude references that match; repeatable
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Include only tags that match, such as 'v2.*'; repeatable
    #[arg(long, value_name = "PATTERN")]
    tag: Vec<String>,
    /// Include only images that say they were built on this day or later, such as 2026-01-31
    #[arg(long, value_name = "DAY")]
    since: Option<Day>,
    /// Continue an earlier, incomplete plan
    #[arg(long, value_name = "PLAN", value_parser = PlanPlace::parse)]
    resume: Option<PlanPlace>,
    /// Platform to read from multi-platform images, such as linux/arm64 [default: Linux on this machine's architecture, or the only
    /// platform]
    #[arg(
        long,
        value_name = "OS/ARCH",
        env = "IMGCHECK_PLATFORM",
        conflicts_with = "all_platforms"
    )]
    platform: Option<String>,
    /// Read every platform of multi-platform images
    #[arg(long, env = "IMGCHECK_ALL_PLATFORMS", value_parser = BoolishValueParser::new())]
    all_platforms: bool,
    /// Format of the summary of the plan
    #[arg(short, long, value_enum, default_value = "text")]
    format: TextOrJson,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    reading: SweepReading,
}

/// Writes a plan. The exit code is 3 if it is incomplete, lacks a reference, or has no image.
pub fn run(arguments: &PlanArguments) -> Result<ExitCode, Stop> {
    if let PlanPlace::File(path) = &arguments.output {
        output::make_directory("-o", path)?;
    }
    let mut request = arguments.request()?;
    let checker = arguments
        .store
        .apply(arguments.reading.apply(Checker::builder(), 1)?);
    let started = start(checker, arguments.reading.no_progress)?;
    if let Some(place) = &arguments.resume {
        request = request.resume(place.read("--resume", &started.checker)?);
    }
    let (make, platform) = (started.make, arguments.platform.clone());
    let all_platforms = arguments.all_platforms;
    let request = request.reading(move |image| {
        let request = make(image).all_platforms(all_platforms);
        match &platform {
            Some(platform) => request.platform(platform),
            None => request,
        }
    });
    let planned = Sweep::new(&started.checker).plan(&request);
    if let (Ok((plan, _)), Err(stop)) = (&planned, started.run.check()) {
        // What was described so far need not be asked for again.
        arguments.output.write(&started.checker, plan)?;
        if !plan.is_complete() {
            output::remark("interrupted: go on with --resume and the plan\n");
        }
        return Err(stop);
    }
    let (plan, totals) = unless_stopped(&started.run, planned)?;
    arguments.output.write(&started.checker, &plan)?;
    match arguments.format {
        TextOrJson::Text => output::print(&describe(&plan, &totals))?,
        TextOrJson::Json => {
            let json = serde_json::to_string_pretty(&totals);
            let json = json.map_err(|error| Error::output("the totals", error))?;
            output::print(&format!("{json}\n"))?;
        }
    }
    let is_whole = plan.is_complete() && plan.missing().next().is_none();
    Ok(match is_whole && totals.planned > 0 {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(NOT_JUDGED),
    })
}

impl PlanArguments {
    fn request(&self) -> Result<SweepRequest> {
        let mut request = SweepRequest::new(&self.sources)?;
        request = self.include.iter().fold(request, SweepRequest::include);
        request = self.exclude.iter().fold(request, SweepRequest::exclude);
        request = self.tag.iter().fold(request, SweepRequest::tag);
        if let Some(day) = self.since {
            request = request.since(day);
        }
        Ok(request)
    }
}

/// Why references are skipped, by code.
fn reason(code: &str) -> &str {
    match code {
        "filtered" => "built before --since",
        "usage" => "not a valid reference",
        "not-found" => "not found",
        "unauthorized" => "login required, or refused",
        "forbidden" => "access denied",
        "rate-limited" => "refused by a rate limit of the registry",
        "unreachable" => "registry not reachable",
        "timeout" => "no answer in time",
        "damaged" => "corrupt",
        "unsupported" => "not an image that imgcheck can read",
        "limit" => "larger than a limit",
        other => other,
    }
}

fn describe(plan: &SweepPlan, totals: &SweepTotals) -> String {
    let count = |count: u64| HumanCount(count).to_string();
    let bytes = |bytes: u64| DecimalBytes(bytes).to_string();
    let skipped: u64 = totals.skipped.values().sum();
    let mut text = format!(
        "listed   {}  = planned {} + skipped {}\n",
        count(totals.listed),
        count(totals.planned),
        count(skipped)
    );
    for (code, number) in &totals.skipped {
        text += &format!("           {} {}\n", count(*number), one_line(reason(code)));
    }
    if totals.filtered > 0 {
        text += &format!(
            "left out {}  by filters, and what is no image\n",
            count(totals.filtered)
        );
    }
    text += &format!(
        "images   {}\nlayers   {}, {} to read\nbytes    {} referenced, {} unique, {} to read\n",
        count(totals.images),
        count(totals.layers),
        count(totals.missing_layers),
        bytes(totals.referenced_bytes),
        bytes(totals.unique_bytes),
        bytes(totals.missing_bytes),
    );
    for (host, number) in &totals.hosts {
        text += &format!("           {} from {}\n", bytes(*number), one_line(host));
    }
    let missing: Vec<_> = plan.missing().collect();
    for (reference, problem) in missing.iter().take(MISSING) {
        text += &format!("MISSING  {}: {}\n", one_line(reference), one_line(problem));
    }
    if let more @ 1.. = missing.len().saturating_sub(MISSING) {
        text += &format!("MISSING  {} more\n", count(more as u64));
    }
    for (source, problem) in plan.unlisted() {
        text += &format!("INCOMPLETE {}: {}\n", one_line(source), one_line(problem));
    }
    text
}
