//! Dockerfiles: stages, arguments, variables, and installed packages.

mod arguments;
mod check;
mod clones;
mod copies;
mod described;
mod directives;
mod files;
mod index_configuration;
mod origins;
mod packages;
mod programs;
mod resolution;
mod run;
mod search_path;
mod session;
mod state;
mod system_pip;
mod venv;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use parse_dockerfile::{Command, Instruction, RunInstruction};

use self::copies::absolute;
use self::directives::{directive, escape_directive, fault};
use self::state::{State, finish};
use super::context::Context;
use super::facts::{Base, Stage};
use super::heredoc::{self, HereDocument, MAX_DOCUMENTS};
use super::install::Argument;
use super::script::Script;
use super::stage::{Recorder, too_many};
use super::text::Text;
use super::variables::{Expanded, unquote};
use super::words::words;
use imgcheck_base::error::Result;
use imgcheck_base::reference::name::Name;

pub use self::arguments::MAX_VARIABLES;
pub use self::described::{Described, described};

/// The maximum number of stages.
const MAX_STAGES: usize = 256;

/// What a build sets from outside.
#[derive(Debug, Default)]
pub struct Build {
    /// Build arguments; `None` for an unknown value.
    pub arguments: BTreeMap<String, Option<String>>,
    /// The stage that becomes the image.
    pub target: Option<String>,
}

/// The state while a file is read.
struct Reader<'r> {
    build: &'r Build,
    text: &'r Text<'r>,
    context: &'r Context<'r>,
    escape: char,
    /// Whether Docker's own parser reads the file, and not one named by a `syntax` directive.
    is_dockers: bool,
    here_documents: Vec<HereDocument>,
    /// `ARG` before the first `FROM`.
    globals: BTreeMap<String, String>,
    stages: Vec<State<'r>>,
    /// Images that files are copied from.
    images: Vec<Base>,
    /// Stages by name in lowercase; the last one with a name wins.
    names: HashMap<String, usize>,
}

/// Reads a Dockerfile.
pub fn read<'r>(
    text: &'r Text<'r>,
    context: &'r Context<'r>,
    build: &'r Build,
) -> Result<Vec<Stage>> {
    let escape = escape_directive(text.text);
    let (hidden, here_documents) = heredoc::hide(text.text, escape).map_err(|place| {
        let problem = format!("more than {MAX_DOCUMENTS} here-documents");
        text.fault(place, &problem, None)
    })?;
    let mut reader = Reader {
        build,
        text,
        context,
        escape,
        is_dockers: directive(text.text, "syntax")
            .is_none_or(|syntax| syntax.contains("docker/dockerfile")),
        here_documents,
        globals: BTreeMap::new(),
        stages: Vec::new(),
        images: Vec::new(),
        names: HashMap::new(),
    };
    let instructions =
        parse_dockerfile::parse_iter(&hidden).map_err(|error| fault(text, &error))?;
    for instruction in instructions {
        reader.instruction(instruction.map_err(|error| fault(text, &error))?)?;
    }
    let target = build.target.as_ref();
    let target = target.and_then(|target| reader.names.get(&target.to_lowercase()));
    if let Some(target) = target {
        reader.stages.truncate(target + 1);
    }
    let built = reader.stages.len();
    let images = reader.images.into_iter();
    let images = images.filter(|it| it.stage < built);
    let mut stages = finish(reader.stages);
    let start = stages.len();
    stages.extend(images.zip(start..).map(|(base, index)| Stage {
        index,
        base: Some(Base {
            stage: index,
            ..base
        }),
        ..Stage::default()
    }));
    Ok(stages)
}

