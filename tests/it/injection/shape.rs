//! What a document is made of beside its texts. A text that changes it is more than a text.

use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::Value;

use crate::documents;

/// Lines.
pub fn lines(text: &str) -> Vec<String> {
    vec![format!("{} lines", text.lines().count())]
}

/// Lines, except those that say what to write instead: what is wrong with a text decides whether there is one.
pub fn lines_without_help(text: &str) -> Vec<String> {
    let is_help = |it: &&str| it.starts_with("    help: ");
    let rest: Vec<&str> = text.lines().filter(|it| !is_help(it)).collect();
    lines(&rest.join("\n"))
}

/// Keys, and types of values.
pub fn json(text: &str) -> Vec<String> {
    let mut shape = Vec::new();
    collect("", &serde_json::from_str(text).unwrap(), &mut shape);
    shape
}

fn collect(place: &str, value: &Value, shape: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                collect(&format!("{place}.{name}"), value, shape);
            }
        }
        Value::Array(elements) => {
            shape.push(format!("{place}: {} elements", elements.len()));
            for value in elements {
                collect(place, value, shape);
            }
        }
        Value::String(_) => shape.push(format!("{place}: text")),
        Value::Number(_) => shape.push(format!("{place}: number")),
        other => shape.push(format!("{place}: {other}")),
    }
}

/// As JSON, and by the published schema; of addresses also the signs that are none of a path.
pub fn sarif(text: &str) -> Vec<String> {
    let log = documents::sarif(text);
    for uri in documents::values(&log["runs"][0]["results"], "uri") {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~/%".contains(c);
        assert!(!uri.is_empty() && uri.chars().all(allowed), "{uri}");
    }
    let run = &log["runs"][0];
    let notifications = run["invocations"][0]["toolExecutionNotifications"].as_array();
    let results = run["results"].as_array().into_iter().flatten();
    for message in results.chain(notifications.into_iter().flatten()) {
        let message = message["message"]["text"].as_str().unwrap();
        assert!(!message.replace("\\]", "").contains("]("), "{message}");
        for placeholder in ["{0}", "{1}", "{12}"] {
            let alone = message.replace(&format!("{{{placeholder}}}"), "");
            assert!(!alone.contains(placeholder), "{message}");
        }
    }
    json(text)
}

/// As JSON, and by the published schema; package URLs hold only what they may.
pub fn cyclonedx(text: &str) -> Vec<String> {
    for purl in documents::values(&documents::cyclonedx(text), "purl") {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~/%:@?=&".contains(c);
        assert!(purl.chars().all(allowed), "{purl}");
    }
    json(text)
}

/// As JSON; places are relative.
pub fn gitlab(text: &str) -> Vec<String> {
    for path in documents::values(&serde_json::from_str(text).unwrap(), "path") {
        assert!(!path.starts_with('/') && !path.contains('\n'), "{path}");
    }
    json(text)
}

/// Tags with the names of their attributes, and what a parser of JUnit counts.
pub fn junit(text: &str) -> Vec<String> {
    let document = quick_junit::Report::deserialize_from_str(text).unwrap();
    let mut shape = tags(text);
    shape.push(format!(
        "{} errors, {} failures, {} suites",
        document.errors,
        document.failures,
        document.test_suites.len()
    ));
    shape
}

/// Tags with the names of their attributes. What stands between backticks is code, and that is all that a text can make.
pub fn tags(text: &str) -> Vec<String> {
    let text = text.replace("<code>", "").replace("</code>", "");
    let tags = text.split('<').skip(1).map(|rest| {
        let tag = rest.split('>').next().unwrap_or_default();
        // Every other piece is a value.
        tag.split('"').step_by(2).collect::<Vec<_>>().join("…")
    });
    tags.collect()
}

/// The signs beside tags that would end a text or the value of an attribute; code as in [`tags`].
pub fn html(text: &str) -> Vec<String> {
    let mut shape = tags(text);
    let bare = text.replace("<code>", "").replace("</code>", "");
    for sign in ['>', '"', '\''] {
        shape.push(format!("{} of {sign}", bare.matches(sign).count()));
    }
    shape
}

/// What Markdown makes of it, with all extensions of GitHub and GitLab.
pub fn markdown(text: &str) -> Vec<String> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM
        | Options::ENABLE_WIKILINKS;
    let mut is_code = false;
    let mut shape = Vec::new();
    let mut words = String::new();
    for event in Parser::new_ext(text, options) {
        if let Event::Text(text) = &event
            && !is_code
        {
            assert!(
                !text.contains("https://") && !text.contains("www."),
                "{text}"
            );
            words.push_str(text);
            continue;
        }
        nobody_is_mentioned(&words);
        words.clear();
        match event {
            Event::Text(_) | Event::Code(_) => {}
            Event::InlineHtml(tag) if matches!(&*tag, "<code>" | "</code>") => {
                is_code = &*tag == "<code>";
            }
            // A summary is a block of HTML: what is in it was not read as Markdown.
            Event::Html(html) | Event::InlineHtml(html) => shape.extend(tags(&html)),
            Event::Start(Tag::Link { dest_url, .. }) => shape.push(format!("link {dest_url}")),
            event => shape.push(format!("{event:?}")),
        }
    }
    shape
}

/// GitHub and GitLab look for people and issues in the text that comes out.
fn nobody_is_mentioned(text: &str) {
    let letter: fn(char) -> bool = |c| c.is_ascii_alphanumeric();
    let digit: fn(char) -> bool = |c| c.is_ascii_digit();
    for (sign, next) in [("@", letter), ("#", letter), ("GH-", digit), ("!", digit)] {
        let mut words = text.split(sign).skip(1);
        assert!(
            !words.any(|rest| rest.starts_with(next)),
            "{sign} in {text}"
        );
    }
}

/// Commands with the names of their properties, and the other lines.
pub fn github(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| match line.strip_prefix("::") {
        Some(command) => {
            let (head, _) = command.split_once("::").unwrap();
            let names = head.split(',').map(|property| {
                let (name, value) = property.split_once('=').unwrap();
                assert!(!value.contains(':'), "{line}");
                name
            });
            names.collect::<Vec<_>>().join(" ")
        }
        None => "a line".to_owned(),
    });
    lines.collect()
}

/// All that stands outside of strings (the language of Graphviz).
pub fn dot(text: &str) -> Vec<String> {
    let (mut outside, mut is_text, mut is_escaped) = (String::new(), false, false);
    for c in text.chars() {
        match c {
            '"' if !is_escaped => {
                is_text = !is_text;
                outside.push(c);
            }
            _ if !is_text => outside.push(c),
            _ => {}
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    vec![outside]
}
