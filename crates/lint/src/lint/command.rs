//! The commands of a shell script, and whether each of them always runs.

use imgcheck_launch::shell::syntax::{
    self, Arm, Assignment, CommandKind, Connective, Item, List, Pipeline, Redirect, Target, Word,
};

use super::condition::{Condition, operand};

/// A command.
#[derive(Debug, Default)]
pub struct Command<'s> {
    /// The variables that are set for it, or without words for the rest of the script.
    pub assignments: &'s [Assignment],
    /// Its words, the program first.
    pub words: Vec<&'s Word>,
    /// Redirections of the command.
    pub redirects: &'s [Redirect],
    /// Whether it may not run: it is in a loop, after `||`, or depends on a condition that cannot be decided.
    pub conditional: bool,
    /// Whether the script goes on if it fails: `||` follows, and what is behind that does not end it.
    pub may_fail: bool,
    /// The conditions under which it runs.
    pub conditions: Vec<Condition<'s>>,
    /// Whether its output is piped to the next command.
    pub piped: bool,
    /// The `for` loops around it.
    pub loops: Vec<Loop<'s>>,
    /// Whether it starts nothing: its words are those of a `for`, or of `[[`.
    pub is_list: bool,
}

/// A `for` loop.
#[derive(Debug, Clone, Copy)]
pub struct Loop<'s> {
    /// Name of the loop variable.
    pub name: &'s str,
    /// The values of the variable.
    pub words: &'s [Word],
}

/// Programs that only test something.
const TESTS: &[&str] = &[
    "[", "test", "grep", "command", "which", "type", "hash", "false",
];

/// The maximum number of loops around a command whose words are followed.
const MAX_LOOPS: usize = 3;

/// The maximum number of conditions of a command that are followed.
const MAX_CONDITIONS: usize = 16;

/// The maximum number of arms of a `case` that are told apart: each is compared with those before it.
const MAX_ARMS: usize = 100;

/// What is around a command.
#[derive(Debug, Clone, Default)]
struct Surroundings<'s> {
    /// Whether the command may not run for a reason that cannot be decided.
    is_open: bool,
    /// Whether the script goes on if the command fails.
    may_fail: bool,
    conditions: Vec<Condition<'s>>,
    loops: Vec<Loop<'s>>,
}

impl<'s> Surroundings<'s> {
    /// The same inside of something that may not run.
    fn open(&self) -> Self {
        self.with(None)
    }

    /// The same under a condition; `None` for one that cannot be decided.
    fn with(&self, condition: Option<Condition<'s>>) -> Self {
        let mut inside = self.clone();
        match condition.filter(|_| inside.conditions.len() < MAX_CONDITIONS) {
            Some(condition) => inside.conditions.push(condition),
            None => inside.is_open = true,
        }
        inside
    }

    /// The same inside of a loop.
    fn inside(&self, of: Loop<'s>) -> Self {
        if self.loops.len() >= MAX_LOOPS {
            return self.open();
        }
        let mut inside = self.clone();
        inside.loops.push(of);
        inside
    }
}

/// The commands of a script, in order.
pub fn commands(list: &List) -> Vec<Command<'_>> {
    let mut visitor = Visitor::default();
    visitor.list(list, &Surroundings::default());
    visitor.commands
}

#[derive(Default)]
struct Visitor<'s> {
    commands: Vec<Command<'s>>,
}

impl<'s> Visitor<'s> {
    fn list(&mut self, list: &'s List, around: &Surroundings<'s>) {
        list.iter().for_each(|item| self.item(item, around));
    }

    fn item(&mut self, item: &'s Item, around: &Surroundings<'s>) {
        let is_or = |(it, _): &(Connective, Pipeline)| *it == Connective::Or;
        let last = item.rest.iter().rposition(is_or);
        let last = last.filter(|at| !ends_script(&item.rest[*at].1));
        let may_fail = |at: usize| around.may_fail || last.is_some_and(|last| at <= last);
        let mut inside = around.clone();
        inside.may_fail = may_fail(0);
        self.pipeline(&item.first, &inside);
        let mut before = &item.first;
        for (at, (connective, pipeline)) in item.rest.iter().enumerate() {
            if *connective == Connective::Or {
                inside = inside.open();
            } else if let Some(test) = test(before) {
                inside = inside.with(Some(test));
            }
            inside.may_fail = may_fail(at + 1);
            self.pipeline(pipeline, &inside);
            before = pipeline;
        }
    }

    fn pipeline(&mut self, pipeline: &'s Pipeline, around: &Surroundings<'s>) {
        let last = pipeline.commands.len() - 1;
        for (at, command) in pipeline.commands.iter().enumerate() {
            self.command(command, at < last, around);
        }
    }

