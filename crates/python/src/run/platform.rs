//! Decides conditions.

use std::cmp::Ordering;

use super::failure::Answer;
use crate::condition::{Atom, Comparison, Condition, Subject};
use crate::facts::{Import, ModuleFacts, Step};

/// The interpreter and its platform: CPython on Linux.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Platform {
    /// Major and minor release: `(3, 11)`.
    pub release: (u32, u32),
}

impl Platform {
    /// Whether a condition holds in a module, which may be the one that is executed as a program.
    pub(super) fn decide(self, condition: &Condition, is_main: bool) -> Answer {
        let decisive = match condition.all {
            true => Answer::No,
            false => Answer::Yes,
        };
        let mut is_known = true;
        for atom in &condition.atoms {
            match self.atom(atom, is_main) {
                answer if answer == decisive => return decisive,
                Answer::Unknown => is_known = false,
                _ => {}
            }
        }
        match is_known {
            true => Answer::from(condition.all),
            false => Answer::Unknown,
        }
    }

    fn atom(self, atom: &Atom, is_main: bool) -> Answer {
        let answer = match &atom.subject {
            Subject::Constant(value) => Answer::from(*value),
            Subject::Version(how, numbers) => self.version(*how, numbers),
            Subject::VersionPrefix(length, how, numbers) => self.prefix(*length, *how, numbers),
            Subject::Platform(name) => Answer::from(name == "linux"),
            Subject::PlatformPrefix(prefix) => Answer::from("linux".starts_with(prefix.as_str())),
            Subject::SystemName(name) => Answer::from(name == "posix"),
            Subject::IsMain => Answer::from(is_main),
            Subject::Unknown => Answer::Unknown,
        };
        match (atom.negated, answer) {
            (true, Answer::Yes) => Answer::No,
            (true, Answer::No) => Answer::Yes,
            (_, answer) => answer,
        }
    }

    /// `sys.version_info` has five elements, so it never equals a tuple of one or two, and is greater than an equal start.
    fn version(self, how: Comparison, numbers: &[u32]) -> Answer {
        let own = [self.release.0, self.release.1];
        let common = numbers.len().min(2);
        let order = match own[..common].cmp(&numbers[..common]) {
            Ordering::Equal if numbers.len() > 2 => return Answer::Unknown,
            Ordering::Equal => Ordering::Greater,
            order => order,
        };
        Answer::from(holds(how, order))
    }

    fn prefix(self, length: u32, how: Comparison, numbers: &[u32]) -> Answer {
        let own = [self.release.0, self.release.1];
        match length {
            1 | 2 => Answer::from(holds(how, own[..length as usize].cmp(numbers))),
            _ => match own[..].cmp(&numbers[..numbers.len().min(2)]) {
                Ordering::Equal => Answer::Unknown,
                order => Answer::from(holds(how, order)),
            },
        }
    }
}

fn holds(how: Comparison, order: Ordering) -> bool {
    match how {
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
        Comparison::Equal => order.is_eq(),
        Comparison::Different => order.is_ne(),
    }
}

impl ModuleFacts {
    /// The imports of a module that are executed where no import fails, as far as that is known.
    pub fn executed_imports(&self, platform: Platform) -> impl Iterator<Item = &Import> {
        let mut blocks: Vec<Open> = Vec::new();
        self.steps.iter().filter_map(move |step| {
            let is_executed = blocks.last().is_none_or(|it| it.is_executed);
            let mut open = |body, otherwise| {
                blocks.push(Open {
                    is_executed: is_executed && body,
                    otherwise: is_executed && otherwise,
                    finally: is_executed,
                });
            };
            match step {
                Step::Import(import) => return is_executed.then_some(import),
                Step::Try => open(true, true),
                Step::Maybe => open(false, false),
                Step::If(condition) => {
                    let answer = platform.decide(condition, false);
                    open(answer == Answer::Yes, answer == Answer::No);
                }
                Step::Except(_) => {
                    blocks.last_mut()?.is_executed = false;
                }
                Step::Else => {
                    let block = blocks.last_mut()?;
                    block.is_executed = block.otherwise;
                }
                Step::Finally => {
                    let block = blocks.last_mut()?;
                    block.is_executed = block.finally;
                }
                Step::End => drop(blocks.pop()),
                Step::Use(_) | Step::Open(..) | Step::Raise(_) | Step::Exit | Step::Other => {}
            }
            None
        })
    }
}

/// A block that is not at its end.
struct Open {
    is_executed: bool,
    /// Whether its alternative is.
    otherwise: bool,
    /// Whether what it ends with is.
    finally: bool,
}
