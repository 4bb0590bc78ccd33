//! Small programs that certainly fail, because files are missing.

use std::rc::Rc;

use super::Chain;
use crate::knowledge::{Changes, Harmless, Needs};
use crate::locate::absolute;
use crate::options::Given;
use crate::process::Process;
use crate::shell::{Host, MissingFile, Outcome, Presence};
use crate::value::{Cause, Status, Value};
use imgcheck_base::lexical::{directory_of, name_of};

/// A file by its absolute path, and as the command names it.
struct Operand {
    name: String,
    path: String,
}

/// What a call of a program needs.
#[derive(Default)]
struct Files {
    /// They exist.
    existing: Vec<Operand>,
    /// They exist, as places of what it makes.
    directories: Vec<Operand>,
    /// They do not.
    absent: Vec<Operand>,
    /// It makes them.
    written: Vec<Operand>,
    /// It succeeds if one exists, as far as is known.
    is_one_enough: bool,
}

impl Chain<'_, '_> {
    /// How a program ends that fails for certain, because a file that it needs is missing, or one that it makes exists. Unless it does
    /// nothing at all, the files that it writes are noted.
    pub(super) fn fails(
        &mut self,
        row: &Harmless,
        name: &str,
        process: &Process,
        cause: &Rc<Cause>,
    ) -> Option<Outcome> {
        let arguments = &process.arguments[1..];
        let given = row.options.as_ref()?.all(arguments).ok()?;
        let unless: Vec<&str> = row.unless.iter().map(String::as_str).collect();
        let has_other = given.options.iter().any(|(it, _)| row.unless.contains(it));
        if !row.may_be(arguments) {
            return None;
        }
        let files = files(row.needs?, &given, process)?;
        if given.has(&unless) || has_other {
            let makes = matches!(row.needs, Some(Needs::New)).then_some(files.written);
            return self.cannot_make(&makes.unwrap_or_default());
        }
        let keeps = given.has(&["-n", "--no-clobber", "-u", "--update"]);
        let is_refused = self.refuses_attributes(row, &files.existing)
            || !keeps && self.refuses_target(row.needs, &files);
        let (mut missing, others): (Vec<Operand>, Vec<Operand>) = files
            .existing
            .into_iter()
            .partition(|it| self.is_absent(it));
        let directories = files.directories.into_iter();
        missing.extend(directories.filter(|it| self.is_absent(it)));
        let exists = |it: &Operand| matches!(self.file(&it.path), Presence::Exists(_));
        let in_the_way = files.absent.iter().any(exists);
        let succeeds = missing.is_empty() && !in_the_way && !is_refused;
        if succeeds || files.is_one_enough && !others.is_empty() {
            return None;
        }
        if !others.is_empty() && !is_refused {
            self.stays_harmless(row, process, cause);
        }
        if let Some(file) = missing.first() {
            self.note_missing_file(MissingFile {
                kind: "file",
                name: &file.name,
                path: &file.path,
                message: format!("{name}: {}: No such file or directory", file.name),
                shell: String::new(),
                cause: cause.clone(),
            });
        }
        // A volume may bring the file, and then it writes something.
        Some(Outcome {
            status: Status::Failure(None),
            ..Outcome::unknown()
        })
    }

    /// How `mkdir -p` ends if it has to make a directory where the user may not.
    fn cannot_make(&self, directories: &[Operand]) -> Option<Outcome> {
        let is_new = |it: &&Operand| matches!(self.file(&it.path), Presence::Missing);
        let mut new = directories.iter().filter(is_new);
        new.any(|it| self.refuses_write(&it.path)).then(|| Outcome {
            status: Status::Failure(None),
            ..Outcome::unknown()
        })
    }

    /// Whether the owner or the permissions of files cannot be changed: those of a ConfigMap.
    fn refuses_attributes(&self, row: &Harmless, files: &[Operand]) -> bool {
        let is_fixed = |it: &Operand| {
            let destination = self.root.destination(&it.path);
            self.overlay.is_in_config_map(&destination)
        };
        matches!(row.changes, Changes::Owner | Changes::Permissions) && files.iter().any(is_fixed)
    }

    /// Whether the user may not write what a program makes: in a directory, files with the names of the sources.
    fn refuses_target(&self, needs: Option<Needs>, files: &Files) -> bool {
        let is_directory = |it: &Operand| matches!(self.file(&it.path), Presence::Exists(node) if node.is_directory());
        let mut targets = files.written.iter();
        targets.any(
            |target| match needs == Some(Needs::Sources) && is_directory(target) {
                false => self.refuses_write(&target.path),
                true => files.existing.iter().any(|source| {
                    let name = name_of(&source.path);
                    self.refuses_write(&format!("{}/{name}", target.path.trim_end_matches('/')))
                }),
            },
        )
    }

    /// Whether not even a broken link is there.
    fn is_absent(&self, file: &Operand) -> bool {
        matches!(self.file(&file.path), Presence::Missing) && self.root.entry(&file.path).is_none()
    }
}

/// The files that decide; `None` if an operand is unknown.
fn files(needs: Needs, given: &Given, process: &Process) -> Option<Files> {
    let operands = given.operands.iter().map(Value::known);
    let operands: Vec<&str> = operands.collect::<Option<_>>()?;
    let operand = |name: &str| {
        Some(Operand {
            name: name.to_owned(),
            path: absolute(name, &process.directory)?,
        })
    };
    let all = |names: &[&str]| {
        let names = names.iter().filter(|it| **it != "-");
        names.map(|it| operand(it)).collect::<Option<Vec<_>>>()
    };
    let parent = |name: &str| match name.trim_end_matches('/') {
        name if name.contains('/') => operand(directory_of(name)),
        _ => operand("."),
    };
    let parents = |names: &[&str]| {
        names
            .iter()
            .map(|it| parent(it))
            .collect::<Option<Vec<_>>>()
    };
    let files = match needs {
        Needs::Operands => Files {
            existing: all(&operands)?,
            ..Files::default()
        },
        Needs::BehindFirst => Files {
            existing: all(operands.get(1..).unwrap_or_default())?,
            is_one_enough: true,
            ..Files::default()
        },
        Needs::Parents => Files {
            directories: parents(&operands)?,
            written: all(&operands)?,
            ..Files::default()
        },
        Needs::New => Files {
            directories: parents(&operands)?,
            absent: all(&operands)?,
            written: all(&operands)?,
            ..Files::default()
        },
        Needs::Sources => match operands.split_last()? {
            (_, []) => Files::default(),
            (last, sources) => Files {
                existing: all(sources)?,
                directories: parents(&[last])?,
                written: all(&[last])?,
                ..Files::default()
            },
        },
    };
    Some(files)
}
