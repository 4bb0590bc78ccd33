//! A required package in the syntax of PEP 508, conda, apt or apk.

use pep440_rs::{Operator, VersionSpecifiers};

use super::facts::Pin;
use super::marker::{self, Applies};
use imgcheck_base::version::requirement::{self, Requirement, normalized};

/// Where Python packages come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    /// `--index-url`: replaces PyPI.
    pub instead: Option<String>,
    /// `--extra-index-url` and `--find-links`: used besides PyPI.
    pub besides: Vec<String>,
    /// The CUDA version of uv's `--torch-backend`.
    pub backend: Option<String>,
    /// Whether the first index that has a package answers alone, as in uv. pip asks all of them.
    pub first_wins: bool,
    /// Whether uv asks all of them, too: `--index-strategy unsafe-best-match`.
    pub best_match: bool,
}

impl Index {
    /// Sets the origin of a package.
    pub fn apply(&self, pin: &mut Pin) {
        let all = || self.instead.iter().chain(&self.besides);
        // What an index beside PyPI does not have comes from PyPI.
        let is_pytorch = OF_PYTORCH.contains(&pin.name.as_str());
        let besides = self.besides.iter();
        let besides = besides.filter(|url| !is_pytorch || !is_of_nvidia(url));
        let named = all()
            .find(|url| cuda_of_url(url).is_some())
            .or_else(|| self.instead.iter().chain(besides).next());
        let backend = self.backend.as_deref();
        if pin.cuda.is_none() {
            let cuda =
                backend.map_or_else(|| named.and_then(|url| cuda_of_url(url)), cuda_of_label);
            pin.cuda = cuda;
        }
        pin.index = match backend {
            // uv chooses one for the machine that it runs on.
            Some("auto") => backend.map(str::to_owned),
            Some(backend) => Some(format!("https://download.pytorch.org/whl/{backend}")),
            None => named.cloned(),
        };
        // pip treats all indexes alike: packages that PyTorch's index lacks come from PyPI or a mirror of it.
        let own = |url: &String| has_only_pytorch(url) || is_of_nvidia(url);
        let only_own = self
            .instead
            .as_ref()
            .is_some_and(|url| has_only_pytorch(url))
            && all().all(own);
        let first_own = self.first_wins && self.besides.iter().any(|url| has_only_pytorch(url));
        pin.only_index = backend.is_some() || only_own || first_own;
    }
}

/// The packages that NVIDIA's indexes lack: <https://pypi.nvidia.com> lists NVIDIA's own.
const OF_PYTORCH: &[&str] = &["torch", "torchaudio", "torchvision"];

/// Whether an index has PyTorch builds and is not a mirror of PyPI, judging by its address.
fn has_only_pytorch(url: &str) -> bool {
    cuda_of_url(url).is_some() || url.contains("download.pytorch.org")
}

/// Whether an index is NVIDIA's, which has neither PyTorch nor a mirror of PyPI.
fn is_of_nvidia(url: &str) -> bool {
    url.contains("://pypi.nvidia.com") || url.contains("://pypi.ngc.nvidia.com")
}

/// Reads a Python requirement as pip does. `None` for a directory or archive, which names no package.
///
/// # Errors
/// What is wrong.
pub fn python(text: &str) -> Result<Option<Pin>, String> {
    match arbitrary(text) {
        Some((plain, specifier)) => {
            let pin = python(&plain)?;
            Ok(pin.map(|pin| Pin {
                specifier,
                text: text.trim().to_owned(),
                ..pin
            }))
        }
        None => versioned(text),
    }
}

/// Splits a requirement with `===` and arbitrary text (PEP 440, "Arbitrary equality") into the requirement without it, and it.
fn arbitrary(text: &str) -> Option<(String, String)> {
    let (requirement, marker) = match text.split_once(';') {
        Some((requirement, marker)) => (requirement, format!(";{marker}")),
        None => (text, String::new()),
    };
    let (name, version) = requirement.split_once("===")?;
    let version = version.trim();
    let one_word = !version.is_empty() && !version.contains([',', ')', '=', ' ', '\t']);
    let any_text = one_word && version.parse::<pep440_rs::Version>().is_err();
    // The address of a wheel may contain anything.
    let named = !name.contains(['@', '/', ':', ',', '=', '(']);
    (any_text && named).then(|| (format!("{name}{marker}"), format!("==={version}")))
}

