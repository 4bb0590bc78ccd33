//! Names of images as users type them: distinguishes typing errors from references, so that no registry is contacted for them.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use imgcheck::{Error, ImageRequest, Result};

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

/// The help of each name as of [`help_of_word`]. A missing file among others becomes an error when it is read.
///
/// # Errors
/// All names are those of files that do not exist.
pub fn help_of_words(images: &[String], commands: &[&str]) -> Result<Vec<Option<String>>> {
    let words = images.iter().map(|image| help_of_word(image, commands));
    let words: Vec<_> = words.collect();
    if words.iter().all(Result::is_err) {
        return words.into_iter().collect();
    }
    Ok(words.into_iter().map(Result::unwrap_or_default).collect())
}

/// The help if a name is no image of a container engine; `None` for what is certainly a reference.
///
/// # Errors
/// The name is that of a file that does not exist.
fn help_of_word(image: &str, commands: &[&str]) -> Result<Option<String>> {
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
    let forced = format!("docker://{image} forces a registry");
    Ok(Some(match question {
        Some(question) => format!("{question} {forced}"),
        None => forced,
    }))
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
        None if is_plain => format!("docker://{image} forces a registry"),
        None => "a name that begins with `/` or `.` is a path; docker://REFERENCE is an image of a registry".to_owned(),
    };
    Error::usage(format!("`{}`: no such file or directory", path.display())).with_help(help)
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

/// The name that a misspelled word probably means: at most one edit for three letters.
pub fn near<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let most = (word.chars().count() / 3).max(1);
    let distances = names
        .into_iter()
        .map(|name| (strsim::osa_distance(word, name), name));
    let nearest = distances.filter(|(distance, _)| (1..=most).contains(distance));
    nearest.min().map(|(_, name)| name)
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
