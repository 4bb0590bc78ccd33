//! `if`, `case` and loops.

use std::rc::Rc;

use super::interpreter::{Flow, Shell};
use super::state::{Contents, State};
use super::syntax::{Arm, List, Word};
use crate::value::{Status, Value};

/// How often the body of a loop of unknown length runs until its effect is stable. A variable can depend on one that depends on
/// another, but no script needs many of those.
const MAX_PASSES: usize = 6;
/// How often a loop runs whose end the script decides.
const MAX_ROUNDS: usize = 1000;

/// What a loop does after a round.
enum Round {
    Again,
    Done(Flow),
}

impl Shell<'_, '_> {
    pub(super) fn if_command(
        &mut self,
        branches: &[(List, List)],
        otherwise: Option<&List>,
    ) -> Flow {
        let Some(((condition, body), rest)) = branches.split_first() else {
            return match otherwise {
                Some(list) => self.list(list),
                None => {
                    self.state.status = Status::Success;
                    Flow::Next
                }
            };
        };
        let flow = self.leniently(|shell| shell.list(condition));
        if flow != Flow::Next {
            return flow;
        }
        match self.state.status.is_success() {
            Some(true) => self.list(body),
            Some(false) => self.if_command(rest, otherwise),
            None => {
                let cause = self.command_cause();
                self.either(
                    &cause,
                    |shell| shell.list(body),
                    |shell| shell.if_command(rest, otherwise),
                )
            }
        }
    }

    pub(super) fn case_command(&mut self, word: &Word, arms: &[Arm]) -> Flow {
        let subject = self.expand_text(word);
        self.state.status = Status::Success;
        self.case_arms(&subject, arms)
    }

    fn case_arms(&mut self, subject: &Value, arms: &[Arm]) -> Flow {
        let Some((arm, rest)) = arms.split_first() else {
            return Flow::Next;
        };
        if arm.end != ";;" {
            self.gap(format!("`{}` in `case`", arm.end));
            return Flow::Exit;
        }
        let mut is_match = Some(false);
        for pattern in &arm.patterns {
            let matched = match (self.expand_pattern(pattern), subject.known()) {
                (Some(pattern), Some(text)) => {
                    let text: Vec<char> = text.chars().collect();
                    Some(pattern.matches(&text))
                }
                _ => None,
            };
            match matched {
                Some(true) => {
                    is_match = is_match.map(|_| true);
                    break;
                }
                Some(false) => {}
                None => is_match = None,
            }
        }
        match is_match {
            Some(true) => self.list(&arm.body),
            Some(false) => self.case_arms(subject, rest),
            None => {
                let cause = self.command_cause();
                self.either(
                    &cause,
                    |shell| shell.list(&arm.body),
                    |shell| shell.case_arms(subject, rest),
                )
            }
        }
    }

    pub(super) fn for_loop(&mut self, name: &str, words: Option<&[Word]>, body: &List) -> Flow {
        let items = match words {
            Some(words) => self.expand_fields(words),
            None => self.state.positional.clone(),
        };
        self.state.status = Status::Success;
        let outer = std::mem::take(&mut self.escapes);
        self.loops += 1;
        let mut flow = Flow::Next;
        for item in items {
            let many = match item {
                Value::Many(cause) => Some(Value::Unknown(cause)),
                item => {
                    self.assign(name, Contents::Text(item), false);
                    None
                }
            };
            let round = match many {
                None => self.round(body),
                Some(value) => self.unknown_rounds(|shell| {
                    shell.assign(name, Contents::Text(value.clone()), false);
                    shell.list(body)
                }),
            };
            if let Round::Done(end) = round {
                flow = end;
                break;
            }
        }
        self.end_loop(flow, outer)
    }

