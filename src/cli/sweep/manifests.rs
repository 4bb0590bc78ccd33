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
    /// imgcheck image to run; required for Kubernetes and GitLab, because no public image exists yet (ci/image.sh makes one)
    #[arg(long, value_name = "REFERENCE")]
    image: Option<String>,
}

/// What starts workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
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
        self.check_shared()?;
        let image = self.image()?;
        let words = [&self.store, &self.plan, image];
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
            .replace("{image}", image)
            .replace("{shards}", &self.shards.to_string())
            .replace("{last}", &last.to_string())
            .replace("{numbers}", &numbers.join(", ")))
    }

    /// The image to run; any text for engines whose manifest names none.
    fn image(&self) -> Result<&str> {
        match (&self.image, self.engine) {
            (Some(image), _) => Ok(image),
            (None, Engine::Slurm | Engine::Github) => Ok("imgcheck"),
            (None, Engine::Kubernetes | Engine::Gitlab) => {
                Err(Error::usage("--image is missing: no public image of imgcheck exists yet")
                    .with_help("make one with ci/image.sh, push it, and name it with its version: --image registry.example/tools/imgcheck:0.1.0"))
            }
        }
    }

    /// # Errors
    /// The workers run on machines that do not share a file system, and the store or the plan is a local path.
    fn check_shared(&self) -> Result<()> {
        let engine = match self.engine {
            // Its nodes share a file system.
            Engine::Slurm => return Ok(()),
            Engine::Kubernetes => "Pods",
            Engine::Github | Engine::Gitlab => "CI jobs",
        };
        let local = [
            ("--store", &self.store, self.store.starts_with("file:")),
            ("--plan", &self.plan, !self.plan.starts_with("store:")),
        ];
        match local.into_iter().find(|(.., is_local)| *is_local) {
            Some((option, path, _)) => {
                let problem = format!("{option} {path}: {engine} do not have this directory");
                Err(Error::usage(problem).with_help(
                    "use object storage: --store s3://BUCKET/PREFIX (or gs://, az://), and --plan store:NAME for a plan that `imgcheck sweep plan -o store:NAME` wrote there",
                ))
            }
            None => Ok(()),
        }
    }
}

/// Whether a text means itself in a shell and in YAML, within double quotes.
fn is_plain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/@%+=?&".contains(&byte);
    !text.is_empty() && text.bytes().all(plain)
}
