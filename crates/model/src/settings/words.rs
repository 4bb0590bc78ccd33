//! Lists of names that a release knows: the logs of PyTorch, the flags of XLA.

use imgcheck_base::spelling;

use super::faults::Problem;
use super::wrong::Wrong;

/// What is wrong with a list such as `+dynamo,graph_breaks`. A word with a dot is the name of a module, and is not judged.
///
/// Source: `_parse_log_settings` in torch/_logging/_internal.py.
pub(super) fn wrong_log(
    value: &str,
    known: &[&str],
    may_be_module: impl Fn(&str) -> bool,
) -> Option<Wrong> {
    if value.is_empty() {
        return None;
    }
    // Both print a text about the variable, and end the import with it.
    if value == "help" || value == "+help" {
        return Some(Wrong::new(Problem::Value, value, Vec::new()));
    }
    let words = value.split(',').map(|word| {
        let word = word.trim();
        word.strip_prefix(['+', '-']).unwrap_or(word)
    });
    let is_name = |word: &str| {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        !word.is_empty() && word.chars().all(is_part)
    };
    let is_valid = |word: &str| {
        is_name(word)
            && (word == "all" || word.contains('.') || known.contains(&word) || may_be_module(word))
    };
    let mut words = words.filter(|word| !is_valid(word));
    words.next().map(|word| unknown(word, known))
}

/// The prefix of the flags that a table knows.
const XLA: &str = "--xla_";

/// What is wrong with flags such as `--xla_gpu_autotune_level=4`. The value is the name of a file unless it begins with `-`.
///
/// Source: `SetArgvFromEnv` in xla/parse_flags_from_env.cc.
pub(super) fn wrong_flag(value: &str, known: &[&str]) -> Option<Wrong> {
    let value = value.trim_start();
    if !value.starts_with('-') || value.contains(['\'', '"', '\\']) {
        return None;
    }
    let flags = value.split_ascii_whitespace();
    let flags = flags.filter(|it| it.starts_with(XLA));
    let mut names = flags.map(|it| it.split('=').next().unwrap_or(it));
    let name = names.find(|it| !known.contains(&it.trim_start_matches('-')))?;
    let wrong = unknown(name.trim_start_matches('-'), known);
    let fitting = wrong.fitting.iter().map(|it| format!("--{it}"));
    let fitting = fitting.collect();
    Some(Wrong::new(Problem::UnknownOption, name, fitting))
}

fn unknown(word: &str, known: &[&str]) -> Wrong {
    let near = spelling::nearest(word, known.iter().copied());
    let fitting = near.map(str::to_owned).into_iter().collect();
    Wrong::new(Problem::UnknownOption, word, fitting)
}
