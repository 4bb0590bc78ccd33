//! Checks that Docker's parser makes and the parser crate does not: flags, pairs without a value, names of stages, invalid
//! references. The source is BuildKit's `frontend/dockerfile`: `instructions/parse.go`, `instructions/bflag.go` and
//! `parser/line_parsers.go`.

use std::ops::Range;

use parse_dockerfile::{Flag, Instruction};

use super::super::script::Script;
use super::super::text::Text;
use super::super::words::{Word, words};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::reference::name::Name;
use imgcheck_base::spelling::nearest;

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

/// Rejects unknown flags, invalid `ONBUILD` triggers, and invalid stage names.
///
/// # Errors
/// [`Error::Rule`] with the position.
pub fn instruction(text: &Text<'_>, instruction: &Instruction<'_>) -> Result<()> {
    match instruction {
        Instruction::From(from) => {
            flags(text, "FROM", &from.options, FROM_FLAGS)?;
            let name = from.as_.as_ref().map(|(_, name)| name);
            match name.filter(|name| !is_stage_name(&name.value)) {
                None => Ok(()),
                Some(name) => Err(text.fault(
                    name.span.clone(),
                    &format!("invalid stage name `{}`", name.value),
                    Some("a stage name starts with a letter and has letters, digits, `-`, `_` and `.`"),
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
                // Other triggers are checked when an image is built from this one.
                _ => return Ok(()),
            };
            let help = "ONBUILD accepts any instruction except FROM, MAINTAINER and ONBUILD";
            let problem = "invalid trigger";
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
        // Docker removes quotes first.
        if !is_plain || known.contains(&name) {
            continue;
        }
        let help = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `--{near}`?"),
            None => format!("{keyword} accepts --{}", known.join(", --")),
        };
        let problem = format!("unknown flag `--{name}` of {keyword}");
        return Err(text.fault(flag.flag_span(), &problem, Some(&help)));
    }
    Ok(())
}

/// Rejects an invalid image reference. References with variables are not checked.
///
/// # Errors
/// [`Error::Rule`] with the position.
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

/// Rejects `ENV` and `LABEL` with a word that is not `name=value`, except in the old form `NAME value`.
///
/// # Errors
/// [`Error::Rule`] with the position.
pub fn pairs(text: &Text<'_>, keyword: &str, (span, escape): (Range<usize>, char)) -> Result<()> {
    let written = text.text.get(span.clone()).unwrap_or_default();
    // Two escapes at the end of a line end it in Docker, but not in the crate.
    let both = [escape, escape].iter().collect::<String>();
    if written.lines().any(|line| line.trim_end().ends_with(&both)) {
        return Ok(());
    }
    let script = Script::instruction(written, span.start, escape);
    let span = |word: &Word<'_>| script.span(word.range());
    let mut words = words(&script.text, escape);
    // The rest of a last line with an escape at its end.
    words.retain(|word| word.raw.trim() != escape.to_string());
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
                Err(text.fault(span(first), &problem, Some(&help)))
            }
        };
    }
    match words.iter().find(|word| !word.raw.contains('=')) {
        None => Ok(()),
        Some(word) => Err(text.fault(
            span(word),
            &format!("`{}` is not NAME=value", word.raw),
            Some("every word needs an `=`; quote values with spaces"),
        )),
    }
}

fn is_stage_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c))
}
