//! `imgcheck sweep judge`.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use imgcheck::{Checker, CheckerBuilder, Error, FleetFormat, FleetOutput, Result, Severity, Sweep};

use super::super::interrupt::Stop;
use super::super::output::{self, OutputArguments};
use super::super::policy::{ImagePolicyArguments, NOT_JUDGED};
use super::place::PlanPlace;
use super::settings::{StoreArguments, SweepReading, start, unless_stopped};

/// Arguments of `imgcheck sweep judge`.
#[derive(Debug, Args)]
pub struct JudgeArguments {
    /// Plan: a file, or store:NAME
    #[arg(value_name = "PLAN", value_parser = PlanPlace::parse)]
    plan: PlanPlace,
    /// Nodes that images must run on: output of `kubectl get nodes -o json`, or `nodes,resourceslices`; each class of equal nodes is a target;
    /// repeatable, one file per fleet
    #[arg(
        long,
        value_name = "FILE",
        env = "IMGCHECK_NODES",
        value_delimiter = ':'
    )]
    nodes: Vec<PathBuf>,
    /// Compare with other rules or targets, to see what a change would break: driver=VERSION, gpu=NAME, nodes=FILE, config=FILE,
    /// rules=PATH, fail-on=SEVERITY or strict; repeatable
    #[arg(long, value_name = "KEY[=VALUE]", value_parser = Change::parse)]
    against: Vec<Change>,
    /// Show only problems: no progress, and no summary if every image passes
    #[arg(short, long, env = "IMGCHECK_QUIET", value_parser = BoolishValueParser::new())]
    quiet: bool,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    reading: SweepReading,
    #[command(flatten)]
    policy: ImagePolicyArguments,
    #[command(flatten)]
    output: OutputArguments<SweepFormat>,
}

/// A format of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SweepFormat {
    /// A summary for people
    Text,
    /// One line of JSON per reference
    Jsonl,
    /// A table for spreadsheets
    Csv,
    /// A table for data tools (Apache Parquet)
    Parquet,
    /// SARIF 2.1.0
    Sarif,
    /// The fleet page, for a browser
    Html,
}

impl From<SweepFormat> for FleetFormat {
    fn from(format: SweepFormat) -> Self {
        match format {
            SweepFormat::Text => FleetFormat::Text,
            SweepFormat::Jsonl => FleetFormat::Jsonl,
            SweepFormat::Csv => FleetFormat::Csv,
            SweepFormat::Parquet => FleetFormat::Parquet,
            SweepFormat::Sarif => FleetFormat::Sarif,
            SweepFormat::Html => FleetFormat::Html,
        }
    }
}

/// One difference of `--against`.
#[derive(Debug, Clone)]
enum Change {
    Driver(String),
    Gpu(String),
    Nodes(PathBuf),
    Config(PathBuf),
    Rules(PathBuf),
    FailOn(Option<Severity>),
    Strict,
}

impl Change {
    fn parse(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        Ok(match (key, value) {
            ("strict", "") => Change::Strict,
            ("driver", value) if !value.is_empty() => Change::Driver(value.to_owned()),
            ("gpu", value) if !value.is_empty() => Change::Gpu(value.to_owned()),
            ("nodes", value) if !value.is_empty() => Change::Nodes(value.into()),
            ("config", value) if !value.is_empty() => Change::Config(value.into()),
            ("rules", value) if !value.is_empty() => Change::Rules(value.into()),
            ("fail-on", "error") => Change::FailOn(Some(Severity::Error)),
            ("fail-on", "warning") => Change::FailOn(Some(Severity::Warning)),
            ("fail-on", "note") => Change::FailOn(Some(Severity::Note)),
            ("fail-on", "never") => Change::FailOn(None),
            _ => {
                return Err("expected driver=VERSION, gpu=NAME, nodes=FILE, config=FILE, rules=PATH, fail-on=SEVERITY or strict".to_owned());
            }
        })
    }

