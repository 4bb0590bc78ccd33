//! The ways of a script.
//!
//! Where a condition is unknown, both ways are taken and joined: what differs is unknown from there on. A way that ends the script is
//! left out, because it starts nothing.

use std::rc::Rc;

use super::interpreter::{Flow, Shell};
use super::state::State;
use crate::value::{Cause, Status};

impl Shell<'_, '_> {
    /// Notes that a way ends the shell while another one stays.
    pub fn ends_early(&mut self, status: Status) {
        if let Some(early) = &mut self.early {
            *early = Some(early.map_or(status, |other| other.or(status)));
            self.write_unknown();
        }
    }

    /// Runs something whose changes of the shell are lost.
    pub fn in_subshell(&mut self, run: impl FnOnce(&mut Self) -> Flow) {
        let weight = self.state.weight();
        if !self.spend(weight) {
            return;
        }
        let before = self.state.clone();
        let escapes = std::mem::take(&mut self.escapes);
        let outer = self.early.replace(None);
        self.state.at_exit = "".into();
        run(self);
        self.exits();
        let mut status = self.state.status;
        for (_, state) in std::mem::replace(&mut self.escapes, escapes) {
            status = status.or(state.status);
        }
        if let Some(Some(early)) = std::mem::replace(&mut self.early, outer) {
            status = status.or(early);
        }
        let after = std::mem::replace(&mut self.state, before);
        self.state.output = after.output;
        self.state.status = status;
    }

    /// Takes both ways, and joins them.
    pub fn either(
        &mut self,
        cause: &Rc<Cause>,
        one: impl FnOnce(&mut Self) -> Flow,
        other: impl FnOnce(&mut Self) -> Flow,
    ) -> Flow {
        let weight = self.state.weight();
        if !self.spend(weight) {
            return Flow::Exit;
        }
        let before = self.state.clone();
        let first = one(self);
        let after_first = std::mem::replace(&mut self.state, before);
        let second = other(self);
        match (first, second) {
            (Flow::Exit, flow) => {
                self.ends_early(after_first.status);
                flow
            }
            (flow, Flow::Exit) => {
                let ended = std::mem::replace(&mut self.state, after_first);
                self.ends_early(ended.status);
                flow
            }
            (first, second) if first == second => {
                self.join(after_first, cause);
                first
            }
            (Flow::Next, leaving) => {
                let left = std::mem::replace(&mut self.state, after_first);
                self.escapes.push((leaving, left));
                Flow::Next
            }
            (leaving, flow) => {
                self.escapes.push((leaving, after_first));
                flow
            }
        }
    }

    /// Joins another state into this one.
    pub fn join(&mut self, mut other: State, cause: &Rc<Cause>) {
        self.forget_driver_directories(&mut other);
        if self.state.options != other.options {
            self.host.gap(cause);
        }
        self.state.join(other, cause);
    }

    /// Joins the ways that left what ends here, after its own way went to `flow`. `leaves` says where each goes from here; `None` if
    /// it goes on here.
    pub fn rejoin(&mut self, flow: Flow, leaves: impl Fn(Flow) -> Option<Flow>) -> Flow {
        let cause = self.command_cause();
        let mut flow = flow;
        for (escape, state) in std::mem::take(&mut self.escapes) {
            match leaves(escape) {
                Some(outer) => self.escapes.push((outer, state)),
                None if flow == Flow::Next => self.join(state, &cause),
                None => {
                    let own = std::mem::replace(&mut self.state, state);
                    if flow != Flow::Exit {
                        self.escapes.push((flow, own));
                    }
                    flow = Flow::Next;
                }
            }
        }
        flow
    }
}
