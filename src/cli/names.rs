//! Names of images, commands and options as users type them: distinguishes typing errors, and the words of other tools, from references,
//! so that no registry is contacted for them.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use clap::ValueEnum;
use clap::error::{ContextKind, ContextValue, ErrorKind as Misuse};

use imgcheck::{Error, ImageRequest, Result};
use imgcheck_base::spelling::nearest;

use super::formats::CheckFormat;

/// Transports that a misspelled one may mean. Shorter ones are near to too many words.
const TRANSPORTS: [&str; 9] = [
    "containerd",
    "containers-storage",
    "docker",
    "docker-archive",
    "docker-daemon",
    "oci-archive",
    "oci-dir",
    "podman",
    "registry",
];

/// The words that other tools for images put before a name, and what they are here.
const OF_OTHER_TOOLS: [(&str, &str); 10] = [
    ("analyze", "imgcheck IMAGE"),
    ("config", "imgcheck lint PATH"),
    ("filesystem", "imgcheck dir:DIRECTORY"),
    ("fs", "imgcheck dir:DIRECTORY"),
    ("image", "imgcheck IMAGE"),
    ("inspect", "imgcheck facts IMAGE"),
    ("rootfs", "imgcheck dir:DIRECTORY"),
    ("sbom", "imgcheck IMAGE -f cyclonedx"),
    ("scan", "imgcheck IMAGE"),
    ("test", "imgcheck IMAGE"),
];

/// The error of a command of another tool: `imgcheck scan train:v3`.
pub fn of_other_tool(images: &[String]) -> Option<Error> {
    let (word, rest) = images.split_first()?;
    let (_, here) = OF_OTHER_TOOLS.iter().find(|(known, _)| known == word)?;
    if Path::new(word).exists() {
        return None;
    }
    let here = match rest {
        [name] => here
            .replace("IMAGE", name)
            .replace("DIRECTORY", name)
            .replace("PATH", name),
        _ => (*here).to_owned(),
    };
    let help = format!("use: {here}; for an image of that name write `{word}:latest`");
    Some(Error::usage(format!("imgcheck has no command `{word}`")).with_help(help))
}

/// An error about `--json`, or about `--gpu` of a command that judges no image, with what there is instead.
pub fn with_what_there_is(mut error: clap::Error) -> clap::Error {
    let option = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (Misuse::UnknownArgument, Some(ContextValue::String(option))) => option,
        _ => return error,
    };
    let name = option.strip_prefix("--").unwrap_or_default().to_owned();
    let tip = match name.as_str() {
        "gpu" | "driver" => format!(
            "to judge an image on a GPU or driver: `imgcheck IMAGE --{name} …`; on the nodes of a manifest: `imgcheck preflight FILE`"
        ),
        format if CheckFormat::from_str(format, false).is_ok() => format!("write `-f {format}`"),
        _ => return error,
    };
    let tip = vec![tip.into()];
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tip));
    error
}

/// The question about each name as of [`question_about`]. A missing file among others becomes an error when it is read.
///
/// # Errors
/// All names are those of files that do not exist.
pub fn questions_about(images: &[String], commands: &[&str]) -> Result<Vec<Option<String>>> {
    let words = images.iter().map(|image| question_about(image, commands));
    let words: Vec<_> = words.collect();
    if words.iter().all(Result::is_err) {
        return words.into_iter().collect();
    }
    Ok(words.into_iter().map(Result::unwrap_or_default).collect())
}

/// What may be meant, if a name is no image of a container engine: `did you mean image.tar?`, or nothing known. `None` for what is
/// certainly a reference.
///
/// # Errors
/// The name is that of a file that does not exist.
fn question_about(image: &str, commands: &[&str]) -> Result<Option<String>> {
    let request = ImageRequest::new(image);
    if let Some(path) = request.path() {
        return match is_missing(path) {
            true => Err(no_such_file(image, path)),
            false => Ok(None),
        };
    }
    if !is_word(image) {
        return Ok(None);
    }
    let command = near(image, commands.iter().copied());
    let command = command.map(|name| format!("the command `{name}`"));
    let question = question([command, near_file(Path::new(image)), near_transport(image)]);
    Ok(Some(question.unwrap_or_default()))
}

fn question(suggestions: [Option<String>; 3]) -> Option<String> {
    let meant: Vec<String> = suggestions.into_iter().flatten().collect();
    (!meant.is_empty()).then(|| format!("did you mean {}?", meant.join(" or ")))
}

fn near_transport(image: &str) -> Option<String> {
    let (transport, rest) = image.split_once(':')?;
    near(transport, TRANSPORTS).map(|transport| format!("{transport}:{rest}"))
}

/// Whether a reference without a transport is more probably a misspelled command, file or transport: `chek`, `build/imgae`,
/// `docker-archve:image.tar`.
fn is_word(image: &str) -> bool {
    match (image.split_once('/'), image.split_once(':')) {
        (None, None) => !image.contains('@'),
        (Some((first, _)), None) => !image.contains('@') && Path::new(first).is_dir(),
        (_, Some(_)) => near_transport(image).is_some(),
    }
}

fn is_missing(path: &Path) -> bool {
    let kind = path.symlink_metadata().map_err(|error| error.kind());
    path != Path::new("-")
        && matches!(
            kind,
            Err(ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename)
        )
}

fn no_such_file(image: &str, path: &Path) -> Error {
    let is_plain = !image.contains('/') && path.as_os_str() == image;
    let help = match question([None, near_file(path), near_transport(image)]) {
        Some(question) => question,
        None if is_archive_name(path) => {
            "give an archive that exists (`docker save IMAGE -o FILE` writes one), or the image itself: imgcheck IMAGE".to_owned()
        }
        None if is_plain => format!("docker://{image} forces a registry, docker-daemon:{image} the local Docker"),
        None => "a name that begins with `/` or `.` is a path; docker://REFERENCE is an image of a registry".to_owned(),
    };
    Error::usage(format!("`{}`: no such file or directory", path.display())).with_help(help)
}

fn is_archive_name(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let mut endings = [".tar", ".tar.gz", ".tgz", ".tar.zst", ".sqsh", ".sif"].iter();
    endings.any(|it| name.ends_with(it))
}

/// The file or directory beside a missing one whose name is near.
fn near_file(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let parent = path.parent().unwrap_or(Path::new(""));
    let directory = match parent.as_os_str().is_empty() {
        true => Path::new("."),
        false => parent,
    };
    let entries = fs::read_dir(directory).ok()?.flatten();
    let names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let near = near(name, names.iter().map(String::as_str))?;
    Some(parent.join(near).display().to_string())
}

/// The name that a misspelled word probably means.
pub fn near<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    nearest(word, names.into_iter().filter(|name| *name != word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_no_words() {
        for image in [
            "ubuntu:22.04",
            "pytorch/pytorch:2.8.0",
            "pytorch/pytorch",
            "localhost:5000/x",
            "ghcr.io/a/b",
            "redis:7",
            "registry:h/x:1",
            "ubuntu@sha256:12",
        ] {
            assert!(!is_word(image), "{image}");
        }
        for image in ["chek", "ubuntu", "src/imgae", "docker-archve:image.tar"] {
            assert!(is_word(image), "{image}");
        }
    }
}