    fn apply(&self, checker: CheckerBuilder) -> CheckerBuilder {
        match self {
            Change::Driver(version) => checker.driver(version),
            Change::Gpu(name) => checker.gpus([name]),
            Change::Nodes(file) => checker.nodes(file),
            Change::Config(file) => checker.configuration(file),
            Change::Rules(path) => checker.rules(path),
            Change::FailOn(severity) => checker.fail_on(*severity),
            Change::Strict => checker.strict(true),
        }
    }

    fn describe(&self) -> String {
        match self {
            Change::Driver(version) => format!("driver {version}"),
            Change::Gpu(name) => name.clone(),
            Change::Nodes(file) | Change::Config(file) | Change::Rules(file) => {
                file.display().to_string()
            }
            Change::FailOn(None) => "fail on nothing".to_owned(),
            Change::FailOn(Some(Severity::Note)) => "fail on notes".to_owned(),
            Change::FailOn(Some(Severity::Warning)) => "fail on warnings".to_owned(),
            Change::FailOn(Some(Severity::Error)) => "fail on errors".to_owned(),
            Change::Strict => "strict".to_owned(),
        }
    }
}

/// Judges a plan. The exit code is 3 if something could not be judged or listed, else 1 if an image fails.
pub fn run(arguments: &JudgeArguments) -> Result<ExitCode, Stop> {
    arguments.output.validate(&[])?;
    let checker = arguments.reading.apply(Checker::builder(), 1)?;
    let checker = arguments.store.required(checker)?;
    let checker = arguments.policy.apply(checker)?;
    let checker = arguments.nodes.iter().fold(checker, CheckerBuilder::nodes);
    let against = arguments.against(&checker)?;
    let started = start(checker, arguments.reading.no_progress || arguments.quiet)?;
    let plan = arguments.plan.read("PLAN", &started.checker)?;
    let mut outputs = Vec::new();
    let held = Held::default();
    let is_held = arguments.quiet && arguments.output.printed() == Some(SweepFormat::Text);
    let printed: Box<dyn Write + Send> = match is_held {
        true => Box::new(held.clone()),
        false => Box::new(BufWriter::new(io::stdout())),
    };
    arguments.output.each_sink(printed, |format, sink| {
        outputs.push(started.checker.fleet_output(format.into(), sink)?);
        Ok(())
    })?;
    let mut has_failed = false;
    let mut write = |record: &imgcheck::FleetRecord| {
        has_failed |= record.verdict == Some(imgcheck::Verdict::Fail);
        outputs.iter_mut().try_for_each(|output| {
            output
                .write(record)
                .map_err(|error| Error::output("the results", error))
        })
    };
    let settings = (started.make)("");
    let judged = Sweep::new(&started.checker).judge(&plan, against.as_ref(), &settings, &mut write);
    let mut totals = unless_stopped(&started.run, judged)?;
    let changes = arguments.against.iter().map(Change::describe);
    totals.against = changes.collect::<Vec<_>>().join(", ");
    for output in outputs {
        let finished = FleetOutput::finish(output, &totals);
        finished.map_err(|error| Error::output("the results", error))?;
    }
    let is_incomplete = !totals.complete
        || totals.failed > 0
        || totals.judged == 0
        || plan.missing().next().is_some();
    if is_held && (is_incomplete || has_failed) {
        output::print(&held.text())?;
    }
    Ok(match (is_incomplete, has_failed) {
        (true, _) => ExitCode::from(NOT_JUDGED),
        (false, true) => ExitCode::from(1),
        (false, false) => ExitCode::SUCCESS,
    })
}

/// The summary, until it is known whether an image fails.
#[derive(Debug, Clone, Default)]
struct Held(Arc<Mutex<Vec<u8>>>);

impl Held {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for Held {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl JudgeArguments {
    /// The checker to compare with; it needs no store.
    fn against(&self, checker: &CheckerBuilder) -> Result<Option<Checker>> {
        if self.against.is_empty() {
            return Ok(None);
        }
        let other = checker.clone();
        let other = self
            .against
            .iter()
            .fold(other, |it, change| change.apply(it));
        Ok(Some(other.build()?))
    }
}
