//! `imgcheck rules`: list, show and test the rules.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use imgcheck::{Checker, Schema};

use super::interrupt::Stop;
use super::output;
use super::policy::RuleArguments;

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
    /// Show a rule: what goes wrong, how it looks, how to confirm it, what to do
    Show {
        /// ID of the rule, such as claim-torch-version
        id: String,
    },
    /// Run the tests of all rules, or of some rule files
    Test {
        /// Rule files, or directories of rule files
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Print a JSON Schema: of rule files, or of one of the documents below
    Schema {
        /// Reports of `imgcheck check --format json`
        #[arg(long, group = "document")]
        report: bool,
        /// Reports of `imgcheck preflight --format json`
        #[arg(long, group = "document")]
        preflight: bool,
        /// The configuration file, .imgcheck.yaml
        #[arg(long, group = "document")]
        config: bool,
        /// Image facts, as `imgcheck facts --format facts` writes them (decompressed)
        #[arg(long, group = "document")]
        facts: bool,
        /// The verdict that `imgcheck attest` signs
        #[arg(long, group = "document")]
        verdict: bool,
        /// What `imgcheck verify --format json` prints
        #[arg(long, group = "document")]
        verify: bool,
        /// Lines of the results of a sweep (`jsonl`)
        #[arg(long, group = "document")]
        fleet: bool,
    },
    /// Write the pages of the book
    #[command(hide = true)]
    Docs {
        /// Directory of the pages
        directory: PathBuf,
    },
}

/// Runs one of the commands; `test` exits with 1 if a test fails.
pub fn run(arguments: &RulesArguments) -> Result<ExitCode, Stop> {
    let checker = || arguments.rules.apply(Checker::builder()).build();
    let text = match &arguments.command {
        Command::List => checker()?.rule_table(output::width()),
        Command::Show { id } => checker()?.rule_page(id)?,
        Command::Test { paths } => {
            let (summary, passed) = checker()?.test_rules(paths)?;
            output::print(&format!("{summary}\n"))?;
            return Ok(ExitCode::from(u8::from(!passed)));
        }
        Command::Schema {
            report,
            preflight,
            config,
            facts,
            verdict,
            verify,
            fleet,
        } => {
            let documents = [
                (report, Schema::Report),
                (preflight, Schema::Preflight),
                (config, Schema::Configuration),
                (facts, Schema::Facts),
                (verdict, Schema::Verdict),
                (verify, Schema::Verify),
                (fleet, Schema::Fleet),
            ];
            let named = documents.into_iter().find(|(is_named, _)| **is_named);
            named.map_or(Schema::Rule, |(_, schema)| schema).to_json()
        }
        Command::Docs { directory } => {
            checker()?.write_rule_pages(directory)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
