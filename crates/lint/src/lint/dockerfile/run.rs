//! `RUN`: the packages that its commands install, and the files they write.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use super::super::command::{Command, commands};
use super::super::facts::SearchDirectory;
use super::super::install::{Argument, unwrapped};
use super::super::shell::{Script, Word};
use super::super::text::Text;
use super::copies::absolute;
use super::session::{SHELLS, Session, activate, assign, inline_script, script_path};
use super::state::{MAX_PARTS, State};
use imgcheck_base::error::Result;
use imgcheck_base::lexical::name_of;

/// How many times the commands of loops are read.
const MAX_RUNS: usize = 64;

/// The maximum nesting of `bash -c`.
const MAX_DEPTH: usize = 4;

impl State<'_> {
    /// Reads a script. `documents` are the here-documents of its commands, in order.
    pub fn run(
        &mut self,
        text: &Text<'_>,
        script: Script<'_>,
        documents: VecDeque<Script<'_>>,
    ) -> Result<()> {
        let other = script
            .text
            .strip_prefix("#!")
            .and_then(|rest| rest.lines().next());
        if other.is_some_and(|interpreter| !interpreter.trim_end().ends_with("sh")) {
            return Ok(());
        }
        self.script(text, script, documents, &mut Session::default())
    }

    /// Reads a command in the exec form.
    pub fn run_words<'w>(
        &mut self,
        text: &Text<'_>,
        words: impl Iterator<Item = (&'w str, Range<usize>)>,
    ) -> Result<()> {
        let words = words.map(|(word, span)| Argument {
            text: word.to_owned(),
            known: true,
            span,
        });
        let words: Vec<Argument> = words.collect();
        let words = unwrapped(&words);
        if let Some((inner, at)) = inline_script(words) {
            // The position may be that of a quote. Escapes in the script would shift what follows.
            let places = [at, at + 1].into_iter();
            let mut places =
                places.filter(|at| text.text.get(*at..at + inner.len()) == Some(inner));
            let Some(offset) = places.next() else {
                return Ok(());
            };
            let script = Script {
                text: inner,
                offset,
                escape: '\\',
                instruction: false,
            };
            return self.script(text, script, VecDeque::new(), &mut Session::default());
        }
        self.install(text, words, false, &Session::default())
    }

    fn script(
        &mut self,
        text: &Text<'_>,
        script: Script<'_>,
        mut documents: VecDeque<Script<'_>>,
        session: &mut Session,
    ) -> Result<()> {
        let commands = commands(&script);
        for (index, command) in commands.iter().enumerate() {
            // Each document is read by one command.
            let body = match command.here_document {
                true => documents.pop_front(),
                false => None,
            };
            for values in self.loop_values(&script, command, session) {
                session.variables.extend(values);
                self.command(
                    text,
                    &script,
                    (command, commands.get(index + 1)),
                    body,
                    session,
                )?;
            }
        }
        Ok(())
    }

    /// The values of the loop variables of a command, for each time that it runs.
    fn loop_values(
        &self,
        script: &Script<'_>,
        command: &Command<'_>,
        session: &Session,
    ) -> Vec<BTreeMap<String, Option<String>>> {
        let mut runs = vec![BTreeMap::new()];
        for (name, words) in &command.loops {
            let mentioned = |word: &Word<'_>| word.raw.contains('$') && word.raw.contains(name.raw);
            if !command.words.iter().any(mentioned) {
                continue;
            }
            let values = |name: &str| self.session_value(name, session);
            let expanded: Vec<_> = words
                .iter()
                .map(|word| script.value(word, &values))
                .collect();
            let known = expanded
                .iter()
                .all(|word| word.known && !word.text.contains(['*', '?']));
            let each: Vec<Option<String>> = match known {
                true => {
                    let words = expanded
                        .iter()
                        .flat_map(|word| word.text.split_whitespace());
                    words.map(|word| Some(word.to_owned())).collect()
                }
                false => vec![None],
            };
            let with = |run: &BTreeMap<String, Option<String>>, value: &Option<String>| {
                let mut run = run.clone();
                run.insert(name.raw.to_owned(), value.clone());
                run
            };
            let each = each.iter().take(MAX_RUNS);
            let product = runs
                .iter()
                .flat_map(|run| each.clone().map(move |value| with(run, value)));
            runs = product.take(MAX_RUNS).collect();
        }
        runs
    }

    fn command(
        &mut self,
        text: &Text<'_>,
        script: &Script<'_>,
        (command, next): (&Command<'_>, Option<&Command<'_>>),
        body: Option<Script<'_>>,
        session: &mut Session,
    ) -> Result<()> {
        let mut conditional = command.conditional;
        for condition in &command.conditions {
            let values = |name: &str| self.session_value(name, session);
            let text = |word: &Word<'_>| {
                let value = script.value(word, &values);
                value.known.then_some(value.text)
            };
            match condition.holds(&text) {
                Some(false) => return Ok(()),
                Some(true) => {}
                None => conditional = true,
            }
        }
        let words = self.words(script, command, session);
        let program = words
            .first()
            .map(|word| word.text.as_str())
            .unwrap_or_default();
        let name = name_of(program).to_owned();
        if let Some(body) = body
            && SHELLS.contains(&name.as_str())
        {
            self.script(text, body, VecDeque::new(), session)?;
        }
        if assign(&words, conditional, session) {
            return Ok(());
        }
        activate(&words, session);
        for word in &words {
            self.repository(text, &word.text, word.span.clone());
        }
        if name == "cd" && words.len() == 2 {
            session.directory = Some(absolute(self.directory(session), &words[1].text));
        }
        self.loader_configuration(text, script, command, (&words, next), body, session);
        if SHELLS.contains(&name.as_str()) && session.depth < MAX_DEPTH {
            let raw: Vec<&str> = command.words.iter().map(|word| word.raw).collect();
            if let Some((inner, at)) = inline_script(&words)
                && raw
                    .iter()
                    .any(|word| word.len() == inner.len() + 2 && word.contains(inner))
            {
                let inner = Script {
                    text: inner,
                    offset: at + 1,
                    ..*script
                };
                self.nested(text, inner, conditional, session)?;
                return Ok(());
            }
        }
        if let Some(path) = script_path(&words).filter(|_| session.depth < MAX_DEPTH) {
            let path = absolute(self.directory(session), path);
            if let Some((path, content)) = self.origin(text, &path)? {
                let name = self.recorder.context().name(&path);
                let other = self.recorder.context().text(&name, &content)?;
                let script = Script {
                    text: other.text,
                    offset: 0,
                    escape: '\\',
                    instruction: false,
                };
                self.nested(&other, script, conditional, session)?;
            }
            return Ok(());
        }
        self.install(text, &words, conditional, session)
    }

    /// Reads a script that a command runs.
    fn nested(
        &mut self,
        text: &Text<'_>,
        script: Script<'_>,
        conditional: bool,
        session: &mut Session,
    ) -> Result<()> {
        let outer = (session.conditional, session.directory.clone());
        session.conditional |= conditional;
        session.depth += 1;
        self.script(text, script, VecDeque::new(), session)?;
        session.depth -= 1;
        (session.conditional, session.directory) = outer;
        Ok(())
    }

    /// Records the distribution in the address of a repository of NVIDIA.
    pub fn repository(&mut self, text: &Text<'_>, word: &str, span: Range<usize>) {
        // The same key signs the packages for all of them.
        let is_key = word.ends_with(".pub") || word.ends_with(".gpg");
        let found = ["/compute/cuda/repos/", "/devtools/repos/"]
            .iter()
            .find_map(|path| word.split_once(path).filter(|_| !is_key));
        let found = found.map(|(_, rest)| rest);
        let name = found
            .and_then(|rest| rest.split(['/', ' ', '"']).next())
            .unwrap_or_default();
        let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_plain && self.stage.repositories.len() < MAX_PARTS {
            self.stage.repositories.push(SearchDirectory {
                text: name.to_owned(),
                location: text.location(span),
            });
        }
    }

    /// The words of a command with expanded variables.
    pub fn words(
        &self,
        script: &Script<'_>,
        command: &Command<'_>,
        session: &Session,
    ) -> Vec<Argument> {
        let values = |name: &str| self.session_value(name, session);
        let words = command.words.iter().map(|word| {
            let expanded = script.value(word, &values);
            Argument {
                text: expanded.text,
                known: expanded.known,
                span: word.span.clone(),
            }
        });
        unwrapped(&words.collect::<Vec<_>>()).to_vec()
    }

    /// The value of a variable at this point of a script.
    pub fn session_value(&self, name: &str, session: &Session) -> Option<String> {
        match session.variables.get(name) {
            Some(value) => value.clone(),
            None => self.value(name),
        }
    }
}
