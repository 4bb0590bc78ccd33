//! What Docker's own parser refuses, and the crate that reads the file takes: unknown flags, pairs without a value, names of
//! stages, references that name no image. The source is BuildKit's `frontend/dockerfile`: `instructions/parse.go`,
//! `instructions/bflag.go` and `parser/line_parsers.go`.

use std::ops::Range;

use parse_dockerfile::{Flag, Instruction};

use super::super::shell::Script;
use super::super::text::Text;
use crate::error::{Error, Result};
use crate::reference::name::Name;
use crate::spelling::nearest;

const FROM_FLAGS: &[&str] = &["platform"];
const RUN_FLAGS: &[&str] = &["mount", "network", "security", "device"];
const COPY_FLAGS: &[&str] = &["from", "chown", "chmod", "link", "parents", "exclude"];
const ADD_FLAGS: &[&str] = &[
    "keep-git-dir",
    "checksum",
    "chown",
    "chmod",
    "link",
    "exclude",
    "unpack",
];
const HEALTHCHECK_FLAGS: &[&str] = &[
    "interval",
    "timeout",
    "start-period",
    "start-interval",
    "retries",
];

/// Refuses flags that an instruction does not have, triggers that `ONBUILD` does not have, and stages without a valid name.
///
/// # Errors
/// [`Error::Rule`] that shows the place.
pub fn instruction(text: &Text<'_>, instruction: &Instruction<'_>) -> Result<()> {
    match instruction {
        Instruction::From(from) => {
            flags(text, "FROM", &from.options, FROM_FLAGS)?;
            let name = from.as_.as_ref().map(|(_, name)| name);
            match name.filter(|name| !is_stage_name(&name.value)) {
                None => Ok(()),
                Some(name) => Err(text.fault(
                    name.span.clone(),
                    &format!("`{}` is no name of a stage", name.value),
                    Some("a name begins with a letter, and has letters, digits, `-`, `_` and `.`"),
                )),
            }
        }
        Instruction::Run(run) => flags(text, "RUN", &run.options, RUN_FLAGS),
        Instruction::Copy(copy) => flags(text, "COPY", &copy.options, COPY_FLAGS),
        Instruction::Add(add) => flags(text, "ADD", &add.options, ADD_FLAGS),
        Instruction::Healthcheck(check) => {
            flags(text, "HEALTHCHECK", &check.options, HEALTHCHECK_FLAGS)
        }
        Instruction::Onbuild(onbuild) => {
            let trigger = match onbuild.instruction.as_ref() {
                Instruction::From(from) => &from.from,
                Instruction::Maintainer(maintainer) => &maintainer.maintainer,
                Instruction::Onbuild(onbuild) => &onbuild.onbuild,
                // Other triggers are judged where an image is built on this one.
                _ => return Ok(()),
            };
            let help = "ONBUILD takes any instruction but FROM, MAINTAINER and ONBUILD";
            let problem = "this cannot be a trigger";
            Err(text.fault(trigger.span.clone(), problem, Some(help)))
        }
        _ => Ok(()),
    }
}

fn flags(text: &Text<'_>, keyword: &str, flags: &[Flag<'_>], known: &[&str]) -> Result<()> {
    for flag in flags {
        let name = flag.name.value.as_ref();
        let is_plain = name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-');
        // `--` ends the flags.
        if name.is_empty() {
            return Ok(());
        }
        // Docker takes quotes away before it looks.
        if !is_plain || known.contains(&name) {
            continue;
        }
        let help = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `--{near}`?"),
            None => format!("{keyword} takes --{}", known.join(", --")),
        };
        let problem = format!("{keyword} has no flag `--{name}`");
        return Err(text.fault(flag.flag_span(), &problem, Some(&help)));
    }
    Ok(())
}

/// Refuses a reference that names no image, whatever the arguments of the build are: one with variables is not judged.
///
/// # Errors
/// [`Error::Rule`] that shows the place.
pub fn reference(text: &Text<'_>, span: Range<usize>, image: &str) -> Result<()> {
    let written = text.text.get(span.clone()).unwrap_or_default();
    if written.contains('$') || image == "scratch" {
        return Ok(());
    }
    match Name::of_grammar(image) {
        Err(Error::Usage { problem, help }) => Err(text.fault(span, &problem, help.as_deref())),
        _ => Ok(()),
    }
}

/// Refuses `ENV` and `LABEL` with a word that is no `name=value`, where they are not of the old form `NAME value`.
///
/// # Errors
/// [`Error::Rule`] that shows the place.
pub fn pairs(text: &Text<'_>, keyword: &str, script: &Script<'_>) -> Result<()> {
    // Two escapes at the end of a line end it for Docker, but not for the crate.
    let both = [script.escape, script.escape].iter().collect::<String>();
    if script
        .text
        .lines()
        .any(|line| line.trim_end().ends_with(&both))
    {
        return Ok(());
    }
    let mut words = script.words();
    // What is left of a last line that would go on.
    words.retain(|word| word.raw.trim() != script.escape.to_string());
    let Some(first) = words.first() else {
        return Ok(());
    };
    let help = format!("write {keyword} NAME=value");
    if !first.raw.contains('=') {
        let has_value = words.len() > 1 || first.raw.contains(char::is_whitespace);
        return match has_value {
            true => Ok(()),
            false => {
                let problem = format!("{keyword} `{}` has no value", first.raw);
                Err(text.fault(first.span.clone(), &problem, Some(&help)))
            }
        };
    }
    match words.iter().find(|word| !word.raw.contains('=')) {
        None => Ok(()),
        Some(word) => Err(text.fault(
            word.span.clone(),
            &format!("`{}` is no NAME=value", word.raw),
            Some("every word needs its `=`; a value with spaces stands in quotes"),
        )),
    }
}

fn is_stage_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c))
}
