//! The settings with which an interpreter refuses to start.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde::Deserialize;

use super::gpu_processes::GpuProgram;
use super::python_launcher::PythonLauncher;
use super::python_options::Options;
use imgcheck_base::excerpt;
use imgcheck_base::version;

/// What CPython's options and variables may say: `rules/knowledge/python-options.yaml`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PythonSettings {
    settings: Vec<Setting>,
    options: Vec<OptionNames>,
    prints: OptionNames,
    encodings: Encodings,
    pub(super) launchers: Vec<PythonLauncher>,
    #[serde(rename = "gpu-programs")]
    pub(super) gpu_programs: Vec<GpuProgram>,
}

/// A variable or an option of `-X`, and its valid values.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Setting {
    variable: Option<String>,
    option: Option<String>,
    /// An option with which the variable is not read: `R`, or `X utf8`.
    ignored_with: Option<String>,
    since: Option<String>,
    until: Option<String>,
    /// Only later patch releases of the releases refuse.
    some_patch_releases: bool,
    /// The option needs a value.
    needs_value: bool,
    words: Vec<String>,
    integers: Vec<(i64, i64)>,
    encoding: bool,
    says: String,
    #[serde(rename = "confidence")]
    _confidence: String,
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct OptionNames {
    since: Option<String>,
    letters: String,
    words: Vec<String>,
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Encodings {
    names: HashSet<String>,
    #[serde(rename = "source")]
    _source: String,
}

/// Why an interpreter does not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The variable or option as written: `PYTHONUTF8=2`, `-Q`.
    pub setting: String,
    /// What the interpreter prints.
    pub says: String,
    /// Every patch release refuses.
    pub is_certain: bool,
}

/// Maximum number of characters of a value that a message shows.
const SHOWN: usize = 80;

impl PythonSettings {
    /// The settings with which the interpreter of a release (`3.11`) refuses to start. `variable` gives the value of a variable; empty if
    /// it is not set or not read. `is_module` says whether the package `encodings` has a module.
    pub(super) fn refusals<'v>(
        &self,
        release: &str,
        options: &Options,
        variable: impl Fn(&str) -> &'v str,
        is_module: impl Fn(&str) -> bool,
    ) -> Vec<Refusal> {
        let mut found = self.unknown_options(release, options);
        if found.is_empty() && self.prints_only(options) {
            return found;
        }
        for row in self.settings.iter().filter(|row| row.is_of(release)) {
            let is_valid = |value: &str| match row.encoding {
                true => self.is_encoding(value, &is_module),
                false => row.is_valid(value),
            };
            let Some(setting) = row.refused(options, &variable, is_valid) else {
                continue;
            };
            let is_known = found.iter().any(|it| it.setting == setting);
            if !is_known {
                found.push(Refusal {
                    setting,
                    says: row.says.clone(),
                    is_certain: !row.some_patch_releases,
                });
            }
        }
        found
    }

    /// Whether a command prints a help or a version, and starts nothing.
    pub(super) fn prints_only(&self, options: &Options) -> bool {
        self.prints.has_any(options)
    }

    fn unknown_options(&self, release: &str, options: &Options) -> Vec<Refusal> {
        let known = || {
            self.options
                .iter()
                .filter(|it| is_since(&it.since, release))
        };
        let letters = options.letters.iter();
        let letters = letters.filter(|it| !known().any(|row| row.letters.contains(**it)));
        let letters =
            letters.map(|letter| (format!("-{letter}"), format!("Unknown option: -{letter}")));
        let words = options.words.iter();
        let words = words.filter(|it| !known().any(|row| row.words.contains(it)));
        let words = words.map(|word| {
            let word = excerpt::shortened(word, SHOWN);
            (format!("--{word}"), format!("unknown option --{word}"))
        });
        let lacking = options.lacks_argument.map(|letter| {
            (
                format!("-{letter}"),
                format!("Argument expected for the -{letter} option"),
            )
        });
        let all = letters.chain(words).chain(lacking);
        // CPython ends at the first.
        let first = all.take(1).map(|(setting, says)| Refusal {
            setting,
            says,
            is_certain: true,
        });
        first.collect()
    }

    /// Whether PYTHONIOENCODING (`utf-8:strict`) names a text encoding, as the package `encodings` normalizes names.
    fn is_encoding(&self, value: &str, is_module: impl Fn(&str) -> bool) -> bool {
        let name = value.split(':').next().unwrap_or_default();
        let words = name.split(|c: char| !c.is_alphanumeric());
        let words: Vec<String> = words
            .filter(|it| !it.is_empty())
            .map(str::to_lowercase)
            .collect();
        let name = words.join("_");
        name.is_empty() || self.encodings.names.contains(&name) || is_module(&name)
    }
}

