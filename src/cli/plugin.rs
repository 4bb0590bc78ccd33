//! `docker imgcheck` and `kubectl imgcheck`: links to the program, whose name says which command line started it.
//!
//! Docker: <https://github.com/docker/cli/blob/master/cli-plugins/metadata/metadata.go>. kubectl:
//! <https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/>.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use imgcheck::Error;

/// What Docker asks a plugin for before it lists or starts it.
const METADATA: &str = "docker-cli-plugin-metadata";

/// A command line that has imgcheck as a subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Host {
    Docker,
    Kubectl,
}

/// What to do with the arguments of the process.
#[derive(Debug, PartialEq, Eq)]
pub enum Start {
    /// Run the command that the arguments name; the first one is the name that `--help` shows.
    Run(Vec<OsString>),
    /// Print this description of the plugin.
    Describe(String),
}

/// Reads the arguments as whoever started the program passes them.
pub fn start(arguments: Vec<OsString>) -> Result<Start, Error> {
    let Some(host) = arguments.first().and_then(|program| host(program)) else {
        return Ok(Start::Run(arguments));
    };
    let mut rest = arguments.into_iter().skip(1).peekable();
    if host == Host::Docker {
        if rest.peek().is_some_and(|first| first == METADATA) {
            return Ok(Start::Describe(metadata()));
        }
        // Docker repeats its own options in front of the name of the plugin.
        if let Some(option) = rest.next_if(|first| first != "imgcheck") {
            return Err(unsupported(&option));
        }
        rest.next();
    }
    let name = match host {
        Host::Docker => "docker imgcheck",
        Host::Kubectl => "kubectl imgcheck",
    };
    Ok(Start::Run(
        [OsString::from(name)].into_iter().chain(rest).collect(),
    ))
}

fn host(program: &OsStr) -> Option<Host> {
    match Path::new(program).file_stem()?.to_str()? {
        "docker-imgcheck" => Some(Host::Docker),
        "kubectl-imgcheck" | "kubectl_imgcheck" => Some(Host::Kubectl),
        _ => None,
    }
}

fn unsupported(option: &OsStr) -> Error {
    Error::usage(format!(
        "`docker imgcheck` does not take Docker's option `{}`",
        option.display()
    ))
    .with_help("set DOCKER_HOST or DOCKER_CONTEXT instead")
}

fn metadata() -> String {
    let metadata = serde_json::json!({
        "SchemaVersion": "0.1.0",
        "Vendor": "imgcheck",
        "Version": env!("CARGO_PKG_VERSION"),
        "ShortDescription": "Check what GPU container images promise",
        "URL": "https://github.com/imgcheck/imgcheck",
    });
    format!("{metadata}\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn run(words: &str) -> Result<Start, Error> {
        start(words.split(' ').map(OsString::from).collect())
    }

    fn runs(words: &[&str]) -> Start {
        Start::Run(words.iter().map(OsString::from).collect())
    }

    #[test]
    fn the_name_of_the_program_says_who_started_it() {
        for (given, expected) in [
            ("/bin/imgcheck image.tar", ["/bin/imgcheck", "image.tar"]),
            (
                "/p/docker-imgcheck imgcheck image.tar",
                ["docker imgcheck", "image.tar"],
            ),
            (
                "docker-imgcheck imgcheck imgcheck",
                ["docker imgcheck", "imgcheck"],
            ),
            (
                "kubectl-imgcheck preflight",
                ["kubectl imgcheck", "preflight"],
            ),
            (
                "kubectl-imgcheck imgcheck",
                ["kubectl imgcheck", "imgcheck"],
            ),
        ] {
            assert_eq!(run(given).unwrap(), runs(&expected), "{given}");
        }
    }

    #[test]
    fn an_option_of_docker_is_refused() {
        let error = run("docker-imgcheck --context far imgcheck image.tar").unwrap_err();
        assert!(error.to_string().contains("`--context`"), "{error}");
        assert_eq!(run("docker-imgcheck").unwrap(), runs(&["docker imgcheck"]));
    }
}
