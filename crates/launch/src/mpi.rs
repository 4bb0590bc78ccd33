//! `mpirun` of Open MPI: what it does to the programs that it starts on this host, and whether it refuses to run as root.

use super::locate::absolute;
use super::options::Given;
use super::process::Process;
use super::value::Value;
use imgcheck_base::lexical::{directory_of, name_of};

/// What a call of `mpirun` was given.
pub(crate) struct MpiCall<'g> {
    pub given: &'g Given,
    /// Its own name, as the command writes it.
    pub name: &'g str,
}

/// The programs of Open MPI that start others (4.x, 5.x).
const LAUNCHERS: [&str; 2] = ["orterun", "prterun"];
/// Both variables have to be set to 1 (Open MPI 4.1.4, `opal/util/opal_check_root.c`, and PRRTE 3.0, `schizo_ompi.c` and `schizo_prte.c`).
const ALLOWANCES: [[&str; 2]; 2] = [
    ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"],
    ["PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"],
];
/// Options with which it starts nothing, whoever runs it.
const INFORMATION: [&str; 8] = [
    "-h",
    "-help",
    "--help",
    "-V",
    "-version",
    "--version",
    "-?",
    "--",
];

/// Makes of its process that of the programs. An error says what is not understood.
pub(crate) fn apply(call: &MpiCall, process: &mut Process, rest: &[Value]) -> Result<(), String> {
    if rest.iter().any(|it| it.known() == Some(":")) {
        return Err("it starts several programs".to_owned());
    }
    let names_hosts = |name: &str| name.starts_with("OMPI_MCA_") && name.contains("host");
    if process.environment.keys().any(|it| names_hosts(it)) {
        return Err("it starts programs on other hosts".to_owned());
    }
    if let Some(prefix) = prefix(call)? {
        prepend(process, "PATH", &format!("{prefix}/bin"), call.name)?;
        prepend(
            process,
            "LD_LIBRARY_PATH",
            &format!("{prefix}/lib"),
            call.name,
        )?;
    }
    for (name, value) in &call.given.options {
        let value = value.known().unwrap_or_default();
        match name.as_str() {
            "-mca" | "--mca" | "-gmca" | "--gmca" if value.contains("host") => {
                return Err("it starts programs on other hosts".to_owned());
            }
            "-x" => {
                if let Some((name, value)) = value.split_once('=') {
                    process.set(name, value, call.name);
                }
            }
            "-wd" | "--wd" | "-wdir" | "--wdir" => {
                let directory = absolute(value, &process.directory);
                process.directory = directory.ok_or("the working directory is unknown")?.into();
            }
            _ => {}
        }
    }
    Ok(())
}

/// The installation whose programs and libraries come first: that of `--prefix`, or of the absolute path that it was started by.
fn prefix(call: &MpiCall) -> Result<Option<String>, String> {
    if let Some(prefix) = call.given.option(&["-prefix", "--prefix"]) {
        return Ok(Some(prefix.trim_end_matches('/').to_owned()));
    }
    if !call.name.starts_with('/') || call.given.has(&["-noprefix", "--noprefix"]) {
        return Ok(None);
    }
    let directory = directory_of(call.name);
    match name_of(directory) {
        "bin" => Ok(Some(
            directory_of(directory).trim_end_matches('/').to_owned(),
        )),
        _ => Err(format!(
            "it is in {directory}, and not in a directory `bin`"
        )),
    }
}

fn prepend(process: &mut Process, name: &str, directory: &str, from: &str) -> Result<(), String> {
    let before = match process.environment.get(name) {
        None => "",
        Some(setting) => setting
            .value
            .known()
            .ok_or_else(|| format!("{name} is unknown"))?,
    };
    let value = match before {
        "" => directory.to_owned(),
        before => format!("{directory}:{before}"),
    };
    process.set(name, &value, from);
    Ok(())
}

/// Whether it is a program of Open MPI that certainly refuses to start anything as root. `executable` is its file, `has_file` says which
/// files the image has.
pub(crate) fn refuses_root(
    process: &Process,
    executable: &str,
    has_file: impl Fn(&str) -> bool,
) -> bool {
    // Open MPI 5 has a program `mpirun` of its own, which starts `prterun`.
    let is_front = matches!(name_of(executable), "mpirun" | "mpiexec")
        && has_file(&format!("{}/prterun", directory_of(executable)));
    if !is_front && !LAUNCHERS.contains(&name_of(executable)) {
        return false;
    }
    let mut arguments = process.arguments.iter().skip(1).map(Value::known);
    let is_other = |it: &str| it.contains("allow-run-as-root") || INFORMATION.contains(&it);
    let is_set = |name: &&str| process.environment.contains_key(*name);
    let is_allowed = ALLOWANCES.iter().any(|pair| pair.iter().all(&is_set));
    !is_allowed && arguments.len() > 0 && arguments.all(|it| it.is_some_and(|it| !is_other(it)))
}
