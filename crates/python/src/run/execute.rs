//! Executes the steps of a module.

use std::sync::Arc;

use super::blocks::{self, Block, Try};
use super::failure::{self, Answer, Failure, Lacking, Missing, Place, catches};
use super::{Files, Interpreter, Outcome};
use crate::facts::{Import, ModuleFacts, Step};

/// What is executed, and where.
struct Frame<'m> {
    module: &'m str,
    is_main: bool,
}

impl Frame<'_> {
    /// A line of the module.
    fn place(&self, line: u32) -> Place {
        Place {
            module: self.module.to_owned(),
            line,
            statement: line,
        }
    }
}

/// The exception that a handler handles.
type Handled<'h> = Option<&'h Arc<Failure>>;

/// How a block ends if it does not raise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It was executed to its end.
    Reached,
    /// It may have raised.
    Unknown,
}

impl<F: Files> Interpreter<'_, F> {
    pub(super) fn execute_steps(
        &mut self,
        module: &str,
        facts: &ModuleFacts,
    ) -> Result<(), Arc<Failure>> {
        let frame = Frame {
            module,
            is_main: module == self.main,
        };
        let Some(blocks) = blocks::of(&facts.steps) else {
            self.is_search_changed = true;
            return Ok(());
        };
        self.blocks(&frame, &blocks, None).map(drop)
    }

    /// Executes blocks until one raises. What follows an import whose outcome is unknown is executed: if it fails, all fails.
    fn blocks(
        &mut self,
        frame: &Frame,
        blocks: &[Block],
        handled: Handled,
    ) -> Result<End, Arc<Failure>> {
        let mut end = End::Reached;
        for block in blocks {
            let ended = match block {
                Block::Plain(step) => self.step(frame, step, handled)?,
                Block::Try(guard) => self.guard(frame, guard, handled)?,
                Block::Maybe => End::Unknown,
                Block::If(condition, body, otherwise) => {
                    match self.search.platform.decide(condition, frame.is_main) {
                        Answer::Yes => self.blocks(frame, body, handled)?,
                        Answer::No => self.blocks(frame, otherwise, handled)?,
                        Answer::Unknown => End::Unknown,
                    }
                }
            };
            if ended == End::Unknown {
                end = End::Unknown;
            }
        }
        Ok(end)
    }

    fn step(&mut self, frame: &Frame, step: &Step, handled: Handled) -> Result<End, Arc<Failure>> {
        self.lookups += 1;
        let raised = |class: &str| {
            Arc::new(Failure {
                class: class.to_owned(),
                missing: handled.and_then(|it| it.missing.clone()),
            })
        };
        match step {
            Step::Import(import) => {
                let place = Place {
                    line: import.line,
                    ..frame.place(match import.called_from {
                        0 => import.line,
                        line => line,
                    })
                };
                match self.within(place, |it| it.import_from(frame.module, import)) {
                    Outcome::Imported => Ok(End::Reached),
                    Outcome::Unknown => Ok(End::Unknown),
                    Outcome::Failed(_) if self.may_be_prepared(frame.module, import) => {
                        Ok(End::Unknown)
                    }
                    Outcome::Failed(failure) => Err(failure),
                }
            }
            Step::Use(it) if self.lacks(&it.module, &it.name) => {
                let place = frame.place(it.line);
                let missing = self.within(place, |at| at.missing(&it.module, Some(&it.name)));
                Err(Arc::new(Failure {
                    class: failure::ATTRIBUTE_ERROR.to_owned(),
                    missing: missing.missing.clone(),
                }))
            }
            Step::Open(line, name) => match self.opens(name) {
                None => Ok(End::Unknown),
                Some(lacking) => {
                    let place = frame.place(*line);
                    Err(self.within(place, |it| it.unloaded(failure::OS_ERROR, name, lacking)))
                }
            },
            Step::Raise(class) if class.is_empty() => {
                Err(handled.cloned().unwrap_or_else(|| raised("?")))
            }
            Step::Raise(class) => Err(raised(class)),
            Step::Exit => Err(raised(failure::EXIT)),
            Step::Other => Ok(End::Unknown),
            _ => Ok(End::Reached),
        }
    }

    /// What the loader lacks, if `ctypes.CDLL` of a name certainly fails.
    fn opens(&self, name: &str) -> Option<Lacking> {
        let ctypes = self.modules.get("ctypes")?;
        self.files.unopenable(name).filter(|_| ctypes.is_standard)
    }

    /// Whether a program or a function may call one of another module that changes where modules are found, before it imports something.
    fn may_be_prepared(&self, module: &str, import: &Import) -> bool {
        let facts = self.modules.get(module).and_then(|it| it.facts.as_ref());
        let imports = facts.into_iter().flat_map(|it| it.imports());
        let mut names = imports.flat_map(|it| {
            let source = self.absolute(module, it).unwrap_or_default();
            let parts = it.names.iter().map(|name| format!("{source}.{name}"));
            std::iter::once(source.clone()).chain(parts.collect::<Vec<_>>())
        });
        let changes = |name: String| {
            // Nobody can call the functions of a module whose import failed.
            let imported = self.modules.get(&name).filter(|it| it.failure().is_none());
            let facts = imported.and_then(|it| it.facts.as_ref());
            facts.is_some_and(|it| it.has_search_changing_functions)
        };
        (import.called_from > 0 || module == self.main) && names.any(changes)
    }

    /// `try`. After something that may have raised, or an exception that a handler may catch, nothing of it is certain.
    fn guard(&mut self, frame: &Frame, guard: &Try, handled: Handled) -> Result<End, Arc<Failure>> {
        let is_caught = !guard.handlers.is_empty();
        let mut result = self.body(frame, &guard.body, handled, is_caught);
        if let Err(raised) = &result {
            let raised = raised.clone();
            for (classes, body) in &guard.handlers {
                match catches(classes, &raised.class) {
                    Answer::No => continue,
                    Answer::Yes => result = self.blocks(frame, body, Some(&raised)),
                    Answer::Unknown => result = Ok(End::Unknown),
                }
                break;
            }
        } else if !guard.otherwise.is_empty() {
            // It runs if nothing was raised, which no library guarantees; what it imports has its effects.
            let _ = self.blocks(frame, &guard.otherwise, handled);
        }
        let finally = self.blocks(frame, &guard.finally, handled)?;
        result.map(|end| match finally {
            End::Reached => end,
            End::Unknown => End::Unknown,
        })
    }

    /// The body of a `try`: what follows something that may have raised is executed for its effects, and fails nothing.
    fn body(
        &mut self,
        frame: &Frame,
        blocks: &[Block],
        handled: Handled,
        is_caught: bool,
    ) -> Result<End, Arc<Failure>> {
        if !is_caught {
            return self.blocks(frame, blocks, handled);
        }
        for (at, block) in blocks.iter().enumerate() {
            let block = std::slice::from_ref(block);
            if self.blocks(frame, block, handled)? == End::Unknown {
                let _ = self.blocks(frame, &blocks[at + 1..], handled);
                return Ok(End::Unknown);
            }
        }
        Ok(End::Reached)
    }

    /// `import M`, and `from M import NAME`.
    fn import_from(&mut self, importer: &str, import: &Import) -> Outcome {
        let Some(module) = self.absolute(importer, import) else {
            return self.out_of_packages(importer, import);
        };
        // The compiler handles it.
        if module == "__future__" {
            return Outcome::Imported;
        }
        let imported = self.import_dotted(&module);
        if imported != Outcome::Imported {
            return imported;
        }
        let mut outcome = Outcome::Imported;
        for name in import.names.iter().filter(|name| *name != "*") {
            match self.import_name(&module, name) {
                Outcome::Imported => {}
                Outcome::Unknown => outcome = Outcome::Unknown,
                failed => return failed,
            }
        }
        outcome
    }

    /// A relative import that leads out of all packages (`_sanity_check` and `_resolve_name` of `importlib._bootstrap`), unless the module may say
    /// that it is in one (PEP 366).
    fn out_of_packages(&self, importer: &str, import: &Import) -> Outcome {
        let facts = self.modules.get(importer).and_then(|it| it.facts.as_ref());
        let may_say = |facts: &Arc<ModuleFacts>| {
            facts.dynamic_names_from.is_some() || facts.names.iter().any(|it| it == "__package__")
        };
        if facts.is_none_or(may_say) {
            return Outcome::Unknown;
        }
        let dots = ".".repeat(usize::try_from(import.level).unwrap_or_default());
        let missing = Missing {
            module: dots + &import.module,
            is_relative: true,
            ..Missing::default()
        };
        Outcome::Failed(self.raised(failure::IMPORT_ERROR, missing))
    }

    /// A name of a module: what the module binds, else its submodule (`_handle_fromlist`).
    fn import_name(&mut self, module: &str, name: &str) -> Outcome {
        match self.has_name(module, name) {
            Answer::Yes => return Outcome::Imported,
            Answer::Unknown if self.imports_own(module, name) => {}
            Answer::Unknown => {
                return match self.modules.get(module).is_some_and(|it| it.path.is_some()) {
                    // It is bound, or a submodule with its own failures.
                    true => Outcome::Unknown,
                    false => Outcome::Imported,
                };
            }
            Answer::No => {}
        }
        let submodule = format!("{module}.{name}");
        let is_absent = |failure: &Failure| {
            let missing = failure.missing.as_ref();
            missing.is_some_and(|it| {
                it.name.is_none() && it.lacking.is_none() && it.module == submodule
            })
        };
        match self.import_one(&submodule) {
            Outcome::Failed(failure) if is_absent(&failure) => {
                Outcome::Failed(self.missing(module, Some(name)))
            }
            outcome => outcome,
        }
    }

    /// Whether a package that may bind any name imports a submodule that it has, as `from torch import optim` in PyTorch does: by that it
    /// means the submodule.
    fn imports_own(&self, package: &str, name: &str) -> bool {
        let is_own = self.stack.last().is_some_and(|it| it.module == package);
        is_own && !self.may_be_set(name) && self.is_there(&format!("{package}.{name}"))
    }
}
