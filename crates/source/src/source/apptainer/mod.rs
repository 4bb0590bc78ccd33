//! Images of Apptainer and Singularity (`.sif`): a SquashFS partition with the scripts that start it below `/.singularity.d`
//! (Apptainer, `internal/pkg/util/fs/files/action_script.sh`).

mod script;
mod sif;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use oci_spec::image::{Arch, Config, ImageConfiguration, Os};

use super::image::{Image, SourceKind};
use super::request::Request;
use super::squashfs_image::{SquashfsImage, described, failed};
use imgcheck_archive::archive::FileRange;
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::Limit;
use sif::{Object, ObjectKind};

/// Number of leading bytes that identify a SIF file.
pub(super) const SNIFFED: usize = sif::SNIFFED;

const ENVIRONMENT: &str = ".singularity.d/env";
const RUN: &str = ".singularity.d/runscript";
const LABELS: &str = ".singularity.d/labels.json";
/// The script that appends the directory of the host's libraries, which `--nv` fills, to LD_LIBRARY_PATH.
const BASE: &str = "99-base.sh";
const HOST_LIBRARIES: &str = "/.singularity.d/libs";
/// Scripts that are the same in every image, and set nothing but that.
const FIXED: [&str; 5] = [
    "01-base.sh",
    "94-appsbase.sh",
    "95-apps.sh",
    BASE,
    "99-runtimevars.sh",
];

/// Formats and roles of partitions.
const SQUASHFS: i32 = 1;
const PRIMARY: i32 = 2;
const OVERLAY: i32 = 4;

/// Whether a file that starts with these bytes is a SIF file.
pub(super) fn is_sif(start: &[u8]) -> bool {
    sif::is_sif(start)
}

/// Opens a SIF file.
///
/// # Errors
/// It is damaged, truncated, or has no SquashFS partition with the root filesystem.
pub(super) fn open(path: &Path, file: &FileRange, request: &Request) -> Result<Image> {
    let subject = path.display().to_string();
    let objects = sif::objects(file).map_err(|error| failed(&subject, error))?;
    let (partition, architecture) = root_partition(&subject, &objects)?;
    let bytes = file.slice(partition.offset, partition.length);
    let image = SquashfsImage::open(subject.clone(), bytes, request)?;
    let mut configuration = ImageConfiguration::default();
    configuration.set_os(Os::Linux);
    configuration.set_config(Some(config(&image)?));
    let platform = match &architecture {
        Some(architecture) => format!("linux/{architecture}"),
        None => String::new(),
    };
    if let Some(architecture) = architecture {
        configuration.set_architecture(architecture);
    }
    Ok(Image {
        reference: reference(&subject, file, &objects, request)?,
        platform,
        ..described(image, path, SourceKind::Sif, Some(configuration))
    })
}

/// The partition with the root filesystem, and its architecture.
fn root_partition<'o>(subject: &str, objects: &'o [Object]) -> Result<(&'o Object, Option<Arch>)> {
    let unsupported = |problem: &str| Err(Error::unsupported(subject, problem));
    let with_role = |wanted: i32| {
        let mut partitions = objects.iter().filter_map(|object| match object.kind {
            ObjectKind::Partition(format, role, architecture) if role == wanted => {
                Some((object, format, architecture))
            }
            _ => None,
        });
        partitions.next()
    };
    if with_role(OVERLAY).is_some() {
        return unsupported(
            "it has an overlay partition, which changes what a container sees and is not supported",
        );
    }
    match with_role(PRIMARY) {
        Some((partition, SQUASHFS, architecture)) => Ok((partition, arch(architecture))),
        Some(_) => unsupported("its partition is encrypted or no SquashFS, which is not supported"),
        None if objects.iter().any(|object| object.kind == ObjectKind::Oci) => {
            unsupported("an OCI image in a SIF file is not supported yet")
        }
        None => unsupported("it has no partition with a root filesystem"),
    }
}

/// The architecture with this number.
fn arch(number: [u8; 2]) -> Option<Arch> {
    match &number {
        b"01" => Some(Arch::i386),
        b"02" => Some(Arch::Amd64),
        b"03" => Some(Arch::ARM),
        b"04" => Some(Arch::ARM64),
        b"06" => Some(Arch::PowerPC64le),
        _ => None,
    }
}

