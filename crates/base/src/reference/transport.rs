//! Transports: where an image is stored.
//!
//! Accepts the spellings of skopeo (`docker-archive:`, `oci:`, `oci-archive:`, `docker://`, `docker-daemon:`,
//! `containers-storage:`) and of syft (`docker:`, `oci-dir:`, `registry:`, `podman:`).

use std::fmt;
use std::path::{Path, PathBuf};

/// Where an image is stored, as typed on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageReference {
    /// A path without a transport; its format is detected. `-` is standard input, here and for archives.
    Path(PathBuf),
    /// `docker-archive:PATH[:REFERENCE]`: a `docker save` archive, and which of its images.
    DockerArchive(PathBuf, Option<String>),
    /// `oci:PATH[:REFERENCE]` or `oci-dir:`: an OCI image layout directory, and which of its images.
    Oci(PathBuf, Option<String>),
    /// `oci-archive:PATH[:REFERENCE]`: an OCI image layout in a tar archive, and which of its images.
    OciArchive(PathBuf, Option<String>),
    /// `dir:PATH`: a root directory.
    Dir(PathBuf),
    /// An image reference without a transport.
    Reference(String),
    /// An image in a daemon, registry or local store.
    Remote(Remote, String),
}

/// A daemon, registry or local store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remote {
    /// The Docker daemon: `docker-daemon:` or `docker:`.
    Docker,
    /// Podman's store: `podman:` or `containers-storage:`.
    Podman,
    /// containerd: `containerd:`.
    Containerd,
    /// A registry: `docker://` or `registry:`.
    Registry,
}

impl ImageReference {
    /// The file or directory, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            ImageReference::Path(path)
            | ImageReference::DockerArchive(path, _)
            | ImageReference::Oci(path, _)
            | ImageReference::OciArchive(path, _)
            | ImageReference::Dir(path) => Some(path),
            ImageReference::Reference(_) | ImageReference::Remote(..) => None,
        }
    }

    /// The reference that was typed, else the path: never a name that an image records of itself.
    pub fn typed(&self) -> String {
        match self {
            ImageReference::Reference(reference)
            | ImageReference::Remote(_, reference)
            | ImageReference::DockerArchive(_, Some(reference))
            | ImageReference::Oci(_, Some(reference))
            | ImageReference::OciArchive(_, Some(reference)) => reference.clone(),
            ImageReference::Path(path)
            | ImageReference::DockerArchive(path, None)
            | ImageReference::Oci(path, None)
            | ImageReference::OciArchive(path, None)
            | ImageReference::Dir(path) => path.display().to_string(),
        }
    }

    /// Parses an argument: `-`, an existing path, a transport, text that looks like a path (`/…`, `./…`, `….tar`, `….sif`), or a
    /// reference, in this order.
    pub fn parse(text: &str) -> ImageReference {
        if text == "-" || exists(text) {
            return ImageReference::Path(text.into());
        }
        if let Some(target) = with_transport(text) {
            return target;
        }
        if text.starts_with(['/', '.']) || is_image_file(text) || has_drive(text) {
            return ImageReference::Path(text.into());
        }
        ImageReference::Reference(text.to_owned())
    }
}

/// Ends of the names of files with images.
const IMAGE_FILES: [&str; 7] = [
    ".tar",
    ".tar.gz",
    ".tgz",
    ".tar.zst",
    ".sif",
    ".sqsh",
    ".squashfs",
];

/// Whether text starts as a path of Windows: `C:\`, `C:/` or `\\`. A repository has neither a backslash nor a tag that starts with a slash.
fn has_drive(text: &str) -> bool {
    text.starts_with('\\') || drive(text) > 0
}

/// Length of the drive in front of a path of Windows: 2 or 0.
fn drive(text: &str) -> usize {
    match text.as_bytes() {
        [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic() => 2,
        _ => 0,
    }
}

fn is_image_file(text: &str) -> bool {
    IMAGE_FILES.iter().any(|end| text.ends_with(end))
}

/// Displays the reference so that it can be parsed again, with skopeo's transports.
impl fmt::Display for ImageReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (transport, path, reference) = match self {
            ImageReference::Path(path) => return path.display().fmt(formatter),
            ImageReference::Reference(reference) => return formatter.write_str(reference),
            ImageReference::Remote(remote, reference) => {
                let transport = match remote {
                    Remote::Docker => "docker-daemon:",
                    Remote::Podman => "containers-storage:",
                    Remote::Containerd => "containerd:",
                    Remote::Registry => "docker://",
                };
                return write!(formatter, "{transport}{reference}");
            }
            ImageReference::DockerArchive(path, reference) => {
                ("docker-archive", path, reference.as_ref())
            }
            ImageReference::Oci(path, reference) => ("oci", path, reference.as_ref()),
            ImageReference::OciArchive(path, reference) => {
                ("oci-archive", path, reference.as_ref())
            }
            ImageReference::Dir(path) => ("dir", path, None),
        };
        write!(formatter, "{transport}:{}", path.display())?;
        reference.map_or(Ok(()), |reference| write!(formatter, ":{reference}"))
    }
}

