//! `imgcheck rules`: list, show and test the rules.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use imgcheck::{Checker, CheckerBuilder, Error, Result, Schema};

use super::init::create;
use super::interrupt::Stop;
use super::output::{self, one_line};
use super::policy::ConfigArguments;

/// The file of a new rule.
const NEW: &str = include_str!("init/rule.yaml");

/// Arguments of `imgcheck rules`.
#[derive(Debug, Args)]
pub struct RulesArguments {
    #[command(subcommand)]
    command: Command,
    /// Add a rule file or a directory of rule files; repeatable, or several separated by ':'
    #[arg(
        long,
        value_name = "PATH",
        env = "IMGCHECK_RULES",
        value_delimiter = ':',
        global = true,
        help_heading = "Rules and policy"
    )]
    rules: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List all rules with severity and title; rules of --rules and the configuration come last
    List {
        #[command(flatten)]
        config: ConfigArguments,
    },
    /// Show a rule: what goes wrong, what it looks like, how to confirm it, what to do
    Show {
        /// ID of the rule, such as claim-torch-version
        id: String,
        #[command(flatten)]
        config: ConfigArguments,
    },
    /// Run the tests of all rules, or of the given rule files
    Test {
        /// Rule files, or directories of rule files
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
        #[command(flatten)]
        config: ConfigArguments,
    },
    /// Write a rule file with passing tests to start from; keeps an existing file
    New {
        /// ID of the rule: lowercase words with dashes
        id: String,
        /// Directory for the file
        #[arg(long, value_name = "DIR", default_value = ".")]
        directory: PathBuf,
    },
    /// Print the JSON Schema of rule files, or of one of the documents below
    Schema {
        /// Reports of `imgcheck check --format json`
        #[arg(long, group = "document")]
        report: bool,
        /// Reports of `imgcheck lint --format json`
        #[arg(long, group = "document")]
        lint: bool,
        /// Reports of `imgcheck preflight --format json`
        #[arg(long, group = "document")]
        preflight: bool,
        /// The configuration file, .imgcheck.yaml
        #[arg(long, group = "document")]
        config: bool,
        /// Image facts, as `imgcheck facts --format facts` writes them (decompressed)
        #[arg(long, group = "document")]
        facts: bool,
        /// Reports of `imgcheck size --format json`
        #[arg(long, group = "document")]
        size: bool,
        /// Reports of `imgcheck requirements --format json`
        #[arg(long, group = "document")]
        requirements: bool,
        /// The verdict that `imgcheck attest` signs
        #[arg(long, group = "document")]
        verdict: bool,
        /// What `imgcheck verify --format json` prints
        #[arg(long, group = "document")]
        verify: bool,
        /// Lines of a sweep's results (`jsonl`)
        #[arg(long, group = "document")]
        fleet: bool,
    },
    /// Write the pages of the book
    #[command(hide = true)]
    Docs {
        /// Directory for the pages
        directory: PathBuf,
    },
}

/// Runs one of the commands; `test` exits with 1 if a test fails.
pub fn run(arguments: &RulesArguments) -> Result<ExitCode, Stop> {
    let checker = |config: Option<&ConfigArguments>| {
        let rules = arguments.rules.iter();
        let checker = rules.fold(Checker::builder(), CheckerBuilder::rules);
        match config {
            Some(config) => config.apply(checker)?.build(),
            None => checker.build(),
        }
    };
    let text = match &arguments.command {
        Command::List { config } => checker(Some(config))?.rule_table(output::width()),
        Command::Show { id, config } => checker(Some(config))?.rule_page(id)?,
        Command::New { id, directory } => new(&checker(None)?, id, directory)?,
        Command::Test { paths, config } => {
            let (summary, passed) = checker(Some(config))?.test_rules(paths)?;
            output::print(&format!("{summary}\n"))?;
            return Ok(ExitCode::from(u8::from(!passed)));
        }
        Command::Schema {
            report,
            lint,
            preflight,
            config,
            facts,
            size,
            requirements,
            verdict,
            verify,
            fleet,
        } => {
            let documents = [
                (report, Schema::Report),
                (lint, Schema::Lint),
                (preflight, Schema::Preflight),
                (config, Schema::Configuration),
                (facts, Schema::Facts),
                (size, Schema::Size),
                (requirements, Schema::Requirements),
                (verdict, Schema::Verdict),
                (verify, Schema::Verify),
                (fleet, Schema::Fleet),
            ];
            let named = documents.into_iter().find(|(is_named, _)| **is_named);
            named.map_or(Schema::Rule, |(_, schema)| schema).to_json()
        }
        Command::Docs { directory } => {
            checker(None)?.write_rule_pages(directory)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the file of a new rule.
fn new(checker: &Checker, id: &str, directory: &Path) -> Result<String> {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if id.is_empty() || !id.chars().all(is_allowed) {
        let problem = format!("`{id}` is not an ID");
        let help = "use lower-case words with dashes, such as team-python";
        return Err(Error::usage(problem).with_help(help));
    }
    if checker.rule_page(id).is_ok() {
        let problem = format!("`{id}` is a built-in rule");
        return Err(Error::usage(problem).with_help("choose a different ID"));
    }
    let path = directory.join(format!("{id}.yaml"));
    let shown = one_line(&path.display().to_string());
    if !create(&path, &NEW.replace("{id}", id))? {
        let problem = format!("{shown} exists");
        return Err(Error::usage(problem).with_help("choose a different ID"));
    }
    Ok(format!(
        "wrote {shown}\nnext: imgcheck rules test {shown}\n"
    ))
}
