//! `devcontainer.json`: the image or the Dockerfile of a development container, and the commands that prepare it.

use std::collections::BTreeMap;

use super::parts::{image, scalar, variables};
use crate::lint::build::{self, Request};
use crate::lint::context::Context;
use crate::lint::dockerfile::{self, Build, Described};
use crate::lint::facts::Stage;
use crate::lint::form;
use crate::lint::kind::FileKind;
use crate::lint::text::Text;
use imgcheck_base::document::{self, Node};
use imgcheck_base::error::Result;

/// Commands that run once in the new container, in this order.
const COMMANDS: &[&str] = &[
    "onCreateCommand",
    "updateContentCommand",
    "postCreateCommand",
];

/// Reads it. A Compose file that it names is a file of its own.
pub fn read(text: &Text<'_>, context: &Context<'_>) -> Result<Vec<Stage>> {
    let documents = document::read(text.name, &without_comments(text.text))?;
    form::check_documents(text, FileKind::Devcontainer, &documents)?;
    let mut stages = Vec::new();
    for document in &documents {
        if let Some(request) = request(document) {
            build::append(&mut stages, build::stages(text, context, &request)?);
            continue;
        }
        let commands = COMMANDS.iter().filter_map(|key| document.get(key));
        let named = commands.flat_map(|it| match it.text() {
            Some(_) => vec![it],
            None => it.entries().map(|(_, value)| value).collect(),
        });
        let described = Described {
            image: document.get("image").and_then(|it| image(text, it, "")),
            env: variables(text, document.get("containerEnv")),
            commands: named.map(|it| vec![scalar(it)]).collect(),
            sees_files: false,
            ..Described::default()
        };
        stages.push(dockerfile::described(text, context, described)?);
    }
    Ok(stages)
}

/// The Dockerfile that it builds: `build.dockerfile`, or `dockerFile` of older files, both beside the file.
fn request(document: &Node) -> Option<Request> {
    let section = document.get("build");
    let own = section.and_then(|it| it.get("dockerfile"));
    let node = own.or_else(|| document.get("dockerFile"))?;
    let arguments = section.and_then(|it| it.get("args"));
    let arguments = arguments.into_iter().flat_map(Node::pairs);
    let known = arguments.map(|(name, value)| {
        let value = (!value.contains("${")).then(|| value.to_owned());
        (name.to_owned(), value)
    });
    let target = section.and_then(|it| it.get("target"));
    let context = section.unwrap_or(document).text_of("context");
    Some(Request {
        context: context.unwrap_or_default().to_owned(),
        is_beside: true,
        dockerfile: Some(node.text()?.to_owned()),
        inline: None,
        place: node.span.clone(),
        target_place: target.unwrap_or(node).span.clone(),
        build: Build {
            arguments: known.collect::<BTreeMap<_, _>>(),
            target: target.and_then(Node::text).map(str::to_owned),
        },
    })
}

/// JSON with comments and tabs as YAML of the same length.
fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut at, mut in_text) = (0, false);
    while at < bytes.len() {
        let end = match (bytes[at], bytes.get(at + 1)) {
            (b'\\', _) if in_text => {
                at += 2;
                continue;
            }
            (b'"', _) => {
                in_text = !in_text;
                at + 1
            }
            (b'\t', _) if !in_text => {
                bytes[at] = b' ';
                at + 1
            }
            (b'/', Some(b'/')) if !in_text => comment(&mut bytes, at, b"\n"),
            (b'/', Some(b'*')) if !in_text => comment(&mut bytes, at, b"*/"),
            _ => at + 1,
        };
        at = end;
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Replaces a comment by spaces up to its end, and returns where that is. Ends of lines stay.
fn comment(bytes: &mut [u8], start: usize, end: &[u8]) -> usize {
    let rest = bytes.get(start + 2..).unwrap_or_default();
    let found = rest.windows(end.len()).position(|it| it == end);
    let length = found.map_or(
        rest.len(),
        |at| if end.len() == 1 { at } else { at + end.len() },
    );
    let stop = start + 2 + length;
    for byte in &mut bytes[start..stop] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
    stop
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_spaces() {
        for (text, plain) in [
            ("{\"a\": \"//x\"} // é\n{}", "{\"a\": \"//x\"}      \n{}"),
            ("/* a\nb */1", "    \n    1"),
            ("\"\\\"//\" // a", "\"\\\"//\"     "),
            ("\t{\"\t\"}", " {\"\t\"}"),
            ("/*", "  "),
            ("//", "  "),
            ("/", "/"),
            ("\"\\", "\"\\"),
        ] {
            assert_eq!(without_comments(text), plain, "{text}");
        }
    }
}
