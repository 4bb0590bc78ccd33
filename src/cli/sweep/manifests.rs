//! `imgcheck sweep manifests`: what starts the workers of a sweep.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use imgcheck::{Error, Result};

use super::super::interrupt::Stop;
use super::super::output;

const KUBERNETES: &str = include_str!("kubernetes.yaml");
const SLURM: &str = include_str!("slurm.sh");
const GITHUB: &str = include_str!("github.yaml");
const GITLAB: &str = include_str!("gitlab.yaml");

/// Arguments of `imgcheck sweep manifests`.
#[derive(Debug, Args)]
pub struct ManifestsArguments {
    /// System that starts the workers
    #[arg(long, value_enum)]
    engine: Engine,
    /// Number of workers
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    shards: u32,
    /// Store of the sweep
    #[arg(
        long,
        value_name = "URL",
        env = "IMGCHECK_STORE",
        hide_env_values = true
    )]
    store: String,
    /// Plan, where all workers can read it: store:NAME, or a shared file
    #[arg(long, value_name = "PLAN", default_value = "store:plan")]
    plan: String,
    /// imgcheck image to run, for Kubernetes and GitLab
    #[arg(
        long,
        value_name = "REFERENCE",
        default_value = "ghcr.io/imgcheck/imgcheck:latest"
    )]
    image: String,
}

/// What starts workers.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Engine {
    /// An Indexed Job
    Kubernetes,
    /// A batch script with a job array
    Slurm,
    /// A workflow of GitHub Actions
    Github,
    /// A pipeline of GitLab
    Gitlab,
}

/// Prints the manifest.
pub fn run(arguments: &ManifestsArguments) -> Result<ExitCode, Stop> {
    output::print(&arguments.render()?)?;
    Ok(ExitCode::SUCCESS)
}

impl ManifestsArguments {
    fn render(&self) -> Result<String> {
        let template = match self.engine {
            Engine::Kubernetes => KUBERNETES,
            Engine::Slurm => SLURM,
            Engine::Github => GITHUB,
            Engine::Gitlab => GITLAB,
        };
        let words = [&self.store, &self.plan, &self.image];
        if let Some(word) = words.into_iter().find(|word| !is_plain(word)) {
            let problem = format!("`{word}` has characters that a manifest would have to quote");
            return Err(Error::usage(problem)
                .with_help("use letters, digits and -._~:/@%+=?&, or edit the printed manifest"));
        }
        let last = self.shards - 1;
        let numbers: Vec<String> = (1..=self.shards).map(|it| it.to_string()).collect();
        Ok(template
            .replace("{store}", &self.store)
            .replace("{plan}", &self.plan)
            .replace("{image}", &self.image)
            .replace("{shards}", &self.shards.to_string())
            .replace("{last}", &last.to_string())
            .replace("{numbers}", &numbers.join(", ")))
    }
}

/// Whether a text means itself in a shell and in YAML, within double quotes.
fn is_plain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/@%+=?&".contains(&byte);
    !text.is_empty() && text.bytes().all(plain)
}
