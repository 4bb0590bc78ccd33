//! Image references: registry, repository, tag and digest.
//!
//! The grammar is that of the distribution project, <https://github.com/distribution/reference> (`reference.go`,
//! `regexp.go`, `normalize.go`): a first component is a registry when it holds a dot or a port or is `localhost`,
//! and a colon after the last slash begins a tag, one before it a port.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// The registry and the namespace that an unqualified name stands for (`normalize.go`, `splitDockerDomain`).
const DEFAULT_REGISTRY: &str = "docker.io";
const DEFAULT_NAMESPACE: &str = "library";
/// Longest `registry/repository` (`reference.go`, `RepositoryNameTotalLengthMax` and `NameTotalLengthMax`).
const LONGEST_NAME: usize = 255;
/// Longest tag (`regexp.go`, `TagRegexp`).
const LONGEST_TAG: usize = 128;

/// An image name; nothing is filled in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name {
    /// Host and optional port: `nvcr.io`, `localhost:5000`.
    pub registry: Option<String>,
    /// Path components joined by `/`: `nvidia/cuda`. Never empty.
    pub repository: String,
    /// The tag: `12.4.1-devel-ubuntu22.04`.
    pub tag: Option<String>,
    /// The digest: `sha256:…`.
    pub digest: Option<String>,
}

impl Name {
    /// The path components of the repository.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.repository.split('/')
    }

    /// The last path component of the repository.
    pub fn last_component(&self) -> &str {
        self.components().next_back().unwrap_or_default()
    }

    /// The full name: `ubuntu` is `docker.io/library/ubuntu:latest`. Names that are equal in this form refer to the same image.
    /// With a digest, no default tag is added.
    pub fn canonical(&self) -> Name {
        let registry = match self.registry.as_deref() {
            None | Some("index.docker.io") => DEFAULT_REGISTRY,
            Some(registry) => registry,
        };
        let official = registry == DEFAULT_REGISTRY && !self.repository.contains('/');
        Name {
            registry: Some(registry.to_owned()),
            repository: if official {
                format!("{DEFAULT_NAMESPACE}/{}", self.repository)
            } else {
                self.repository.clone()
            },
            tag: match (&self.tag, &self.digest) {
                (None, None) => Some("latest".to_owned()),
                (tag, _) => tag.clone(),
            },
            digest: self.digest.clone(),
        }
    }

    /// Parses a name by its grammar only, so placeholders such as `python:X.Y` are accepted.
    ///
    /// # Errors
    /// [`Error::Usage`] with the invalid part.
    pub fn of_grammar(reference: &str) -> Result<Name> {
        let refuse = |problem: String, help: &str| refused(reference, problem, help);
        let (named, digest) = match reference.split_once('@') {
            None => (reference, None),
            Some((named, digest)) if is_digest(digest) => (named, Some(digest)),
            Some((_, digest)) => {
                return Err(refuse(
                    format!("`@{digest}` is not a digest"),
                    "a digest is written @sha256: followed by 64 hexadecimal digits",
                ));
            }
        };
        let (path, tag) = split_tag(named);
        if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
            return Err(refuse(
                format!("`{tag}` is not a tag"),
                "a tag has at most 128 letters, digits, `_`, `.` and `-`, and starts with a letter, digit or `_`",
            ));
        }
        let (registry, repository) = split_registry(path);
        if let Some(registry) = registry.filter(|registry| !is_registry(registry)) {
            return Err(refuse(
                format!("`{registry}` is not a registry"),
                "a registry is a host name with an optional port, such as registry.example:5000",
            ));
        }
        if let Some(component) = repository.split('/').find(|part| !is_component(part)) {
            return Err(refuse(
                format!("`{component}` is not a valid repository component"),
                "a repository has lowercase letters and digits, separated by `.`, `_`, `__` or dashes",
            ));
        }
        if path.len() > LONGEST_NAME {
            return Err(refuse(
                format!("the name has {} characters", path.len()),
                "registry and repository have at most 255 characters together",
            ));
        }
        Ok(Name {
            registry: registry.map(str::to_owned),
            repository: repository.to_owned(),
            tag: tag.map(str::to_owned),
            digest: digest.map(str::to_owned),
        })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(registry) = &self.registry {
            write!(f, "{registry}/")?;
        }
        f.write_str(&self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

impl FromStr for Name {
    type Err = Error;

    /// Parses a name. [`Error::Usage`] says which part is invalid: an unfilled placeholder, an uppercase repository, a second tag,
    /// an invalid digest.
    fn from_str(reference: &str) -> Result<Name> {
        match placeholder(reference) {
            Some(placeholder) => Err(refused(
                reference,
                format!("`{placeholder}` is a placeholder"),
                "replace it with a value",
            )),
            None => Name::of_grammar(reference),
        }
    }
}

fn refused(reference: &str, problem: String, help: &str) -> Error {
    Error::Usage {
        problem: format!("`{reference}` is not a valid image reference: {problem}"),
        help: Some(help.to_owned()),
    }
}

/// A colon after the last slash starts a tag; one before it belongs to a port.
fn split_tag(named: &str) -> (&str, Option<&str>) {
    let last = named.rfind('/').map_or(0, |slash| slash + 1);
    let (before, after) = named.split_at(last);
    match after.split_once(':') {
        None => (named, None),
        Some((component, tag)) => (&named[..before.len() + component.len()], Some(tag)),
    }
}

/// The first component is a registry if it cannot be a Docker Hub user.
fn split_registry(path: &str) -> (Option<&str>, &str) {
    match path.split_once('/') {
        Some((first, rest))
            if first.contains(['.', ':', '['])
                || first == "localhost"
                || first.contains(|letter: char| letter.is_ascii_uppercase()) =>
        {
            (Some(first), rest)
        }
        _ => (None, path),
    }
}

/// Whether the text is a tag: at most 128 letters, digits, `_`, `.` and `-`, not starting with the last two.
pub fn is_tag(tag: &str) -> bool {
    tag.len() <= LONGEST_TAG
        && tag.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
        && tag
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, encoded)) = digest.split_once(':') else {
        return false;
    };
    let lowercase_hex = encoded
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let length = match algorithm {
        "sha256" => encoded.len() == 64,
        "sha384" => encoded.len() == 96,
        "sha512" => encoded.len() == 128,
        _ => encoded.len() >= 32,
    };
    lowercase_hex && length && algorithm.split(['-', '_', '+', '.']).all(is_algorithm_part)
}

