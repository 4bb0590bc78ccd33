//! Console blocks as people read them, and as trycmd runs them.
//!
//! On a page, a comment above a block has the exit code if it is not 0, and a report has the time that a check once took. trycmd wants the
//! exit code below the command (`? 1`), and `[..]` for what differs from run to run.

use regex::{Captures, Regex};

/// The time that pages show.
const SHOWN: &str = "0.2 s";

fn expression(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

/// A block, with the comment above it.
fn block() -> Regex {
    expression(r"(?m)^(?:<!-- exit code (?P<code>\d+) -->\n)?```console\n(?P<body>(?s:.*?))^```$")
}

/// The command of a block, with its further lines.
fn command() -> Regex {
    expression(r"^\$ [^\n]*\n(?:> [^\n]*\n)*")
}

/// A page for trycmd.
///
/// # Panics
/// The page shows a mark of trycmd.
pub fn for_trycmd(name: &str, page: &str) -> String {
    let mark = expression(r"(?m)^\? |\[\.\.\]|\[EXE\]");
    let time = expression(r"(?m)( · )\d+\.\d+ s$");
    let run = |found: &Captures| {
        let body = &found["body"];
        assert!(
            !mark.is_match(body),
            "{name} shows a mark of trycmd:\n{body}"
        );
        let body = time.replace_all(body, "${1}[..] s").into_owned();
        let body = match found.name("code") {
            Some(code) => command()
                .replace(&body, format!("$0? {}\n", code.as_str()))
                .into_owned(),
            None => body,
        };
        format!("```console\n{body}```")
    };
    block().replace_all(page, run).into_owned()
}

/// The page of which this is the text for trycmd.
pub fn for_people(page: &str) -> String {
    let status = expression(r"(?m)^\? (\d+)\n");
    let show = |found: &Captures| {
        let body = found["body"].replace("[..] s\n", &format!("{SHOWN}\n"));
        let code = status.captures(&body).map(|it| it[1].to_owned());
        let body = status.replace(&body, "");
        let comment = code.map_or(String::new(), |code| format!("<!-- exit code {code} -->\n"));
        format!("{comment}```console\n{body}```")
    };
    block().replace_all(page, show).into_owned()
}

#[test]
fn a_page_is_the_same_after_both() {
    let page = "# Page\n\n<!-- exit code 1 -->\n```console\n$ imgcheck x\ndocker-archive · 2 layers · 0.2 s\n\nerror\n\n```\n\n\
        ```console\n$ imgcheck y\n\n```\n";
    let run = for_trycmd("page", page);
    assert!(run.contains("```console\n$ imgcheck x\n? 1\ndocker-archive · 2 layers · [..] s\n"));
    assert!(!run.contains("<!--"));
    assert_eq!(for_people(&run), page);
}
