//! `imgcheck rules`: list, show and test the rules.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::check::RuleArguments;
use super::output;
use imgcheck::internals::error::{Error, Result};
use imgcheck::internals::policy;
use imgcheck::internals::report::{self, printable};
use imgcheck::internals::rules::{Rule, RuleSet, file, pages, testing};

/// Arguments of `imgcheck rules`.
#[derive(Debug, Args)]
pub struct RulesArguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    rules: RuleArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List all rules with their severity and title
    List,
    /// Show one rule: what goes wrong, how it looks, how to confirm it, what to do
    Show {
        /// Id of the rule, as in claim-torch-version
        id: String,
    },
    /// Run the tests that the rules carry: of all rules, or of the files named here
    Test {
        /// Rule files, or directories of them
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Print the JSON Schema of rule files, for editors; or of reports, or of configuration files
    Schema {
        /// The schema of what `imgcheck check --format json` prints
        #[arg(long, conflicts_with = "config")]
        report: bool,
        /// The schema of .imgcheck.yaml
        #[arg(long)]
        config: bool,
    },
    /// Write the pages of the book
    #[command(hide = true)]
    Docs {
        /// The directory of the pages
        directory: PathBuf,
    },
}

/// Runs one of the commands; `test` exits with 1 when a test fails.
pub fn run(arguments: &RulesArguments) -> Result<ExitCode> {
    let rules = arguments.rules.load()?;
    let text = match &arguments.command {
        Command::List => report::text::rules(&pages::list_table(&rules), output::width()),
        Command::Show { id } => {
            let rule = rules.get(id).ok_or_else(|| unknown(id, rules.rules()))?;
            printable(&pages::render(rule))
        }
        Command::Test { paths } => {
            let mut named = RuleSet::default();
            for path in paths {
                named.add_path(path)?;
            }
            let report = testing::run(if paths.is_empty() { rules } else { named }.rules());
            output::print(&format!("{}\n", printable(&report.to_string())))?;
            return Ok(ExitCode::from(u8::from(report.failures().next().is_some())));
        }
        Command::Schema { report, config } => schema(*report, *config)?,
        Command::Docs { directory } => {
            return pages::write(&rules, directory).map(|()| ExitCode::SUCCESS);
        }
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The JSON Schema of reports, of configuration files, or of rule files.
fn schema(of_report: bool, of_config: bool) -> Result<String> {
    let schema = match (of_report, of_config) {
        (true, _) => report::json::schema(),
        (_, true) => policy::config::schema(),
        _ => file::schema(),
    };
    let text = serde_json::to_string_pretty(&schema)
        .map_err(|error| Error::output("the schema", error))?;
    Ok(format!("{text}\n"))
}

fn unknown<'r>(id: &str, rules: impl Iterator<Item = &'r Rule>) -> Error {
    let near: Vec<&str> = rules
        .map(|rule| rule.id.as_str())
        .filter(|known| known.contains(id))
        .collect();
    Error::Usage {
        problem: format!("there is no rule {id}"),
        help: Some(match near.as_slice() {
            [] => "imgcheck rules list names all of them".to_owned(),
            near => format!("did you mean {}?", near.join(", ")),
        }),
    }
}