impl Setting {
    fn is_of(&self, release: &str) -> bool {
        let is_later = |until: &String| version::compare(release, until) == Some(Ordering::Greater);
        is_since(&self.since, release) && !self.until.as_ref().is_some_and(is_later)
    }

    /// The setting as written, if it has an invalid value.
    fn refused<'v>(
        &self,
        options: &Options,
        variable: impl Fn(&str) -> &'v str,
        is_valid: impl Fn(&str) -> bool,
    ) -> Option<String> {
        if let Some(name) = &self.variable {
            let value = variable(name);
            let is_read = self
                .ignored_with
                .as_deref()
                .is_none_or(|it| !is_given(it, options));
            let is_refused = !value.is_empty() && is_read && !is_valid(value);
            return is_refused.then(|| format!("{name}={}", excerpt::shortened(value, SHOWN)));
        }
        let name = self.option.as_deref()?;
        let is_valid = |value: &Option<&str>| value.map_or(!self.needs_value, &is_valid);
        let refused: Option<&str> = options.values_of(name).find(|it| !is_valid(it))?;
        // Of several, the first or the last counts.
        if options.values_of(name).any(|it| is_valid(&it)) {
            return None;
        }
        let value = refused.map(|it| format!("={}", excerpt::shortened(it, SHOWN)));
        Some(format!("-X {name}{}", value.unwrap_or_default()))
    }

    fn is_valid(&self, value: &str) -> bool {
        let is_within = |number: i64| {
            let mut ranges = self.integers.iter();
            ranges.any(|(least, most)| (*least..=*most).contains(&number))
        };
        self.words.iter().any(|word| word == value) || integer(value).is_some_and(is_within)
    }
}

impl OptionNames {
    fn has_any(&self, options: &Options) -> bool {
        let mut letters = options.letters.iter();
        let mut words = options.words.iter();
        letters.any(|it| self.letters.contains(*it)) || words.any(|it| self.words.contains(it))
    }
}

fn is_since(since: &Option<String>, release: &str) -> bool {
    let since = since.as_deref();
    since.is_none_or(|since| version::is_since(release, since))
}

/// Whether `R` or `X utf8` is among the options.
fn is_given(option: &str, options: &Options) -> bool {
    match option.strip_prefix("X ") {
        Some(name) => options.values_of(name).next().is_some(),
        None => option
            .chars()
            .all(|letter| options.letters.contains(&letter)),
    }
}