impl<'r> Reader<'r> {
    fn instruction(&mut self, instruction: Instruction<'_>) -> Result<()> {
        if self.is_dockers {
            check::instruction(self.text, &instruction)?;
        }
        match instruction {
            Instruction::From(from) => {
                let name = from.as_.map(|(_, name)| name.value.into_owned());
                return self.stage(from.image.span, name);
            }
            Instruction::Arg(arg) => return self.arguments(arg.arguments.span),
            Instruction::Env(env) => {
                self.pairs("ENV", env.arguments.span.clone())?;
                return self.variables(env.arguments.span);
            }
            Instruction::Label(label) => return self.pairs("LABEL", label.arguments.span),
            Instruction::Copy(copy) => {
                self.documents(copy.copy.span.start, &copy.dest.value);
                self.system_pip_files(&copy.dest.value);
                return self.copied(&copy.options, &copy.src, &copy.dest);
            }
            Instruction::Add(add) => {
                self.documents(add.add.span.start, &add.dest.value);
                self.system_pip_files(&add.dest.value);
                return self.copied(&add.options, &add.src, &add.dest);
            }
            Instruction::Shell(shell) => {
                let words = shell.arguments.iter().map(|word| Argument {
                    text: word.value.as_ref().to_owned(),
                    known: true,
                    span: word.span.clone(),
                });
                if let Some(stage) = self.stages.last_mut() {
                    stage.shell(&words.collect::<Vec<_>>());
                }
            }
            Instruction::Run(run) => return self.run(&run),
            Instruction::Entrypoint(it) => {
                if let Some(stage) = self.stages.last_mut() {
                    stage.programs.entrypoint(self.text, &it.arguments);
                }
            }
            Instruction::Cmd(it) => {
                if let Some(stage) = self.stages.last_mut() {
                    stage.programs.command(self.text, &it.arguments);
                }
            }
            Instruction::Workdir(workdir) => {
                let span = workdir.arguments.span;
                if let Some(stage) = self.stages.last() {
                    let directory = self.expand(span, &|name| stage.value(name)).text;
                    let directory = absolute(&stage.directory, &directory);
                    if let Some(stage) = self.stages.last_mut() {
                        stage.directory = directory;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// `RUN`: reads its script or command.
    fn run(&mut self, run: &RunInstruction<'_>) -> Result<()> {
        self.mounts(&run.options, run.run.span.clone())?;
        let documents = self.documents_of(run.run.span.start);
        let script = match (&run.arguments, documents.as_slice()) {
            (Command::Shell(_), [here, ..]) if here.script => Some(self.body(here)),
            (Command::Shell(shell), documents) => {
                let script = self.script(shell.span.clone());
                let end = documents.last().map_or(shell.span.end, |here| here.end);
                let documents = self.text.text.get(shell.span.end..end).unwrap_or_default();
                Some(script.with(documents, shell.span.end, None))
            }
            _ => None,
        };
        let Some(stage) = self.stages.last_mut() else {
            return Ok(());
        };
        if stage.foreign_shell {
            return Ok(());
        }
        if let Command::Exec(words) = &run.arguments {
            let words = words
                .value
                .iter()
                .map(|word| (word.value.as_ref(), word.span.clone()));
            stage.run_words(self.text, words)?;
        } else if let Some(script) = script {
            stage.run(self.text, &script)?;
        }
        Ok(())
    }

    /// `FROM`: starts a stage.
    fn stage(&mut self, span: Range<usize>, name: Option<String>) -> Result<()> {
        let index = self.stages.len();
        if index >= MAX_STAGES {
            let problem = format!("more than {MAX_STAGES} stages");
            return Err(self.text.fault(span, &problem, None));
        }
        let globals = |name: &str| {
            self.globals
                .get(name)
                .cloned()
                .or_else(|| state::predefined(name))
        };
        let image = self.expand(span.clone(), &globals);
        let parent = self.names.get(&image.text.to_lowercase()).copied();
        if self.is_dockers && parent.is_none() {
            check::reference(self.text, span.clone(), &image.text)?;
        }
        let mut stage = match parent.and_then(|parent| self.stages.get(parent)) {
            Some(parent) => parent.child(),
            None => State::new(
                Recorder::new(self.context),
                self.base(index, span.clone(), &image),
            ),
        };
        if parent.is_none() {
            stage.unscoped = self.globals.keys().cloned().collect();
        }
        stage.parent = parent;
        stage.stage.index = index;
        if let Some(name) = name {
            self.names.insert(name.to_lowercase(), index);
            stage.stage.name = name;
        }
        let recorders = self.stages.iter().map(|stage| &stage.recorder);
        if let Some(problem) = too_many(recorders.chain([&stage.recorder])) {
            return Err(self.text.fault(span, &problem, None));
        }
        self.stages.push(stage);
        Ok(())
    }

    fn base(&self, stage: usize, span: Range<usize>, image: &Expanded) -> Option<Base> {
        let name = image.text.parse::<Name>().ok().filter(|_| image.known);
        (image.text != "scratch").then(|| Base {
            stage,
            written: self
                .text
                .text
                .get(span.clone())
                .unwrap_or_default()
                .to_owned(),
            reference: name.is_some().then(|| image.text.clone()),
            repository: name.map(|name| name.repository).unwrap_or_default(),
            location: self.text.location(span),
            ..Base::default()
        })
    }

    /// The here-documents of the instruction at a position.
    fn documents_of(&self, instruction: usize) -> Vec<HereDocument> {
        let documents = self.here_documents.iter();
        let own = documents.filter(|here| here.instruction == instruction);
        own.cloned().collect()
    }

    fn body(&self, here: &HereDocument) -> Script<'r> {
        let text = self.text.text.get(here.body.clone()).unwrap_or_default();
        Script::new(text, here.body.start)
    }

    fn script(&self, span: Range<usize>) -> Script<'r> {
        let text = self.text.text.get(span.clone()).unwrap_or_default();
        Script::instruction(text, span.start, self.escape)
    }

    fn expand(&self, span: Range<usize>, values: &dyn Fn(&str) -> Option<String>) -> Expanded {
        let script = self.script(span);
        let first = words(&script.text, self.escape).into_iter().next();
        first.map_or_else(Expanded::default, |it| unquote(it.raw, self.escape, values))
    }
}
