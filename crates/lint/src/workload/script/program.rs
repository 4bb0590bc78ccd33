//! The program of a command.

use crate::lint::Argument;

/// Programs that start the command after them without a change.
pub(super) const BEFORE: [&str; 6] = ["command", "env", "exec", "nohup", "sudo", "time"];

/// Words before assignments that change nothing about the value.
const DECLARATIONS: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];

/// The variables that a command sets, if it does nothing else.
pub(super) fn assignments(words: &[Argument]) -> Option<Vec<(String, String)>> {
    let is_declaration = |it: &&Argument| DECLARATIONS.contains(&it.text.as_str());
    let skipped = usize::from(words.first().is_some_and(|it| is_declaration(&it)));
    let pairs = words[skipped..].iter().map(|word| {
        let (name, value) = word.text.split_once('=')?;
        (!name.starts_with('-')).then(|| (name.to_owned(), value.to_owned()))
    });
    pairs.collect()
}

/// A command without what starts it unchanged: variables that are set for it, `sudo`, `exec`, `time`.
pub(super) fn program(words: &[Argument]) -> &[Argument] {
    let is_option = |it: &Argument| it.text.starts_with('-');
    let is_assignment = |it: &Argument| !is_option(it) && it.text.contains('=');
    let is_before = |at: usize| {
        BEFORE.contains(&words[at].text.as_str()) && !words.get(at + 1).is_some_and(is_option)
    };
    let mut at = 0;
    while at < words.len() && (is_assignment(&words[at]) || is_before(at)) {
        at += 1;
    }
    &words[at..]
}
