//! The steps of a module as a tree.

use crate::condition::Condition;
use crate::facts::Step;

/// Blocks inside one another that are followed; a source has at most 100 indents.
const MOST_LEVELS: usize = 150;

/// A step with what is inside it.
#[derive(Debug)]
pub(super) enum Block<'s> {
    Plain(&'s Step),
    Try(Try<'s>),
    If(&'s Condition, Vec<Block<'s>>, Vec<Block<'s>>),
    Maybe,
}

/// A `try` statement.
#[derive(Debug, Default)]
pub(super) struct Try<'s> {
    pub body: Vec<Block<'s>>,
    /// The exceptions that each handler catches, and what it does.
    pub handlers: Vec<(&'s [String], Vec<Block<'s>>)>,
    pub otherwise: Vec<Block<'s>>,
    pub finally: Vec<Block<'s>>,
}

/// The blocks of a module; `None` if they are nested too deeply or do not fit together, which the facts of no source are.
pub(super) fn of(steps: &[Step]) -> Option<Vec<Block<'_>>> {
    let mut reader = Reader { steps, levels: 0 };
    let blocks = reader.blocks()?;
    reader.steps.is_empty().then_some(blocks)
}

struct Reader<'s> {
    steps: &'s [Step],
    levels: usize,
}

impl<'s> Reader<'s> {
    fn next(&mut self) -> Option<&'s Step> {
        let (first, rest) = self.steps.split_first()?;
        self.steps = rest;
        Some(first)
    }

    /// The blocks before the next part or end of the block around.
    fn blocks(&mut self) -> Option<Vec<Block<'s>>> {
        self.levels += 1;
        if self.levels > MOST_LEVELS {
            return None;
        }
        let mut blocks = Vec::new();
        while let Some(step) = self.steps.first() {
            blocks.push(match step {
                Step::Except(_) | Step::Else | Step::Finally | Step::End => break,
                Step::Try => {
                    self.next();
                    Block::Try(self.guard()?)
                }
                Step::If(condition) => {
                    self.next();
                    let body = self.blocks()?;
                    let otherwise = self.part(&Step::Else)?;
                    self.end()?;
                    Block::If(condition, body, otherwise)
                }
                Step::Maybe => {
                    self.next();
                    self.blocks()?;
                    self.end()?;
                    Block::Maybe
                }
                step => {
                    self.next();
                    Block::Plain(step)
                }
            });
        }
        self.levels -= 1;
        Some(blocks)
    }

    fn guard(&mut self) -> Option<Try<'s>> {
        let mut guard = Try {
            body: self.blocks()?,
            ..Try::default()
        };
        while let Some(Step::Except(names)) = self.steps.first() {
            self.next();
            guard.handlers.push((names, self.blocks()?));
        }
        guard.otherwise = self.part(&Step::Else)?;
        guard.finally = self.part(&Step::Finally)?;
        self.end()?;
        Some(guard)
    }

    /// The blocks after this step, if it follows.
    fn part(&mut self, start: &Step) -> Option<Vec<Block<'s>>> {
        if self.steps.first() != Some(start) {
            return Some(Vec::new());
        }
        self.next();
        self.blocks()
    }

    fn end(&mut self) -> Option<()> {
        (self.next()? == &Step::End).then_some(())
    }
}
