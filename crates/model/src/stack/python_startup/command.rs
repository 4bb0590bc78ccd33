//! What a command executes with Python.

use crate::stack::interpreter;
use crate::stack::inventory::Inventory;
use crate::stack::python::PythonProgram;
use crate::stack::python_options::Options;
use imgcheck_base::lexical::directory_of;
use imgcheck_launch::Launch;

/// What a command executes.
pub(super) fn program(options: &Options, launch: &Launch) -> Option<PythonProgram> {
    let Options {
        script,
        module,
        code,
        reads_input,
        ..
    } = options;
    let is_input = *reads_input || script.as_deref() == Some("/dev/stdin");
    if is_input {
        return Some(PythonProgram::Input);
    }
    let script = script.as_ref().map(|it| launch.absolute(it));
    let script = script.map(PythonProgram::Script);
    let module = module.clone().map(PythonProgram::Module);
    let code = code.clone().map(PythonProgram::Code);
    script.or(module).or(code)
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