    fn command(&mut self, command: &'s syntax::Command, piped: bool, around: &Surroundings<'s>) {
        match &command.kind {
            CommandKind::Simple {
                assignments, words, ..
            } => self.commands.push(Command {
                assignments,
                words: words.iter().collect(),
                redirects: &command.redirects,
                conditional: around.is_open,
                may_fail: around.may_fail,
                conditions: match around.is_open {
                    true => Vec::new(),
                    false => around.conditions.clone(),
                },
                piped,
                loops: around.loops.clone(),
                ..Command::default()
            }),
            CommandKind::Group(list) | CommandKind::Subshell(list) => self.list(list, around),
            CommandKind::If {
                branches,
                otherwise,
            } => self.branches(branches, otherwise.as_ref(), around),
            CommandKind::For { name, words, body } => {
                let words = words.as_deref().unwrap_or_default();
                self.words(words.iter().collect());
                match words.is_empty() {
                    true => self.list(body, &around.open()),
                    false => self.list(body, &around.inside(Loop { name, words })),
                }
            }
            CommandKind::While {
                condition, body, ..
            } => {
                self.list(condition, &around.open());
                self.list(body, &around.open());
            }
            CommandKind::Case { word, arms } => self.arms(word, arms, around),
            // Whether a function is called is unknown.
            CommandKind::Function { body, .. } => self.command(body, false, &around.open()),
            CommandKind::Test(tokens) => self.words(tokens.iter().filter_map(operand).collect()),
            CommandKind::Arithmetic(_) | CommandKind::Unknown(_) => {}
        }
    }

    /// Words that are no command.
    fn words(&mut self, words: Vec<&'s Word>) {
        if !words.is_empty() {
            self.commands.push(Command {
                words,
                conditional: true,
                is_list: true,
                ..Command::default()
            });
        }
    }

    fn branches(
        &mut self,
        branches: &'s [(List, List)],
        otherwise: Option<&'s List>,
        around: &Surroundings<'s>,
    ) {
        let mut around = around.clone();
        for (condition, body) in branches {
            self.list(condition, &around.open());
            self.list(body, &around.with(sole(condition, true)));
            around = around.with(sole(condition, false));
        }
        if let Some(list) = otherwise {
            self.list(list, &around);
        }
    }

    fn arms(&mut self, subject: &'s Word, arms: &'s [Arm], around: &Surroundings<'s>) {
        let (mut first, mut is_decided) = (0, true);
        for (at, arm) in arms.iter().take(MAX_ARMS).enumerate() {
            let condition = Condition::Case {
                subject,
                arms: &arms[first..=at],
                earlier: &arms[..first],
            };
            self.list(&arm.body, &around.with(is_decided.then_some(condition)));
            // Behind `;&`, the next arm runs, too; behind `;;&`, those that match.
            first = if arm.end == ";&" { first } else { at + 1 };
            is_decided &= arm.end != ";;&";
        }
        let others = arms.iter().skip(MAX_ARMS);
        others.for_each(|arm| self.list(&arm.body, &around.open()));
    }
}

impl<'s> Command<'s> {
    /// The files that its output is redirected to.
    pub fn outputs(&self) -> impl Iterator<Item = &'s Word> {
        self.redirects.iter().filter_map(|it| match &it.target {
            Target::Word(word) if it.operator.contains('>') && it.operator != ">&" => Some(word),
            _ => None,
        })
    }
}

/// Whether a pipeline may end the script, as in `|| { echo failed; exit 1; }`.
fn ends_script(pipeline: &Pipeline) -> bool {
    let of_list = |list: &List| {
        let mut pipelines = list.iter().flat_map(|it| {
            let rest = it.rest.iter().map(|(_, pipeline)| pipeline);
            std::iter::once(&it.first).chain(rest)
        });
        pipelines.any(ends_script)
    };
    pipeline.commands.iter().any(|command| match &command.kind {
        CommandKind::Simple { words, .. } => {
            let program = words.first().and_then(Word::plain);
            program.is_some_and(|it| matches!(it, "exit" | "false" | "return" | "kill"))
        }
        CommandKind::Group(list) | CommandKind::Subshell(list) => of_list(list),
        CommandKind::Unknown(_) => true,
        _ => false,
    })
}

/// The condition that a pipeline before `&&` is, if it only tests something.
fn test(pipeline: &Pipeline) -> Option<Condition<'_>> {
    let command = pipeline.commands.last()?;
    let is_test = match &command.kind {
        CommandKind::Simple { words, .. } => {
            let program = words.first().and_then(Word::plain);
            program.is_some_and(|it| TESTS.contains(&it))
        }
        kind => matches!(kind, CommandKind::Test(_) | CommandKind::Arithmetic(_)),
    };
    is_test.then_some(Condition::Test {
        command,
        succeeds: !pipeline.negated,
    })
}

/// That the condition of an `if` holds or not; `None` if it is more than one command.
fn sole(list: &List, holds: bool) -> Option<Condition<'_>> {
    let [item] = list.as_slice() else { return None };
    match item.first.commands.as_slice() {
        [command] if item.rest.is_empty() && !item.background => Some(Condition::Test {
            command,
            succeeds: holds != item.first.negated,
        }),
        _ => None,
    }
}

#[cfg(test)]
#[path = "command/tests.rs"]
mod tests;