fn is_algorithm_part(part: &str) -> bool {
    part.starts_with(|first: char| first.is_ascii_alphabetic())
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn is_registry(registry: &str) -> bool {
    let (host, port) = match registry.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (registry, None),
    };
    let port_ok = port.is_none_or(|port| {
        !port.is_empty() && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    let ipv6 = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok());
    port_ok && (ipv6 || host.split('.').all(is_host_label))
}

fn is_host_label(label: &str) -> bool {
    !label.is_empty()
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// `regexp.go`, `pathComponent`: runs of letters and digits with `.`, `_`, `__` or dashes between them.
fn is_component(component: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = component.as_bytes();
    let ends = bytes.first().zip(bytes.last());
    ends.is_some_and(|(&first, &last)| alphanumeric(first) && alphanumeric(last))
        && component
            .split(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit())
            .all(|between| {
                matches!(between, "" | "." | "_" | "__") || between.bytes().all(|byte| byte == b'-')
            })
}

/// The first placeholder, as in documentation and templates: `${X}`, `$X`, `{x}`, `<x>`, `X.Y`, `YY.MM`.
fn placeholder(reference: &str) -> Option<&str> {
    if let Some(start) = reference.find(['$', '{', '<']) {
        let end = reference[start..]
            .find(['}', '>'])
            .map_or(reference.len(), |length| start + length + 1);
        return Some(&reference[start..end]);
    }
    let tag = split_tag(reference.split('@').next().unwrap_or_default()).1?;
    tag.split(['-', '_']).find(|part| is_unfilled_version(part))
}

/// Whether part of a tag is a version placeholder: `X.Y.Z`, `YY.MM`, `vX.Y`, `12.X`.
fn is_unfilled_version(part: &str) -> bool {
    let unfilled = |piece: &str| {
        let bytes = piece.as_bytes();
        !bytes.is_empty()
            && bytes.len() <= 4
            && bytes.iter().all(|byte| Some(byte) == bytes.first())
            && b"xyzmndXYZMND".contains(&bytes[0])
    };
    let pieces = || part.trim_start_matches(['v', 'V', 'r']).split('.');
    let count = pieces().filter(|piece| unfilled(piece)).count();
    let shouted =
        pieces().any(|piece| piece.contains("YYYY")) || pieces().skip(1).any(|piece| piece == "X");
    count >= 2 || shouted
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    const DIGEST: &str = "sha256:6cf9808ca8810fc6c3fd0451c2e7784fb224590d81f7db338e7eaf3c02a33d33";

    fn parts(reference: &str) -> (Option<String>, String, Option<String>, Option<String>) {
        let name: Name = reference.parse().unwrap();
        (name.registry, name.repository, name.tag, name.digest)
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn a_port_is_not_a_tag() {
        assert_eq!(
            parts("localhost:5000/alpine"),
            (some("localhost:5000"), "alpine".to_owned(), None, None)
        );
        assert_eq!(
            parts("192.168.193.253:5000/pytorch:2.1"),
            (
                some("192.168.193.253:5000"),
                "pytorch".to_owned(),
                some("2.1"),
                None
            )
        );
        assert_eq!(
            parts("pytorch:5000"),
            (None, "pytorch".to_owned(), some("5000"), None)
        );
        assert_eq!(
            parts("[::1]:5000/a/b"),
            (some("[::1]:5000"), "a/b".to_owned(), None, None)
        );
    }

    #[test]
    fn tag_and_digest_may_stand_together() {
        assert_eq!(
            parts(&format!("docker.io/vllm/vllm-openai:v0.10.2@{DIGEST}")),
            (
                some("docker.io"),
                "vllm/vllm-openai".to_owned(),
                some("v0.10.2"),
                some(DIGEST)
            )
        );
        assert_eq!(
            parts(&format!("nvidia/cuda@{DIGEST}")),
            (None, "nvidia/cuda".to_owned(), None, some(DIGEST))
        );
    }

    #[test]
    fn a_docker_hub_user_is_not_a_registry() {
        assert_eq!(parts("pytorch/pytorch").0, None);
        assert_eq!(parts("ghcr.io/a__b/c-d--e.f").1, "a__b/c-d--e.f");
    }

    #[test]
    fn an_invalid_reference_is_rejected_with_a_reason() {
        for (reference, reason) in [
            ("", "not a valid repository component"),
            ("PyTorch/PyTorch:2.1.0", "`PyTorch` is not a valid"),
            (
                "AzureML-acpt-pytorch-2.8:1",
                "not a valid repository component",
            ),
            ("acme/api:2.9:3", "`2.9:3` is not a tag"),
            ("python:3.9@x86_64", "`@x86_64` is not a digest"),
            ("a/b@sha256:12", "not a digest"),
            ("a//b", "not a valid repository component"),
            ("docker://a/b", "not a registry"),
            ("a/b:", "`` is not a tag"),
            ("a b", "not a valid repository component"),
            ("host:port/a", "`host:port` is not a registry"),
            (
                "nvidia/cuda:${CUDA_VERSION}-base",
                "`${CUDA_VERSION}` is a placeholder",
            ),
            ("nvidia/cuda:$CUDA", "`$CUDA` is a placeholder"),
            (
                "mcr.microsoft.com/azureml/<image>:<tag>",
                "`<image>` is a placeholder",
            ),
            ("a/{name}:1", "`{name}` is a placeholder"),
            (
                "nvcr.io/nvidia/jax:YY.MM-maxtext-py3",
                "`YY.MM` is a placeholder",
            ),
            (
                "nvcr.io/nvidia/pytorch:xx.xx-py3",
                "`xx.xx` is a placeholder",
            ),
            ("rayproject/ray:X.Y.Z-py310", "`X.Y.Z` is a placeholder"),
            ("nvidia/cuda:12.X-base", "`12.X` is a placeholder"),
        ] {
            let error = reference.parse::<Name>().unwrap_err().to_string();
            assert!(error.contains(reason), "{reference}: {error}");
            assert!(error.contains("help: "), "{reference}: {error}");
        }
    }

    #[test]
    fn words_that_look_like_placeholders_are_kept() {
        for reference in [
            "amazon/aws-xray-daemon:3.x",
            "a/xx:x86_64",
            "a/b:m.2",
            "a/b:dd",
        ] {
            assert!(reference.parse::<Name>().is_ok(), "{reference}");
        }
    }

    #[test]
    fn the_canonical_form_has_the_defaults_of_docker() {
        let canonical = |text: &str| text.parse::<Name>().unwrap().canonical().to_string();
        assert_eq!(canonical("ubuntu"), "docker.io/library/ubuntu:latest");
        assert_eq!(
            canonical("index.docker.io/ubuntu:22.04"),
            "docker.io/library/ubuntu:22.04"
        );
        assert_eq!(
            canonical("pytorch/pytorch:2.8.0"),
            "docker.io/pytorch/pytorch:2.8.0"
        );
        assert_eq!(canonical("localhost:5000/a"), "localhost:5000/a:latest");
        assert_eq!(
            canonical(&format!("a/b@{DIGEST}")),
            format!("docker.io/a/b@{DIGEST}")
        );
    }

    proptest! {
        #[test]
        fn any_text_is_accepted_or_rejected(text in "\\PC{0,80}") {
            if let Ok(name) = text.parse::<Name>() {
                prop_assert_eq!(name.to_string(), text);
            }
        }

        #[test]
        fn a_written_name_is_parsed_back(
            registry in proptest::option::of("[a-z][a-z0-9]{0,8}\\.[a-z]{2,3}(:[0-9]{1,5})?"),
            repository in "[a-z0-9]{1,6}([._-][a-z0-9]{1,6}){0,2}(/[a-z0-9]{1,8}){0,2}",
            tag in proptest::option::of("[0-9a-w_][0-9a-w._-]{0,30}"),
            digested in any::<bool>(),
        ) {
            let first = repository.split('/').next().unwrap_or_default();
            prop_assume!(registry.is_some() || !repository.contains('/') || !first.contains('.') && first != "localhost");
            prop_assume!(tag.as_deref().is_none_or(|tag| placeholder(&format!("a:{tag}")).is_none()));
            let name = Name { registry, repository, tag, digest: digested.then(|| DIGEST.to_owned()) };
            prop_assert_eq!(name.to_string().parse::<Name>().unwrap(), name.clone());
            prop_assert_eq!(name.canonical().canonical(), name.canonical());
        }
    }
}
