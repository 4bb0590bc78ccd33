//! Where the references of a sweep come from.

use std::collections::HashSet;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::listed::Listed;
use super::pods;
use crate::plan::{REGISTRY, Unlisted};
use crate::ticker::Ticker;
use imgcheck_base::error::{Error, ErrorCode, Result};
use imgcheck_base::limits::{Limit, Limits};
use imgcheck_base::parallel;
use imgcheck_checker::{Checker, ImageRequest};
use imgcheck_cluster::{self as cluster, Connection};
use imgcheck_source::source::registry::TagListing;

/// Repositories whose tags are listed at once.
const LISTINGS: usize = 8;

/// Where references come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// `registry:HOST[/PREFIX]`: all tags of all repositories.
    Registry { host: String, prefix: String },
    /// `harbor:HOST[/PROJECT]`: all tags of a Harbor, by its API.
    Harbor {
        host: String,
        project: Option<String>,
    },
    /// `gitlab:HOST[/PATH]`: all tags of a GitLab, or of a group or project of it, by its API.
    Gitlab { host: String, path: Option<String> },
    /// A file with an image in each line; `-` is standard input.
    List(PathBuf),
    /// `pods:FILE`: the output of `kubectl get pods -A -o json`.
    Pods(PathBuf),
    /// `cluster:[CONTEXT]`: the Pods that run now.
    Cluster(Option<String>),
    /// All images of a container engine.
    Engine(&'static str),
    /// A directory with archives and OCI layouts.
    Directory(PathBuf),
}

/// What sources list.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub listed: Vec<Listed>,
    pub unlisted: Vec<Unlisted>,
}

impl FromStr for Source {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(place) = text.strip_prefix("registry:") {
            let (host, prefix) = host_and_prefix(place)?;
            return Ok(Source::Registry { host, prefix });
        }
        if let Some(place) = text.strip_prefix("harbor:") {
            let (host, project) = host_and_prefix(place)?;
            let project = Some(project).filter(|it| !it.is_empty());
            return Ok(Source::Harbor { host, project });
        }
        if let Some(place) = text.strip_prefix("gitlab:") {
            let (host, path) = host_and_prefix(place)?;
            let path = Some(path).filter(|it| !it.is_empty());
            return Ok(Source::Gitlab { host, path });
        }
        if let Some(engine) = ENGINES.into_iter().find(|engine| *engine == text) {
            return Ok(Source::Engine(engine));
        }
        if let Some(file) = text.strip_prefix("pods:") {
            return Ok(Source::Pods(file.into()));
        }
        if let Some(context) = text.strip_prefix("cluster:") {
            let context = Some(context.to_owned()).filter(|it| !it.is_empty());
            return Ok(Source::Cluster(context));
        }
        let path = Path::new(text);
        if path.is_dir() {
            return Ok(Source::Directory(path.into()));
        }
        if text == "-" || path.exists() {
            return Ok(Source::List(path.into()));
        }
        Err(Error::usage(format!("`{text}` is no file and no other source of images")).with_help(
            "write registry:HOST[/PREFIX], harbor:HOST[/PROJECT], gitlab:HOST[/GROUP[/PROJECT]], cluster:[CONTEXT], pods:FILE, docker-daemon:, podman:, a file with an image in each line, or a directory of archives",
        ))
    }
}

impl Source {
    /// Adds what the source lists. The listing names what could not be listed to the end.
    ///
    /// # Errors
    /// The source lists no image, a file cannot be read or is wrong, a cluster does not answer, or the run was cancelled.
    pub fn list(
        &self,
        checker: &Checker,
        make: &dyn Fn(&str) -> ImageRequest,
        into: &mut Listing,
    ) -> Result<()> {
        let before = into.listed.len() + into.unlisted.len();
        self.list_images(checker, make, into)?;
        match into.listed.len() + into.unlisted.len() == before {
            true => Err(self.no_image()),
            false => Ok(()),
        }
    }

