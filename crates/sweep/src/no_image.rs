//! What to do if a source lists no image: a sweep that finds nothing is not green.

use std::fmt;

use super::sources::{LIST_HELP, Source};
use imgcheck_base::error::Error;

impl Source {
    /// The source was read to its end, and lists no image.
    pub fn no_image(&self) -> Error {
        let (problem, help) = match self {
            Source::Registry { .. } => (
                "the catalog of the registry has no tag there",
                "check host and prefix: `team` selects the repositories `team` and `team/…`",
            ),
            Source::Harbor { .. } | Source::Gitlab { .. } => (
                "it lists no tag",
                "check the path, and that the login or token may see its repositories",
            ),
            Source::List(_) => ("it names no image", LIST_HELP),
            Source::Pods(_) => (
                "it has no Pod that is running or waiting",
                "give it the output of `kubectl get pods -A -o json`",
            ),
            Source::Cluster(_) => (
                "no Pod is running or waiting",
                "check the context, and that you may list the Pods of all namespaces",
            ),
            Source::Engine(_) => ("it has no image", "pull or build one first"),
            Source::Directory(_) => (
                "it has no archive and no OCI layout",
                "save images there with `docker save -o IMAGE.tar`",
            ),
        };
        let name = match self {
            // Otherwise the message would begin with `cluster::`.
            Source::Cluster(None) => "the current cluster".to_owned(),
            source => source.to_string(),
        };
        Error::not_found(name, problem).with_help(help)
    }
}

/// The text that it was read from.
impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, host, path) = match self {
            Source::Registry { host, prefix } => ("registry", host, prefix.as_str()),
            Source::Harbor { host, project } => ("harbor", host, project.as_deref().unwrap_or("")),
            Source::Gitlab { host, path } => ("gitlab", host, path.as_deref().unwrap_or("")),
            Source::List(path) | Source::Directory(path) => {
                return path.display().fmt(formatter);
            }
            Source::Pods(file) => return write!(formatter, "pods:{}", file.display()),
            Source::Cluster(context) => {
                return write!(formatter, "cluster:{}", context.as_deref().unwrap_or(""));
            }
            Source::Engine(engine) => return formatter.write_str(engine),
        };
        let slash = if path.is_empty() { "" } else { "/" };
        write!(formatter, "{scheme}:{host}{slash}{path}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_cluster_has_a_name() {
        let message = |context: Option<&str>| {
            let source = Source::Cluster(context.map(str::to_owned));
            source.no_image().message()
        };
        let problem = "no Pod is running or waiting";
        assert_eq!(message(None), format!("the current cluster: {problem}"));
        assert_eq!(message(Some("prod")), format!("cluster:prod: {problem}"));
    }
}