/// A number as strtol(3) reads it; an empty text is 0.
fn integer(text: &str) -> Option<i64> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    match text {
        "" => Some(0),
        text if text.ends_with(|c: char| c.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// What `env VARIABLE=VALUE python3.RELEASE OPTIONS` refuses.
    fn refused(release: &str, variable: &str, command: &str) -> Vec<String> {
        let settings = crate::knowledge::catalogue().unwrap().settings;
        let words: Vec<String> = format!("python3 {command}")
            .split(' ')
            .map(str::to_owned)
            .collect();
        let options = Options::of(&words).unwrap();
        let (name, value) = variable.split_once('=').unwrap_or_default();
        let value = |asked: &str| if asked == name { value } else { "" };
        let refusals = settings.refusals(release, &options, value, |module| module == "own");
        refusals.into_iter().map(|it| it.setting).collect()
    }

    /// What CPython 3.11.2 and 3.14.10 did.
    #[test]
    fn variables_that_cpython_refuses() {
        for variable in [
            "PYTHONHASHSEED=abc",
            "PYTHONHASHSEED=-1",
            "PYTHONHASHSEED=4294967296",
            "PYTHONHASHSEED=5 ",
            "PYTHONHASHSEED=Random",
            "PYTHONMALLOC=abc",
            "PYTHONMALLOC=Debug",
            "PYTHONUTF8=2",
            "PYTHONUTF8=01",
            "PYTHONUTF8=true",
            "PYTHONIOENCODING=nosuch",
            "PYTHONIOENCODING=nosuch:strict",
            "PYTHONIOENCODING=rot13",
            "PYTHONIOENCODING=mbcs",
            "PYTHONIOENCODING=base64",
            "PYTHONINTMAXSTRDIGITS=1",
            "PYTHONINTMAXSTRDIGITS=abc",
            "PYTHONINTMAXSTRDIGITS=-1",
            "PYTHONTRACEMALLOC=abc",
            "PYTHONTRACEMALLOC=-1",
            "PYTHONTRACEMALLOC=65536",
        ] {
            for release in ["3.11", "3.14"] {
                assert_eq!(
                    refused(release, variable, "-c pass"),
                    [variable],
                    "{release}"
                );
            }
        }
        for variable in [
            "PYTHONHASHSEED= 5",
            "PYTHONHASHSEED=+5",
            "PYTHONHASHSEED=random",
            "PYTHONHASHSEED=",
            "PYTHONMALLOC=pymalloc_debug",
            "PYTHONUTF8=1",
            "PYTHONIOENCODING=utf-8:nosuch",
            "PYTHONIOENCODING=:replace",
            "PYTHONIOENCODING=UTF8",
            "PYTHONIOENCODING=utf 8",
            "PYTHONIOENCODING=undefined",
            "PYTHONIOENCODING=idna",
            "PYTHONIOENCODING=own",
            "PYTHONINTMAXSTRDIGITS=640",
            "PYTHONINTMAXSTRDIGITS=0",
            "PYTHONTRACEMALLOC=0",
            "PYTHONTRACEMALLOC=65535",
            "PYTHONOPTIMIZE=abc",
            "PYTHONWARNINGS=nosuch",
            "PYTHON_TLBC=x",
        ] {
            for release in ["3.11", "3.14"] {
                assert_eq!(
                    refused(release, variable, "-c pass"),
                    [""; 0],
                    "{release} {variable}"
                );
            }
        }
    }

    /// What 3.14.10 refused and 3.11.2 did not, and the other way round.
    #[test]
    fn releases_differ() {
        for variable in [
            "PYTHON_CPU_COUNT=0",
            "PYTHON_CPU_COUNT=abc",
            "PYTHON_GIL=0",
            "PYTHON_GIL=2",
            "PYTHON_FROZEN_MODULES=x",
            "PYTHON_THREAD_INHERIT_CONTEXT=2",
            "PYTHON_CONTEXT_AWARE_WARNINGS=x",
        ] {
            assert_eq!(refused("3.14", variable, "-c pass"), [variable]);
            assert_eq!(refused("3.11", variable, "-c pass"), [""; 0]);
        }
        assert_eq!(refused("3.14", "PYTHONMALLOC=mimalloc", "-c pass"), [""; 0]);
        assert_eq!(refused("3.11", "PYTHONMALLOC=mimalloc", "-c pass").len(), 1);
        assert_eq!(refused("3.10", "", "-P x.py"), ["-P"]);
        assert_eq!(refused("3.11", "", "-P x.py"), [""; 0]);
    }

    #[test]
    fn options_that_cpython_refuses() {
        for (command, setting) in [
            ("-Q -c pass", "-Q"),
            ("-sQ -c pass", "-Q"),
            ("-I -Q -c pass", "-Q"),
            ("-J x.py", "-J"),
            ("-V -Q", "-Q"),
            ("--foo x.py", "--foo"),
            ("-c", "-c"),
            ("-X", "-X"),
            ("-X utf8=2 x.py", "-X utf8=2"),
            ("-X utf8= x.py", "-X utf8="),
            ("-X tracemalloc=x x.py", "-X tracemalloc=x"),
            ("-X int_max_str_digits=1 x.py", "-X int_max_str_digits=1"),
            ("-X int_max_str_digits x.py", "-X int_max_str_digits"),
            ("-X frozen_modules=x x.py", "-X frozen_modules=x"),
        ] {
            assert_eq!(refused("3.11", "", command), [setting]);
        }
        for command in [
            "-bBdEiOqRsStuvx x.py",
            "-X nosuch -W nosuch x.py",
            "-X utf8 -X tracemalloc -X frozen_modules= x.py",
            "-X utf8=1 -X utf8=2 x.py",
            "--check-hash-based-pycs always x.py",
            "x.py -Q --foo -X utf8=2",
            "-m app -Q",
        ] {
            assert_eq!(refused("3.11", "", command), [""; 0], "{command}");
        }
    }

    #[test]
    fn options_that_overrule_a_variable() {
        assert_eq!(refused("3.11", "PYTHONHASHSEED=abc", "-R x.py"), [""; 0]);
        assert_eq!(refused("3.11", "PYTHONUTF8=2", "-X utf8=1 x.py"), [""; 0]);
        assert_eq!(refused("3.11", "PYTHONHASHSEED=abc", "-V"), [""; 0]);
        assert_eq!(
            refused("3.11", "PYTHONHASHSEED=abc", "-Q x.py"),
            ["-Q", "PYTHONHASHSEED=abc"]
        );
    }
}