    fn list_images(
        &self,
        checker: &Checker,
        make: &dyn Fn(&str) -> ImageRequest,
        into: &mut Listing,
    ) -> Result<()> {
        match self {
            Source::Registry { host, prefix } => list_registry(checker, make, host, prefix, into),
            Source::Harbor { host, project } => {
                let request = make("");
                let listing = checker.harbor(host, project.as_deref(), &request);
                into.add("harbor", listing);
                request.own_cancellation().check()
            }
            Source::Gitlab { host, path } => {
                let request = make("");
                let listing = checker.gitlab(host, path.as_deref(), &request);
                into.add("gitlab", listing);
                request.own_cancellation().check()
            }
            Source::List(file) => {
                let text = text_of(file, checker.limits())?;
                let name = file.display().to_string();
                for (line, number) in text.lines().zip(1..) {
                    into.listed.extend(listed_line(&name, number, line)?);
                }
                Ok(())
            }
            Source::Pods(file) => {
                let text = text_of(file, checker.limits())?;
                into.listed
                    .extend(pods::images(&file.display().to_string(), &text)?);
                Ok(())
            }
            Source::Cluster(context) => {
                let context = context.clone();
                let connection = Connection::Kubeconfig {
                    file: None,
                    context,
                };
                let end = make("").own_cancellation();
                let pods = cluster::pods(&connection, &end)?;
                into.listed.extend(pods::images("the cluster", &pods)?);
                Ok(())
            }
            Source::Engine(engine) => {
                let names = checker.engine_images(&make(engine))?;
                into.listed.extend(names.into_iter().map(|name| Listed {
                    source: format!("{engine}{name}"),
                    reference: Some(name),
                    pods: None,
                    is_enumerated: true,
                    pulls: None,
                }));
                Ok(())
            }
            Source::Directory(directory) => list_directory(directory, into),
        }
    }

    /// Whether it is a file with an image in each line.
    pub fn is_list(&self) -> bool {
        matches!(self, Source::List(_))
    }
}

impl Listing {
    /// Adds what the API of a server listed.
    fn add(&mut self, api: &str, listing: TagListing) {
        let errors = listing.errors.into_iter();
        self.unlisted
            .extend(errors.map(|(what, error)| Unlisted::of(format!("{api}:{what}"), &error)));
        let tags = listing.tags.into_iter();
        self.listed.extend(tags.map(|it| {
            let reference = format!("{}:{}", it.repository, it.tag);
            Listed {
                source: match it.digest {
                    Some(digest) => format!("{REGISTRY}{}@{digest}", it.repository),
                    None => format!("{REGISTRY}{reference}"),
                },
                reference: Some(reference),
                pods: None,
                is_enumerated: true,
                pulls: it.pulls,
            }
        }));
    }
}

/// The host of a registry, and what follows.
fn host_and_prefix(place: &str) -> Result<(String, String)> {
    let place = place.trim_start_matches("//").trim_end_matches('/');
    let (host, prefix) = place.split_once('/').unwrap_or((place, ""));
    let is_host = host.contains(['.', ':']) || host == "localhost";
    if !is_host {
        let problem = format!("`{host}` is not the host of a registry");
        return Err(Error::usage(problem)
            .with_help("write registry:HOST[/PREFIX], such as registry:nvcr.io/nvidia"));
    }
    Ok((host.to_owned(), prefix.to_owned()))
}

/// All tags of all repositories below a prefix.
fn list_registry(
    checker: &Checker,
    make: &dyn Fn(&str) -> ImageRequest,
    host: &str,
    prefix: &str,
    into: &mut Listing,
) -> Result<()> {
    let request = make("");
    let end = request.own_cancellation();
    let mut incomplete = |source: String, error: Error| {
        into.unlisted.push(Unlisted::of(source, &error));
    };
    let catalog = checker.repositories(host, &request);
    end.check()?;
    if let Some(error) = catalog.error {
        incomplete(format!("registry:{host}"), error);
    }
    let is_below = |name: &String| {
        prefix.is_empty()
            || name == prefix
            || name
                .strip_prefix(prefix)
                .is_some_and(|it| it.starts_with('/'))
    };
    let repositories: Vec<String> = catalog.names.into_iter().filter(is_below).collect();
    let progress = request.own_progress();
    let ticker = Ticker::new(&*progress, "repositories listed", repositories.len());
    let requests: Vec<ImageRequest> = repositories.iter().map(|_| make("")).collect();
    let tags = parallel::map(LISTINGS, repositories.len(), |at| {
        end.check()?;
        let name = format!("{host}/{}", repositories[at]);
        let listing = checker.tags(&name, &requests[at]);
        ticker.tick();
        Ok::<_, Error>((name, listing))
    })?;
    end.check()?;
    for (name, listing) in tags {
        match listing.error {
            // A repository without tags: a catalog keeps it after its last tag was deleted, or before the first was pushed.
            Some(error) if error.code() == ErrorCode::NotFound => {}
            Some(error) => incomplete(format!("registry:{name}"), error),
            None => {}
        }
        into.listed.extend(listing.names.into_iter().map(|tag| {
            let reference = format!("{name}:{tag}");
            Listed {
                source: format!("{REGISTRY}{reference}"),
                reference: Some(reference),
                pods: None,
                is_enumerated: true,
                pulls: None,
            }
        }));
    }
    Ok(())
}

