//! The dynamic loader as the command: `ld.so [OPTION]… PROGRAM [ARGUMENT]…` (ld.so(8); glibc `elf/rtld.c`, `dl_main`; musl
//! `ldso/dynlink.c`, `__dls3`).

use std::rc::Rc;

use super::knowledge::LoaderRow;
use super::value::Value;

pub(crate) const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";
const PRELOAD: &str = "LD_PRELOAD";
const AUDIT: &str = "LD_AUDIT";

/// How the loader is called as a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoaderCommand {
    /// The path that the loader is executed by.
    pub loader: String,
    /// The program as written.
    pub program: String,
    /// Names of objects whose DT_RPATH and DT_RUNPATH do not count (`--inhibit-rpath`).
    pub inhibit_rpath: Vec<String>,
    /// `--inhibit-cache`
    pub inhibits_cache: bool,
    /// Variables that its options stand for. No program that the program starts gets them.
    pub(crate) variables: Vec<(&'static str, String)>,
    /// `--argv0`
    argv0: Option<String>,
    /// It is the loader of musl.
    pub(crate) musl: bool,
}

/// What becomes of a call.
pub(crate) enum Call {
    /// It runs a program with these arguments, of which the first is `argv[0]`.
    Runs(Rc<LoaderCommand>, Vec<Value>),
    /// It only prints something: the option or word that makes it do so, and what it says.
    Prints(String, String),
    /// It is not understood.
    Unknown(String),
}

impl LoaderCommand {
    /// Reads the arguments of a loader.
    pub(crate) fn read(row: &LoaderRow, loader: &str, arguments: &[Value]) -> Call {
        let mut command = LoaderCommand {
            loader: loader.to_owned(),
            musl: row.musl,
            ..LoaderCommand::default()
        };
        let mut rest = arguments.iter().skip(1);
        let (prints, program) = match command.options(row, &mut rest) {
            Ok(found) => found,
            Err(call) => return call,
        };
        if let Some(option) = prints {
            let said = "lists or prints something, and starts no program".to_owned();
            return Call::Prints(option, said);
        }
        let Some(program) = program else {
            return Call::Prints(String::new(), "missing program name".to_owned());
        };
        // glibc looks it up as it does a library.
        if !program.contains('/') && !row.musl {
            return Call::Unknown(format!(
                "it searches for `{program}`, which has no `/`, as for a library"
            ));
        }
        command.program = program.clone();
        let zero = command.argv0.clone().unwrap_or(program);
        let behind = rest.cloned();
        let arguments = std::iter::once(zero.as_str().into())
            .chain(behind)
            .collect();
        Call::Runs(Rc::new(command), arguments)
    }

    /// Takes the options off the arguments, and the program. Of the options, the first that prints something. An error is what becomes of a
    /// call that they decide.
    fn options<'a>(
        &mut self,
        row: &LoaderRow,
        rest: &mut impl Iterator<Item = &'a Value>,
    ) -> Result<(Option<String>, Option<String>), Call> {
        let unknown = || Call::Unknown("its arguments are unknown".to_owned());
        let mut prints = None;
        while let Some(argument) = rest.next() {
            let text = argument.known().ok_or_else(unknown)?;
            if !text.starts_with("--") {
                return Ok((prints, Some(text.to_owned())));
            }
            if text == "--" && row.musl {
                let program = rest.next().map(|it| it.known().ok_or_else(unknown));
                return Ok((prints, program.transpose()?.map(str::to_owned)));
            }
            let (name, attached) = match text.split_once('=').filter(|_| row.musl) {
                Some((name, value)) => (name, Some(value)),
                None => (text, None),
            };
            let is_in = |list: &[String]| list.iter().any(|it| it == name);
            if is_in(&row.prints) {
                prints.get_or_insert(name.to_owned());
            } else if is_in(&row.unknown) {
                let problem = format!("its option {name} is not modeled");
                return Err(Call::Unknown(problem));
            } else if name == "--inhibit-cache" && is_in(&row.flags) {
                self.inhibits_cache = true;
            } else if is_in(&row.values) {
                let value = match attached {
                    Some(value) => value,
                    None => {
                        let next = rest.next().ok_or_else(|| unrecognized(name))?;
                        let unknown = || Call::Unknown(format!("its option {name} is unknown"));
                        next.known().ok_or_else(unknown)?
                    }
                };
                self.set(name, value);
            } else {
                return Err(unrecognized(text));
            }
        }
        Ok((prints, None))
    }

    fn set(&mut self, option: &str, value: &str) {
        let variable = match option {
            "--library-path" => LIBRARY_PATH,
            "--preload" => PRELOAD,
            "--audit" => AUDIT,
            "--inhibit-rpath" => {
                // ld.so ignores an empty name at the end, unless the list has no other.
                let list = value.strip_suffix(':').filter(|it| !it.is_empty());
                let list = list.unwrap_or(value);
                self.inhibit_rpath = list.split(':').map(str::to_owned).collect();
                return;
            }
            "--argv0" => {
                self.argv0 = Some(value.to_owned());
                return;
            }
            _ => return,
        };
        self.variables.retain(|(name, _)| *name != variable);
        self.variables.push((variable, value.to_owned()));
    }

    /// Whether it gives the program a different `argv[0]`, by which Python finds its environment.
    pub(crate) fn renames(&self) -> bool {
        self.argv0.as_ref().is_some_and(|it| *it != self.program)
    }
}

fn unrecognized(option: &str) -> Call {
    Call::Prints(option.to_owned(), format!("unrecognized option '{option}'"))
}
