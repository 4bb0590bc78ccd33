//! Where plans are.

use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::PathBuf;

use imgcheck::{Checker, Error, Result, Sweep, SweepPlan};

use super::super::output;

/// Where a plan is: `store:NAME`, or a file.
#[derive(Debug, Clone)]
pub enum PlanPlace {
    Store(String),
    File(PathBuf),
}

impl PlanPlace {
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix("store:") {
            Some("") => Err("the name is missing: write store:NAME".to_owned()),
            Some(name) => Ok(PlanPlace::Store(name.to_owned())),
            None => Ok(PlanPlace::File(text.into())),
        }
    }

    /// Reads the plan. `argument` is the one that names it.
    pub fn read(&self, argument: &str, checker: &Checker) -> Result<SweepPlan> {
        let path = match self {
            PlanPlace::Store(name) => return Sweep::new(checker).get_plan(name),
            PlanPlace::File(path) => path,
        };
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                Error::usage(format!("{argument} {name}: the file does not exist"))
                    .with_help("make it with `imgcheck sweep plan SOURCE -o PLAN`")
            }
            _ => Error::io(&name, error),
        })?;
        SweepPlan::read(&name, BufReader::new(file))
    }

    /// Writes the plan.
    pub fn write(&self, checker: &Checker, plan: &SweepPlan) -> Result<()> {
        let path = match self {
            PlanPlace::Store(name) => return Sweep::new(checker).put_plan(name, plan),
            PlanPlace::File(path) => path,
        };
        output::write_whole(path, None, |writer| plan.write(writer))
    }
}