/// A requirement with PEP 440 versions.
fn versioned(text: &str) -> Result<Option<Pin>, String> {
    let text = text.trim();
    if text.len() > requirement::MAX_REQUIREMENT {
        return Err("requirement is too long".to_owned());
    }
    if let Some((name, url)) = direct(text) {
        let mut pin = match wheel(url) {
            Some(pin) => pin,
            None => Pin {
                name: repository(url).unwrap_or_default(),
                ..Pin::default()
            },
        };
        if !name.is_empty() {
            pin.name = normalized(name.split('[').next().unwrap_or(name));
        }
        if pin.name.is_empty() {
            return Ok(None);
        }
        // Some version is fixed, though it is unknown which.
        pin.specifier = format!("@ {}", url.split_whitespace().next().unwrap_or_default());
        let marker = text.split_once(" ;").map(|(_, marker)| marker);
        return marked(pin, marker, text);
    }
    let requirement = Requirement::parse(text)?;
    let mut pin = Pin {
        name: normalized(requirement.name),
        extras: requirement.extras.into_iter().map(str::to_owned).collect(),
        specifier: requirement.written.to_owned(),
        ..Pin::default()
    };
    fix(&mut pin, &requirement.specifiers);
    marked(pin, requirement.marker, text)
}

/// The name of the repository in `git+https://host/owner/NAME.git@ref#egg=NAME`, or the name that the address gives.
fn repository(url: &str) -> Option<String> {
    let address = url.strip_prefix("git+")?;
    let (address, fragment) = address.split_once('#').unwrap_or((address, ""));
    let named = fragment.split('&').find_map(|it| it.strip_prefix("egg="));
    let path = address.split_once("://").map_or(address, |(_, path)| path);
    let last = path.trim_end_matches('/').rsplit('/').next()?;
    let last = last.split('@').next()?.trim_end_matches(".git");
    let name = named.unwrap_or(last).split('[').next()?;
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it));
    is_name.then(|| normalized(name))
}

/// Applies the marker of a package, which is kept if only some Linux machines need it; `None` if none does.
fn marked(pin: Pin, marker: Option<&str>, text: &str) -> Result<Option<Pin>, String> {
    let marker = marker.map(|marker| marker.split(" #").next().unwrap_or(marker).trim());
    let held = marker.map_or(Ok(Applies::Always), marker::applies)?;
    Ok((held != Applies::Never).then(|| Pin {
        manager: "pip".to_owned(),
        text: text.to_owned(),
        marker: marker
            .filter(|_| held == Applies::Sometimes)
            .map(str::to_owned),
        ..pin
    }))
}

/// The parts of `name @ URL`, or of a URL or path alone.
fn direct(text: &str) -> Option<(&str, &str)> {
    let before_marker = text.split(" ;").next().unwrap_or(text).trim();
    if let Some((name, url)) = before_marker.split_once('@')
        && !name.contains(['/', ':', '='])
        && !name.trim().is_empty()
    {
        return Some((name.trim(), url.trim()));
    }
    let end = before_marker.split_whitespace().next().unwrap_or_default();
    let path = end.contains("://")
        || end.starts_with(['.', '/', '~'])
        || [".whl", ".tar.gz", ".zip"]
            .iter()
            .any(|suffix| end.ends_with(suffix))
        || (end.contains('/') && !end.contains(['=', '<', '>']));
    path.then_some(("", end))
}

/// The name and version in the file name of a wheel.
fn wheel(url: &str) -> Option<Pin> {
    let path = url.split(['#', '?', ' ']).next()?;
    let file = path.rsplit('/').next()?.strip_suffix(".whl")?;
    let mut parts = file.split('-');
    let name = normalized(parts.next()?);
    let version = parts.next()?.replace("%2B", "+").replace("%2b", "+");
    let tags: Vec<&str> = parts.collect();
    let mut pin = Pin {
        name,
        python: python_of_tags(&tags),
        ..Pin::default()
    };
    set_version(&mut pin, &version);
    Some(pin)
}

/// The only CPython that a wheel is for: `3.10` of `cp310-cp310-linux_x86_64`, after an optional build number.
fn python_of_tags(tags: &[&str]) -> Option<String> {
    let [.., python, abi, _] = tags else {
        return None;
    };
    let digits = python.strip_prefix("cp")?;
    let is_exact = python == abi && digits.bytes().all(|it| it.is_ascii_digit());
    let (major, minor) = digits.split_at_checked(1)?;
    (is_exact && !minor.is_empty()).then(|| format!("{major}.{minor}"))
}

