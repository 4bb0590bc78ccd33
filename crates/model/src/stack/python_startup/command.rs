//! What a command executes with Python.

use crate::stack::interpreter;
use crate::stack::inventory::Inventory;
use crate::stack::python::PythonProgram;
use crate::stack::python_options::Options;
use imgcheck_base::lexical::directory_of;
use imgcheck_launch::{Input, Launch};

/// What a command executes.
pub(super) fn program(options: &Options, launch: &Launch) -> Option<PythonProgram> {
    let Options {
        script,
        module,
        code,
        ..
    } = options;
    if reads_input(options, launch) {
        let text = launch.input.known().map(str::to_owned);
        return Some(PythonProgram::Input(text));
    }
    let script = script.as_ref().map(|it| launch.absolute(it));
    let script = script.map(PythonProgram::Script);
    let module = module.clone().map(PythonProgram::Module);
    let code = code.clone().map(PythonProgram::Code);
    script.or(module).or(code)
}

/// Whether Python executes its standard input: it is told to, or is given one and nothing else.
fn reads_input(options: &Options, launch: &Launch) -> bool {
    let has_program =
        options.script.is_some() || options.module.is_some() || options.code.is_some();
    let prints_only =
        !options.words.is_empty() || options.letters.iter().any(|it| "Vh?".contains(*it));
    options.reads_input
        || options.script.as_deref() == Some("/dev/stdin")
        || !has_program && !prints_only && launch.input != Input::Inherited
}

/// Whether the command names Python itself, and not a program that is installed with one: `supervisord` starts others.
pub(super) fn is_program(
    options: &Options,
    launch: &Launch,
    inventory: &Inventory,
    prefix: &str,
) -> bool {
    let script = options.script.as_deref().unwrap_or_default();
    let directory = interpreter::real_directory(inventory, directory_of(script));
    let programs = [&format!("{prefix}/bin"), "/usr/bin", "/usr/local/bin"];
    let is_installed = directory.is_some_and(|it| programs.contains(&it.as_str()));
    !is_installed && launch.gaps.is_empty() && launch.program.is_some()
}