/// How the image is run.
fn config(image: &SquashfsImage) -> Result<Config> {
    let mut variables = BTreeMap::new();
    let mut sourced = String::new();
    for name in image.files(ENVIRONMENT)? {
        let path = format!("{ENVIRONMENT}/{name}");
        if FIXED.contains(&name.as_str()) || !name.ends_with(".sh") {
            if name == BASE {
                add_host_libraries(&mut variables);
            }
            continue;
        }
        let text = image.text(&path)?.unwrap_or_default();
        let mut set = variables.clone();
        match script::exports(&text, &mut set) {
            Some(()) => variables = set,
            None => sourced.push_str(&format!(". /{path}\n")),
        }
    }
    let run = image.text(RUN)?.unwrap_or_default();
    let entry = script::words(&run, "OCI_ENTRYPOINT");
    let command = script::words(&run, "OCI_CMD");
    let (entry, command) = match (entry, command) {
        (Some(entry), Some(command)) if !entry.is_empty() || !command.is_empty() => {
            (entry, command)
        }
        _ => (vec![format!("/{RUN}")], Vec::new()),
    };
    let mut config = Config::default();
    if !run.is_empty() && sourced.is_empty() {
        config.set_entrypoint(Some(entry));
        config.set_cmd(Some(command));
    } else if !run.is_empty() {
        let words = entry
            .iter()
            .chain(&command)
            .map(|word| format!(" {}", quoted(word)));
        let started = format!("{sourced}exec{}", words.collect::<String>());
        let shell = ["/bin/sh", "-c", &started];
        config.set_entrypoint(Some(shell.map(str::to_owned).to_vec()));
    }
    let variables = variables
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    config.set_env(Some(variables.collect()));
    config.set_labels(Some(labels(&image.text(LABELS)?.unwrap_or_default())));
    Ok(config)
}

fn add_host_libraries(variables: &mut BTreeMap<String, String>) {
    let path = variables.entry("LD_LIBRARY_PATH".to_owned()).or_default();
    if !path.is_empty() {
        path.push(':');
    }
    path.push_str(HOST_LIBRARIES);
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Labels that are texts. Without a valid document there are none.
fn labels(text: &str) -> HashMap<String, String> {
    let labels: HashMap<String, serde_json::Value> = serde_json::from_str(text).unwrap_or_default();
    let texts = labels
        .into_iter()
        .filter_map(|(key, value)| Some((key, value.as_str()?.to_owned())));
    texts.collect()
}

/// The container image that was converted, if the definition file only names it. If it builds on it, the image is another one.
fn reference(
    subject: &str,
    file: &FileRange,
    objects: &[Object],
    request: &Request,
) -> Result<Option<String>> {
    let Some(object) = objects
        .iter()
        .find(|object| object.kind == ObjectKind::Definition)
    else {
        return Ok(None);
    };
    let checked = request
        .bounds
        .limits
        .check(Limit::DocumentBytes, object.length);
    checked.map_err(|exceeded| Error::limit(subject, exceeded))?;
    let mut bytes = vec![0; usize::try_from(object.length).unwrap_or_default()];
    let read = file.read_at(object.offset, &mut bytes);
    read.map_err(|error| Error::io(subject, error))?;
    Ok(converted(&String::from_utf8_lossy(&bytes)))
}

fn converted(definition: &str) -> Option<String> {
    let (mut from, mut is_docker) = (None, false);
    for line in definition
        .lines()
        .map(|line| line.trim().trim_end_matches('\0'))
    {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once(':')?;
        match key.trim().to_ascii_lowercase().as_str() {
            "bootstrap" => is_docker = value.trim() == "docker",
            "from" => from = Some(value.trim().to_owned()),
            _ => return None,
        }
    }
    from.filter(|_| is_docker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_that_only_names_an_image_claims_to_be_it() {
        let of = |text| converted(text);
        let pulled = "bootstrap: docker\nfrom: pytorch/pytorch:2.8.0\n\n";
        assert_eq!(of(pulled), Some("pytorch/pytorch:2.8.0".to_owned()));
        assert_eq!(
            of("Bootstrap: docker\nFrom: x:1\n%post\n pip install y\n"),
            None
        );
        assert_eq!(of("Bootstrap: localimage\nFrom: x.sif\n"), None);
        assert_eq!(of("Bootstrap: docker\nRegistry: r\nFrom: x:1\n"), None);
        assert_eq!(of(""), None);
    }
}