    pub(super) fn while_loop(&mut self, until: bool, condition: &List, body: &List) -> Flow {
        let outer = std::mem::take(&mut self.escapes);
        self.loops += 1;
        let mut flow = Flow::Next;
        for round in 0.. {
            let before = self.state.clone();
            let entered = self.leniently(|shell| shell.list(condition));
            if entered != Flow::Next {
                flow = entered;
                break;
            }
            let waiting = (self.text.clone(), self.line);
            let continues = self.state.status.is_success().map(|it| it != until);
            let after = match continues {
                Some(false) => Round::Done(Flow::Next),
                Some(true) => self.round(body),
                None => {
                    let round = self.unknown_rounds(|shell| {
                        let flow = shell.list(body);
                        match flow {
                            Flow::Next => shell.leniently(|shell| shell.list(condition)),
                            flow => flow,
                        }
                    });
                    match round {
                        Round::Again => Round::Done(Flow::Next),
                        done @ Round::Done(_) => done,
                    }
                }
            };
            if let Round::Done(end) = after {
                self.state.status = Status::Unknown;
                flow = end;
                break;
            }
            let weight = self.state.weight();
            let output = self.state.output.clone();
            let is_stuck = self.state == State { output, ..before };
            if is_stuck || round > MAX_ROUNDS || !self.spend(weight) {
                if !is_stuck {
                    self.gap("a loop with too many rounds");
                }
                // A loop that changes nothing never ends, unless a `break` was not decided.
                flow = Flow::Exit;
                if is_stuck {
                    self.end_at(waiting);
                }
                break;
            }
        }
        self.end_loop(flow, outer)
    }

    /// Ends the script at the condition of a loop that never ends, if that is a program which the image does not have.
    fn end_at(&mut self, (text, line): (Rc<str>, usize)) {
        let after = (
            std::mem::replace(&mut self.text, text),
            std::mem::replace(&mut self.line, line),
        );
        match self.host.is_missing(&self.command_cause()) {
            true => self.state.status = Status::of(false),
            false => (self.text, self.line) = after,
        }
    }

    /// Runs the body once.
    fn round(&mut self, body: &List) -> Round {
        let flow = self.list(body);
        self.after_round(flow)
    }

    fn after_round(&mut self, flow: Flow) -> Round {
        let stays = |escape: Flow| match escape {
            Flow::Continue(1) => None,
            other => Some(other),
        };
        let flow = match flow {
            Flow::Continue(1) => Flow::Next,
            flow => flow,
        };
        match self.rejoin(flow, stays) {
            Flow::Next => Round::Again,
            flow => Round::Done(flow),
        }
    }

    /// Runs a body any number of times: until running it once more changes nothing.
    fn unknown_rounds(&mut self, mut body: impl FnMut(&mut Self) -> Flow) -> Round {
        let cause = self.command_cause();
        for _ in 0..MAX_PASSES {
            let weight = self.state.weight();
            if !self.spend(weight) {
                return Round::Done(Flow::Exit);
            }
            let before = self.state.clone();
            let flow = body(self);
            match self.after_round(flow) {
                Round::Again => {
                    let after = std::mem::replace(&mut self.state, before.clone());
                    self.join(after, &cause);
                }
                Round::Done(Flow::Exit) => self.state = before.clone(),
                Round::Done(flow) => {
                    let after = std::mem::replace(&mut self.state, before.clone());
                    self.escapes.push((flow, after));
                }
            }
            self.state.status = before.status;
            if self.state == before {
                self.state.status = Status::Unknown;
                return Round::Again;
            }
        }
        self.gap("a loop whose effect is unclear");
        Round::Again
    }

    /// Joins the ways that leave the loop by `break`.
    fn end_loop(&mut self, flow: Flow, outer: Vec<(Flow, State)>) -> Flow {
        self.loops -= 1;
        let own = match flow {
            Flow::Break(1) => Flow::Next,
            Flow::Break(count) => Flow::Break(count - 1),
            Flow::Continue(count) if count > 1 => Flow::Continue(count - 1),
            flow => flow,
        };
        let flow = self.rejoin(own, |escape| match escape {
            Flow::Break(1) => None,
            Flow::Break(count) => Some(Flow::Break(count - 1)),
            Flow::Continue(count) => Some(Flow::Continue(count.max(2) - 1)),
            other => Some(other),
        });
        self.escapes.extend(outer);
        flow
    }
}