/// Sets the version that specifiers pin.
fn fix(pin: &mut Pin, specifiers: &VersionSpecifiers) {
    for specifier in specifiers.iter() {
        let version = specifier.version();
        match specifier.operator() {
            Operator::Equal | Operator::ExactEqual | Operator::EqualStar => {
                return set_version(pin, &version.to_string());
            }
            Operator::TildeEqual => {
                let numbers = version.release();
                let kept = numbers.iter().take(numbers.len().saturating_sub(1).max(1));
                let kept: Vec<String> = kept.map(u64::to_string).collect();
                pin.version = Some(kept.join("."));
            }
            _ => {}
        }
    }
}

fn set_version(pin: &mut Pin, version: &str) {
    match version.split_once('+') {
        Some((version, local)) => {
            pin.version = Some(version.to_owned());
            pin.cuda = cuda_of_label(local);
            pin.local = Some(local.to_owned());
        }
        None => pin.version = Some(version.to_owned()),
    }
}

/// Reads a conda match specification: `pytorch=2.5.1=py3.11_cuda12.4_cudnn9.1.0_0`, `conda-forge::numpy>=1.2`.
pub fn conda(text: &str) -> Option<Pin> {
    let text = text.trim();
    let (channel, rest) = match text.split_once("::") {
        Some((channel, rest)) => (Some(channel.to_owned()), rest),
        None => (None, text),
    };
    let rest = rest.split('[').next().unwrap_or(rest);
    let end = rest
        .find(|c: char| c.is_whitespace() || "=<>!~".contains(c))
        .unwrap_or(rest.len());
    let (name, specifier) = rest.split_at(end);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || !name.chars().all(plain) {
        return None;
    }
    let specifier = specifier.trim();
    let mut pin = Pin {
        name: name.to_ascii_lowercase(),
        manager: "conda".to_owned(),
        specifier: specifier.to_owned(),
        index: channel,
        text: text.to_owned(),
        ..Pin::default()
    };
    // `=1.2`, `==1.2` and ` 1.2` pin a version; the build follows after the next `=` or space.
    let mut parts = specifier.trim_start_matches('=').split(['=', ' ']);
    let version = parts
        .next()
        .unwrap_or_default()
        .trim_end_matches('*')
        .trim_end_matches('.');
    let numbers = version.starts_with(|c: char| c.is_ascii_digit());
    if numbers && version.chars().all(|c| plain(c) || c == '+') {
        pin.version = Some(version.to_owned());
    }
    pin.cuda = parts.next().and_then(cuda_of_build);
    Some(pin)
}

/// Reads `name=version` as apt and apk write it.
pub fn system(text: &str, manager: &str) -> Option<Pin> {
    let (name, version) = text.split_once('=').unwrap_or((text, ""));
    let name = name.split([':', '/']).next().unwrap_or(name);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    if name.is_empty() || !name.chars().all(plain) {
        return None;
    }
    let version = version.trim_start_matches(['=', '~']);
    let fixed = version.trim_end_matches('*').trim_end_matches('.');
    Some(Pin {
        name: name.to_owned(),
        manager: manager.to_owned(),
        specifier: text[name.len()..].to_owned(),
        version: (!fixed.is_empty()).then(|| fixed.to_owned()),
        text: text.to_owned(),
        ..Pin::default()
    })
}

/// The CUDA version of a label: `11.8` for `cu118`; also `cpu` and `rocm`.
pub fn cuda_of_label(label: &str) -> Option<String> {
    if label == "cpu" {
        return Some("cpu".to_owned());
    }
    if label.starts_with("rocm") {
        return Some("rocm".to_owned());
    }
    let digits = label.strip_prefix("cu")?;
    dotted(digits)
}

/// `11.8` for `118`: the last digit is the minor version.
fn dotted(digits: &str) -> Option<String> {
    let valid = (2..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let (major, minor) = digits.split_at_checked(digits.len().saturating_sub(1))?;
    valid.then(|| format!("{major}.{minor}"))
}

/// The CUDA version in the path of an index: `https://download.pytorch.org/whl/cu118`.
fn cuda_of_url(url: &str) -> Option<String> {
    url.split(['/', '?', '#']).rev().find_map(cuda_of_label)
}

/// The CUDA version of a conda build: `12.4` for `py3.11_cuda12.4_cudnn9.1.0_0` and `cuda124py311h1234567_0`.
fn cuda_of_build(build: &str) -> Option<String> {
    if build.starts_with("cpu") || build.contains("_cpu") {
        return Some("cpu".to_owned());
    }
    let rest = build.split("cuda").nth(1)?.trim_start_matches('_');
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(rest.len());
    let version = rest[..end].trim_end_matches('.');
    match version.split_once('.') {
        Some((major, minor)) if !major.is_empty() && !minor.is_empty() => Some(version.to_owned()),
        None => dotted(version),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
