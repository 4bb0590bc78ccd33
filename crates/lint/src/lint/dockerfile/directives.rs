//! Parser directives, and errors of the parser.

use super::super::text::Text;
use imgcheck_base::error::Error;
use imgcheck_base::spelling::nearest;

const INSTRUCTIONS: &[&str] = &[
    "ADD",
    "ARG",
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "EXPOSE",
    "FROM",
    "HEALTHCHECK",
    "LABEL",
    "MAINTAINER",
    "ONBUILD",
    "RUN",
    "SHELL",
    "STOPSIGNAL",
    "USER",
    "VOLUME",
    "WORKDIR",
];

/// The escape character, which a `# escape=` directive may set to a backtick.
pub fn escape_directive(text: &str) -> char {
    match directive(text, "escape") {
        Some("`") => '`',
        _ => '\\',
    }
}

/// The value of a parser directive: `# name=value`.
pub fn directive<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let directives = text
        .lines()
        .map_while(|line| line.trim().strip_prefix('#')?.split_once('='));
    let found = directives.filter(|(known, _)| known.trim().eq_ignore_ascii_case(name));
    found.last().map(|(_, value)| value.trim())
}

/// Shows an error of the parser, with a suggestion for a misspelled instruction.
pub fn fault(text: &Text<'_>, error: &parse_dockerfile::Error) -> Error {
    let start = text.start_of(error.line()) + error.column().saturating_sub(1);
    let rest = text.text.get(start..).unwrap_or_default();
    let word = rest.split(char::is_whitespace).next().unwrap_or_default();
    let problem = format!("{error:#}");
    let keyword = word.to_uppercase();
    let help = match INSTRUCTIONS.contains(&keyword.as_str()) {
        true => None,
        false => nearest(&keyword, INSTRUCTIONS.iter().copied())
            .map(|near| format!("did you mean `{near}`?")),
    };
    text.fault(start..start + word.len().max(1), &problem, help.as_deref())
}
