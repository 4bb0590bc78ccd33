//! Options in a requirements file, and after a requirement.

use super::super::text::Text;
use super::super::words::{option_and_value, words};
use super::line::Line;
use imgcheck_base::error::Result;
use imgcheck_base::spelling::nearest;

/// Options with a value: pip's `SUPPORTED_OPTIONS` and `SUPPORTED_OPTIONS_REQ` (`pip/_internal/req/req_file.py`).
const VALUES: &[&str] = &[
    "--config-setting",
    "--config-settings",
    "--constraint",
    "--editable",
    "--extra-index-url",
    "--find-links",
    "--global-option",
    "--hash",
    "--index-url",
    "--no-binary",
    "--only-binary",
    "--pypi-url",
    "--requirement",
    "--trusted-host",
    "--use-feature",
    "-C",
    "-c",
    "-e",
    "-f",
    "-i",
    "-r",
];

/// Options without a value.
const FLAGS: &[&str] = &["--no-index", "--pre", "--prefer-binary", "--require-hashes"];

/// Options of other pip releases and of uv, some with a value; they are accepted and ignored.
const OTHERS: &[&str] = &[
    "--all-releases",
    "--allow-all-external",
    "--allow-external",
    "--allow-unverified",
    "--always-unzip",
    "--default-index",
    "--index",
    "--install-option",
    "--no-use-wheel",
    "--only-final",
    "--process-dependency-links",
    "--torch-backend",
    "--use-wheel",
    "-Z",
];

/// The options of a part of a line, with their values: `--name value`, `--name=value`, `-nvalue`; a flag has an empty value.
///
/// # Errors
/// [`imgcheck_base::error::Error::Rule`] with the position of an unknown option, or of one without its value.
pub fn read<'l>(text: &Text<'_>, line: &Line, written: &'l str) -> Result<Vec<(&'l str, &'l str)>> {
    // pip splits words as a shell does.
    let mut words = words(written, '\\').into_iter().map(|word| word.raw);
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        if !word.starts_with('-') || word == "-" || word == "--" {
            continue;
        }
        let (name, joined) = option_and_value(word);
        let fault = |problem: String, help: Option<&str>| {
            let shown = text.text.get(line.span.clone()).unwrap_or_default();
            let start = line.span.start + shown.find(word).unwrap_or(0);
            Err(text.fault(start..start + name.len(), &problem, help))
        };
        let Some(name) = full_name(name) else {
            let help = match nearest(name, all().filter(|known| known.len() > 2)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known options: {}", [FLAGS, VALUES].concat().join(", ")),
            };
            return fault(format!("unknown option `{name}`"), Some(&help));
        };
        if FLAGS.contains(&name) {
            found.push((name, ""));
            continue;
        }
        let value = match joined {
            // Some of these options have a value: the next word, unless it is an option.
            None if OTHERS.contains(&name) => {
                let next = words.clone().next().filter(|next| !next.starts_with('-'));
                if next.is_some() {
                    words.next();
                }
                Some(next.unwrap_or_default())
            }
            joined => joined.or_else(|| words.next()),
        };
        let Some(value) = value else {
            return fault(format!("`{name}` has no value"), None);
        };
        found.push((name, value.trim_matches(['"', '\''])));
    }
    Ok(found)
}

/// The option with a name, which may be abbreviated if it is long.
fn full_name(name: &str) -> Option<&'static str> {
    let exact = all().find(|known| *known == name);
    let is_long = name.starts_with("--");
    exact.or_else(|| all().find(|known| is_long && known.starts_with(name)))
}

fn all() -> impl Iterator<Item = &'static str> {
    [VALUES, FLAGS, OTHERS].into_iter().flatten().copied()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn options(written: &str) -> std::result::Result<Vec<(String, String)>, String> {
        let text = Text::new("f", written).unwrap();
        let line = Line {
            text: written.to_owned(),
            span: 0..written.len(),
        };
        let found = read(&text, &line, written).map_err(|error| error.to_string())?;
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Ok(found.into_iter().map(owned).collect())
    }

    #[test]
    fn names_and_values_are_split() {
        for (written, name, value) in [
            ("--index-url=https://x", "--index-url", "https://x"),
            ("--extra-index https://x", "--extra-index-url", "https://x"),
            ("-i 'https://x'", "-i", "https://x"),
            ("-r  y.txt", "-r", "y.txt"),
            ("-ry.txt", "-r", "y.txt"),
            ("-e .[a] --config-settings x=y", "-e", ".[a]"),
            ("--pre", "--pre", ""),
            ("--no-index --find-links /x", "--no-index", ""),
            ("--hash sha256:x --hash=sha256:y", "--hash", "sha256:x"),
            ("--install-option=\"-x\"", "--install-option", "-x"),
            ("--use-wheel --pre", "--use-wheel", ""),
        ] {
            let found = options(written).unwrap();
            assert_eq!(found[0], (name.to_owned(), value.to_owned()), "{written}");
        }
        assert_eq!(options("--no-index --find-links /x -").unwrap()[1].1, "/x");
    }

    #[test]
    fn unknown_options_and_missing_values_are_rejected() {
        for (written, problem) in [
            ("--bogus", "unknown option `--bogus`"),
            ("--requirment x", "did you mean `--requirement`?"),
            ("--pre --hsah=x", "did you mean `--hash`?"),
            ("-é", "unknown option `-é`"),
            ("-U", "unknown option `-U`"),
            ("--requirement", "`--requirement` has no value"),
            ("-i", "`-i` has no value"),
            ("--hash", "`--hash` has no value"),
        ] {
            let error = options(written).unwrap_err();
            assert!(error.contains(problem), "{written}: {error}");
        }
    }
}