/// An image, and perhaps the reference to compare it with. Nothing for an empty line or a comment.
fn listed_line(file: &str, number: usize, line: &str) -> Result<Option<Listed>> {
    let line = line.split_once(" #").map_or(line, |(line, _)| line).trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (source, reference, rest) = (words.next(), words.next(), words.next());
    match (source, rest) {
        // Standard input is no image in a list, but the start of an item of YAML.
        (Some("-"), _) => Err(
            Error::usage(format!("{file}, line {number}: `-` is not an image"))
                .with_help(LIST_HELP),
        ),
        (Some(source), None) => Ok(Some(Listed {
            reference: reference.map(str::to_owned),
            source: source.to_owned(),
            pods: None,
            is_enumerated: false,
            pulls: None,
        })),
        _ => {
            Err(Error::usage(format!("{file}, line {number}: too many words")).with_help(LIST_HELP))
        }
    }
}

/// Archives and OCI layouts directly in a directory.
fn list_directory(directory: &Path, into: &mut Listing) -> Result<()> {
    let name = directory.display().to_string();
    let failed = |error| Error::io(&name, error);
    let mut paths = Vec::new();
    // A worker may start elsewhere.
    let directory = fs::canonicalize(directory).map_err(failed)?;
    for entry in fs::read_dir(&directory).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    let is_image = |path: &PathBuf| match path.is_dir() {
        true => path.join("oci-layout").exists(),
        false => path
            .extension()
            .is_some_and(|it| ARCHIVES.iter().any(|known| it == *known)),
    };
    let images: HashSet<PathBuf> = paths.iter().filter(|it| is_image(it)).cloned().collect();
    if images.is_empty() {
        let problem = format!("{name} contains no archive (*.tar) and no OCI layout");
        return Err(Error::usage(problem));
    }
    let images = paths.into_iter().filter(|it| images.contains(it));
    into.listed.extend(images.map(|path| Listed {
        reference: None,
        source: path.display().to_string(),
        pods: None,
        is_enumerated: false,
        pulls: None,
    }));
    Ok(())
}

/// What a file must contain.
pub(crate) const LIST_HELP: &str = "write one image per line, such as registry.example/team/train:v1, optionally followed by the reference to compare it with";

/// Container engines, as `imgcheck check` spells them.
const ENGINES: [&str; 2] = ["docker-daemon:", "podman:"];

/// What the name of an archive ends in.
const ARCHIVES: [&str; 5] = ["tar", "gz", "tgz", "zst", "sif"];

fn text_of(file: &Path, limits: &Limits) -> Result<String> {
    let name = file.display().to_string();
    let most = limits.of(Limit::FactsBytes);
    let read = |reader: &mut dyn Read| -> std::io::Result<String> {
        let mut text = String::new();
        reader.take(most).read_to_string(&mut text)?;
        Ok(text)
    };
    let text = match name.as_str() {
        "-" => read(&mut std::io::stdin().lock()),
        _ => fs::File::open(file).and_then(|mut file| read(&mut file)),
    };
    text.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::usage(format!("SOURCE {name}: the file does not exist")),
        _ => Error::io(name, error),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sources_are_told_apart() {
        let registry: Source = "registry:nvcr.io/nvidia/".parse().unwrap();
        assert_eq!(
            registry,
            Source::Registry {
                host: "nvcr.io".to_owned(),
                prefix: "nvidia".to_owned()
            }
        );
        assert_eq!("cluster:".parse::<Source>().unwrap(), Source::Cluster(None));
        let docker = Source::Engine("docker-daemon:");
        assert_eq!("docker-daemon:".parse::<Source>().unwrap(), docker);
        assert!("registry:nvidia".parse::<Source>().is_err());
        assert!("no-such-file.txt".parse::<Source>().is_err());
    }

    #[test]
    fn a_line_is_an_image_and_perhaps_a_reference() {
        let read = |line: &str| listed_line("list", 1, line);
        let listed = read("oci:build/image pytorch:2.8.0 # ours")
            .unwrap()
            .unwrap();
        assert_eq!(listed.source, "oci:build/image");
        assert_eq!(listed.reference.as_deref(), Some("pytorch:2.8.0"));
        assert_eq!(read("# all").unwrap(), None);
        assert_eq!(read("").unwrap(), None);
        assert!(read("a b c").is_err());
    }
}
