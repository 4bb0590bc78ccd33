//! What all views of the loader model share: lines for processes, objects and failures, and who loads whom.

use imgcheck_model::process::cause::When;
use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use crate::details::library_path_source;
use crate::one_line;
pub(super) use crate::text::style::{BOLD, DIM};
use imgcheck_base::lexical::name_of;
use imgcheck_launch::LaunchFacts;
use imgcheck_model::process::tree::{FailedLoad, MappedObject, ProcessTree};

pub(super) const RED: Style = AnsiColor::Red.on_default().bold();
pub(super) const YELLOW: Style = AnsiColor::Yellow.on_default();

/// What to show of the loader model.
#[derive(Debug, Clone, Copy)]
pub struct TreeQuery<'a> {
    /// The image as the user named it.
    pub image: &'a str,
    /// What the image starts, to be shown above the processes.
    pub launch: Option<&'a LaunchFacts>,
    /// A SONAME, file name, path, or the start of a name; `None` shows everything.
    pub library: Option<&'a str>,
}

pub(super) fn heading(out: &mut String, process: &ProcessTree) {
    let role = if process.main {
        "main process"
    } else {
        "other process"
    };
    let _ = writeln!(
        out,
        "\n{BOLD}{}{BOLD:#} {DIM}{role}{DIM:#}",
        one_line(&process.name)
    );
    if !process.library_path.is_empty() {
        let path = one_line(&process.library_path);
        let from = one_line(&library_path_source(process));
        let _ = writeln!(out, "{DIM}LD_LIBRARY_PATH={path} ({from}){DIM:#}");
    }
}

pub(super) fn title(process: &ProcessTree, package: &str, when: When) -> String {
    let version = process
        .imports
        .iter()
        .find(|import| import.package == package);
    let version = version.map_or("", |import| import.version.as_str());
    match when {
        When::Start => "start".to_owned(),
        When::Import => one_line(format!("import {package} {version}").trim_end()),
        When::Never | When::Use => one_line(&format!("first use of {package}")),
    }
}

/// `libcudnn.so.9 => /…/libcudnn.so.9  9.10.2  DT_RPATH of libtorch_cuda.so`.
pub(super) fn object_line(object: &MappedObject) -> String {
    let facts = &object.facts;
    let mut line = match facts.request == facts.path || facts.request.contains('/') {
        true => one_line(&facts.path),
        false => format!("{} => {}", one_line(&facts.request), one_line(&facts.path)),
    };
    if let Some(version) = facts.readings.get("version") {
        let _ = write!(line, "  {}", one_line(version));
    }
    let _ = write!(line, "  {DIM}{}{DIM:#}", one_line(&facts.reason));
    if object.unmapped {
        let _ = write!(line, "  {RED}unmapped again: the load fails{RED:#}");
    }
    if facts.global && facts.when != When::Start {
        let _ = write!(line, " {DIM}RTLD_GLOBAL{DIM:#}");
    }
    if !object.others.is_empty() {
        let count = object.others.len();
        let copies = if count == 1 { "copy" } else { "copies" };
        let _ = write!(
            line,
            "  {YELLOW}{count} other {copies} in the image{YELLOW:#}"
        );
    }
    line
}

pub(super) fn failure_line(failure: &FailedLoad) -> String {
    let message = one_line(&failure.message);
    let needed_by = match failure.needed_by.as_str() {
        "" => String::new(),
        path => format!(" {DIM}(needed by {}){DIM:#}", one_line(path)),
    };
    match failure.optional {
        true => format!("{YELLOW}not loaded{YELLOW:#} {message}{needed_by}"),
        false => format!("{RED}FAILS{RED:#} {message}{needed_by}"),
    }
}

pub(super) fn is_match(object: &MappedObject, library: &str) -> bool {
    let facts = &object.facts;
    [&facts.path, &facts.soname, &facts.request]
        .iter()
        .any(|name| matches(name, library))
}

/// Whether a name or path is the given one or its file name starts with it: `libcudnn` matches all of cuDNN.
pub(super) fn matches(name: &str, library: &str) -> bool {
    let file = name_of(name);
    name == library || (!library.contains('/') && !library.is_empty() && file.starts_with(library))
}

/// Who loads whom, by index of the object.
pub(super) struct Relations {
    /// Objects whose DT_NEEDED entries lead to it.
    pub users: Vec<Vec<usize>>,
    /// Objects that it opens at run time.
    pub opened: Vec<Vec<usize>>,
}

impl Relations {
    pub fn of(process: &ProcessTree) -> Self {
        let count = process.objects.len();
        let mut relations = Relations {
            users: vec![Vec::new(); count],
            opened: vec![Vec::new(); count],
        };
        for (id, object) in process.objects.iter().enumerate() {
            for &need in &object.needs {
                if relations.users[need].last() != Some(&id) {
                    relations.users[need].push(id);
                }
            }
        }
        for (id, object) in process.objects.iter().enumerate() {
            if let Some(parent) = object.parent
                && relations.users[id].binary_search(&parent).is_err()
            {
                relations.opened[parent].push(id);
            }
        }
        relations
    }
}