fn with_transport(text: &str) -> Option<ImageReference> {
    if let Some(reference) = text.strip_prefix("docker://") {
        return Some(ImageReference::Remote(
            Remote::Registry,
            reference.to_owned(),
        ));
    }
    let (transport, rest) = text.split_once(':')?;
    let remote = |holder| Some(ImageReference::Remote(holder, rest.to_owned()));
    match transport {
        "docker-archive" => Some(path_and_reference(rest, ImageReference::DockerArchive)),
        "oci" | "oci-dir" => Some(path_and_reference(rest, ImageReference::Oci)),
        "oci-archive" => Some(path_and_reference(rest, ImageReference::OciArchive)),
        "dir" => Some(ImageReference::Dir(rest.into())),
        "docker-daemon" | "docker" => remote(Remote::Docker),
        "podman" | "containers-storage" => remote(Remote::Podman),
        "containerd" => remote(Remote::Containerd),
        "registry" => remote(Remote::Registry),
        _ => None,
    }
}

/// Splits `PATH[:REFERENCE]`. Both may contain colons: the path is the longest prefix that exists, or else ends at the first
/// colon, as in skopeo.
fn path_and_reference(
    text: &str,
    target: fn(PathBuf, Option<String>) -> ImageReference,
) -> ImageReference {
    let colons = text.rmatch_indices(':').map(|(at, _)| at);
    let end = std::iter::once(text.len())
        .chain(colons)
        .find(|&end| exists(&text[..end]))
        .unwrap_or_else(|| {
            let path = drive(text);
            text[path..].find(':').map_or(text.len(), |at| path + at)
        });
    let reference = text
        .get(end + 1..)
        .filter(|reference| !reference.is_empty());
    target(text[..end].into(), reference.map(str::to_owned))
}

fn exists(path: &str) -> bool {
    !path.is_empty() && Path::new(path).symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn both_families_of_spellings_are_accepted() {
        let some = |text: &str| Some(text.to_owned());
        for (text, target) in [
            (
                "docker-archive:a.tar",
                ImageReference::DockerArchive("a.tar".into(), None),
            ),
            (
                "docker-archive:a.tar:x/y:1",
                ImageReference::DockerArchive("a.tar".into(), some("x/y:1")),
            ),
            (
                "oci:dir:latest",
                ImageReference::Oci("dir".into(), some("latest")),
            ),
            ("oci-dir:dir", ImageReference::Oci("dir".into(), None)),
            (
                "oci-archive:a.tar:",
                ImageReference::OciArchive("a.tar".into(), None),
            ),
            (
                "dir:/no/such:dir",
                ImageReference::Dir("/no/such:dir".into()),
            ),
            (
                "docker-daemon:x:1",
                ImageReference::Remote(Remote::Docker, "x:1".into()),
            ),
            (
                "docker:x:1",
                ImageReference::Remote(Remote::Docker, "x:1".into()),
            ),
            (
                "docker://h/x:1",
                ImageReference::Remote(Remote::Registry, "h/x:1".into()),
            ),
            (
                "registry:h/x:1",
                ImageReference::Remote(Remote::Registry, "h/x:1".into()),
            ),
            (
                "podman:x",
                ImageReference::Remote(Remote::Podman, "x".into()),
            ),
            (
                "containers-storage:x",
                ImageReference::Remote(Remote::Podman, "x".into()),
            ),
            (
                "containerd:x",
                ImageReference::Remote(Remote::Containerd, "x".into()),
            ),
            (
                "pytorch/pytorch:2.8.0",
                ImageReference::Reference("pytorch/pytorch:2.8.0".into()),
            ),
            (
                "localhost:5000/x:1",
                ImageReference::Reference("localhost:5000/x:1".into()),
            ),
            ("-", ImageReference::Path("-".into())),
            (
                "docker-archive:-:x/y:1",
                ImageReference::DockerArchive("-".into(), some("x/y:1")),
            ),
            (
                "./no-such.tar",
                ImageReference::Path("./no-such.tar".into()),
            ),
            ("/no/such", ImageReference::Path("/no/such".into())),
            (
                r"C:\no\such.tar",
                ImageReference::Path(r"C:\no\such.tar".into()),
            ),
            ("d:/no/such", ImageReference::Path("d:/no/such".into())),
            (
                r"\\server\share\layout",
                ImageReference::Path(r"\\server\share\layout".into()),
            ),
            (
                r"oci:C:\no\such:latest",
                ImageReference::Oci(r"C:\no\such".into(), some("latest")),
            ),
            (
                r"docker-archive:C:\a.tar",
                ImageReference::DockerArchive(r"C:\a.tar".into(), None),
            ),
        ] {
            assert_eq!(ImageReference::parse(text), target, "{text}");
            assert_eq!(
                ImageReference::parse(&target.to_string()),
                target,
                "{target}"
            );
        }
    }

    #[test]
    fn a_path_may_contain_colons() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a:b.tar");
        std::fs::write(&path, "").unwrap();
        let text = path.to_str().unwrap();
        assert_eq!(
            ImageReference::parse(text),
            ImageReference::Path(path.clone())
        );
        assert_eq!(
            ImageReference::parse(&format!("docker-archive:{text}")),
            ImageReference::DockerArchive(path.clone(), None)
        );
        assert_eq!(
            ImageReference::parse(&format!("docker-archive:{text}:x/y:1")),
            ImageReference::DockerArchive(path, Some("x/y:1".into()))
        );
    }
}
