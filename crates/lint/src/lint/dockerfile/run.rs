//! `RUN`: the packages that its commands install, and the files they write.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::command::{Command, Loop, commands};
use super::super::facts::SearchDirectory;
use super::super::install::{Argument, unwrapped};
use super::super::script::Script;
use super::super::text::Text;
use super::copies::{absolute, place};
use super::session::{SHELLS, Session, activate, assign, inline_script, script_path};
use super::state::{MAX_PARTS, State};
use imgcheck_base::error::Result;
use imgcheck_base::lexical::name_of;
use imgcheck_launch::shell::syntax::Word;

/// How many times the commands of loops are read.
const MAX_RUNS: usize = 64;

/// The maximum nesting of `bash -c`.
const MAX_DEPTH: usize = 4;

impl State<'_> {
    /// Reads a script.
    pub fn run(&mut self, text: &Text<'_>, script: &Script<'_>) -> Result<()> {
        let other = script
            .text
            .strip_prefix("#!")
            .and_then(|rest| rest.lines().next());
        if other.is_some_and(|interpreter| !interpreter.trim_end().ends_with("sh")) {
            self.has_own_pip = true;
            return Ok(());
        }
        let mut session = Session {
            active: self.shell_environment.as_deref().map(place),
            ..Session::default()
        };
        self.script(text, script, &mut session)
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
        let words = self.unwrapped(&words);
        self.has_own_pip = true;
        if let Some(script) = inline_script(words) {
            let (inner, at) = (&script.text, script.span.start);
            // The position may be that of a quote. Escapes in the script would shift what follows.
            let places = [at, at + 1].into_iter();
            let mut places =
                places.filter(|at| text.text.get(*at..at + inner.len()) == Some(inner.as_str()));
            let Some(offset) = places.next() else {
                return Ok(());
            };
            return self.script(text, &Script::new(inner, offset), &mut Session::default());
        }
        self.install(text, words, false, &Session::default())
    }

    fn script(
        &mut self,
        text: &Text<'_>,
        script: &Script<'_>,
        session: &mut Session,
    ) -> Result<()> {
        let list = script.parse().map_err(|(span, problem)| {
            let problem = format!("the script is not understood: {problem}");
            text.fault(span, &problem, None)
        })?;
        let commands = commands(&list);
        for (index, command) in commands.iter().enumerate() {
            for values in self.loop_values(script, command, session) {
                session.variables.extend(values);
                let next = commands.get(index + 1);
                self.command(text, script, (command, next), session)?;
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
        for Loop { name, words } in &command.loops {
            let mentioned = |span: &Range<usize>| {
                let written = script.written(span.clone());
                written.contains('$') && written.contains(name)
            };
            let assigned = command.assignments.iter().map(|it| &it.span);
            let mut all = assigned.chain(command.words.iter().map(|it| &it.span));
            if !all.any(mentioned) {
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
                run.insert((*name).to_owned(), value.clone());
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
        session: &mut Session,
    ) -> Result<()> {
        let mut conditional = command.conditional || command.may_fail;
        for condition in &command.conditions {
            let values = |name: &str| self.session_value(name, session);
            let text = |word: &Word| {
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
        let body = script.here_document(command);
        if let Some(body) = &body
            && SHELLS.contains(&name.as_str())
            && session.depth < MAX_DEPTH
        {
            self.nested(text, body, conditional, session)?;
        }
        let is_certain = !conditional && !session.conditional && !script.text.contains("||");
        self.system_pip(
            text,
            (command, &words),
            is_certain && session.active.is_none(),
            session,
        );
        if assign(&words, conditional, session) {
            return Ok(());
        }
        for word in &words {
            self.repository(text, &word.text, word.span.clone());
            self.index_file(&word.text);
        }
        let outputs = command.outputs().filter_map(Word::plain);
        outputs.for_each(|it| self.index_file(it));
        if command.is_list {
            return Ok(());
        }
        activate(&words, session);
        self.clone_repository(&words, session);
        self.virtual_environment(text, &words, session)?;
        if name == "cd" && words.len() == 2 {
            session.directory = Some(absolute(self.directory(session), &words[1].text));
        }
        self.loader_configuration(text, script, (command, next), (&words, body), session);
        if session.depth < MAX_DEPTH
            && let Some(inner) = inline_script(&words)
            && let Some(inner) = quoted(script, command, inner)
        {
            return self.nested(text, &inner, conditional, session);
        }
        if let Some(path) = script_path(&words).filter(|_| session.depth < MAX_DEPTH) {
            let path = absolute(self.directory(session), path);
            // A script that is not read may make an environment.
            let found = self.origin(text, &path)?;
            self.has_environment |= found.is_none();
            if let Some((path, content)) = found {
                let name = self.recorder.context().name(&path);
                let other = self.recorder.context().text(&name, &content)?;
                let script = Script::new(other.text, 0);
                self.nested(&other, &script, conditional, session)?;
            }
            return Ok(());
        }
        self.check_environment(text, &words, is_certain, session)?;
        self.install(text, &words, conditional, session)
    }

    /// Reads a script that a command runs.
    fn nested(
        &mut self,
        text: &Text<'_>,
        script: &Script<'_>,
        conditional: bool,
        session: &mut Session,
    ) -> Result<()> {
        let outer = (session.conditional, session.directory.clone());
        session.conditional |= conditional;
        session.depth += 1;
        self.script(text, script, session)?;
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
        self.unwrapped(&script.arguments(command, &values)).to_vec()
    }

    fn unwrapped<'w>(&self, words: &'w [Argument]) -> &'w [Argument] {
        unwrapped(words, &self.recorder.context().knowledge.launch)
    }

    /// The value of a variable at this point of a script.
    pub fn session_value(&self, name: &str, session: &Session) -> Option<String> {
        match session.variables.get(name) {
            Some(value) => value.clone(),
            None => self.value(name),
        }
    }
}

/// The script that an argument is: what is between its quotes, if nothing in it is expanded.
fn quoted<'s>(
    script: &'s Script<'_>,
    command: &Command<'_>,
    argument: &Argument,
) -> Option<Script<'s>> {
    let mut words = command.words.iter().map(|it| it.span.clone());
    let word = words.find(|it| script.span(it.clone()) == argument.span)?;
    let inner = word.start + 1..word.end - 1;
    (script.written(inner.clone()) == argument.text).then(|| script.part(inner))
}
