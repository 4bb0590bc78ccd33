//! Programs that start another one: what they take of their arguments, and what they do to the environment.

use super::knowledge::{Effect, Wrapper};
use super::process::{self, Process};
use super::projects::{self, ProjectEnvironment};
use super::sudo;
use super::user::User;
use super::value::Value;
use crate::image::RootFilesystem;

/// The options that a wrapper was given with a value, and the operands before its command.
#[derive(Debug, Default)]
struct Given {
    options: Vec<(String, String)>,
    flags: Vec<String>,
    operands: Vec<String>,
}

impl Given {
    fn option(&self, names: &[&str]) -> Option<&str> {
        let mut options = self.options.iter().rev();
        let found = options.find(|(name, _)| names.contains(&name.as_str()));
        found.map(|(_, value)| value.as_str())
    }
}

/// What a wrapper is started in.
pub(super) struct WrapperContext<'r, 'c> {
    pub root: &'r RootFilesystem<'r>,
    /// Its file, without symbolic links.
    pub executable: &'c str,
    /// Whether a script may have changed a file.
    pub is_unknown: &'c dyn Fn(&str) -> bool,
}

/// Makes of a wrapper's process that of the program which it starts. `Ok(false)` if it starts none. An error says what is not understood.
pub(super) fn apply(
    wrapper: &Wrapper,
    process: &mut Process,
    context: &WrapperContext,
) -> Result<bool, String> {
    if wrapper.unknown {
        return Err("what it does to the environment is not modeled".to_owned());
    }
    let root = context.root;
    let from = process.arguments[0].known().unwrap_or_default().to_owned();
    let start = 1 + usize::from(wrapper.has_subcommand());
    let mut rest = process.arguments.get(start..).unwrap_or_default().to_vec();
    let given = match wrapper.effect {
        Effect::Env => env(wrapper, process, &mut rest, &from)?,
        _ => options(wrapper, &mut rest)?,
    };
    if wrapper.effect == Effect::Daemon {
        if !daemon(&given, &mut rest)? {
            return Ok(false);
        }
        enter(process, given.option(&["-d", "--chdir"]).unwrap_or("/"))?;
    }
    if rest.is_empty() {
        return Ok(false);
    }
    match wrapper.effect {
        Effect::None | Effect::Env | Effect::Daemon => {}
        Effect::User => {
            let user = User::of(root, &given.operands[0]);
            process.set("HOME", &user.home, &from);
            process.user = user.written;
        }
        Effect::Preload => preload(wrapper, process, root, &from)?,
        Effect::Conda => conda(&given, process, &mut rest, context)?,
        Effect::Uv => {
            if let Some(directory) = given.option(&["--directory"]) {
                enter(process, directory)?;
            }
            project(projects::uv(process, root)?, process, &from)?;
        }
        Effect::Poetry => {
            let command = rest[0].known().ok_or("its command is unknown")?;
            project(projects::poetry(process, root, command)?, process, &from)?;
        }
        Effect::Pipenv => project(projects::pipenv(process, root)?, process, &from)?,
        Effect::Sudo => {
            let has = |names: [&str; 2]| given.flags.iter().any(|it| names.contains(&it.as_str()));
            let call = sudo::Call {
                user: given.option(&["-u", "--user"]).unwrap_or("root"),
                keeps: has(["-E", "--preserve-env"]),
                sets_home: has(["-H", "--set-home"]),
                from: &from,
            };
            sudo::apply(&call, process, &mut rest, context.root, context.is_unknown)?;
            if rest.is_empty() {
                return Ok(false);
            }
        }
    }
    process.arguments = rest;
    Ok(true)
}

/// Takes options and operands off the arguments.
fn options(wrapper: &Wrapper, rest: &mut Vec<Value>) -> Result<Given, String> {
    let mut given = Given::default();
    let unknown = |text: &str| format!("its option {text} is not understood");
    while let Some(first) = rest.first() {
        let text = first.known().ok_or("its arguments are unknown")?.to_owned();
        if text == "--" {
            rest.remove(0);
            break;
        }
        let is_flag = wrapper.flags.contains(&text);
        if !text.starts_with('-') || (text == "-" && !is_flag) {
            break;
        }
        rest.remove(0);
        if is_flag {
            given.flags.push(text);
            continue;
        }
        if wrapper.values.contains(&text) {
            let value = rest
                .first()
                .and_then(Value::known)
                .ok_or_else(|| unknown(&text))?;
            given.options.push((text, value.to_owned()));
            rest.remove(0);
            continue;
        }
        if let Some((name, value)) = text.split_once('=')
            && wrapper.values.iter().any(|it| it == name)
        {
            given.options.push((name.to_owned(), value.to_owned()));
            continue;
        }
        let attached = wrapper
            .values
            .iter()
            .find(|it| it.len() == 2 && text.starts_with(it.as_str()));
        if let Some(name) = attached {
            given.options.push((name.clone(), text[2..].to_owned()));
            continue;
        }
        let is_letter = |c: char| wrapper.flags.contains(&format!("-{c}"));
        let has_numbers = wrapper.flags.iter().any(|it| it == "-NUMBER");
        let is_number = has_numbers && text[1..].bytes().all(|it| it.is_ascii_digit());
        if is_number || (!text.starts_with("--") && text[1..].chars().all(is_letter)) {
            let letters = text[1..].chars().map(|c| format!("-{c}"));
            given.flags.extend(letters);
            continue;
        }
        return Err(unknown(&text));
    }
    let needs_mask = wrapper.mask && given.options.is_empty();
    for _ in 0..wrapper.operands + usize::from(needs_mask) {
        if rest.is_empty() {
            return Err("an operand is missing".to_owned());
        }
        let operand = rest.remove(0);
        let operand = operand.known().ok_or("an operand is unknown")?;
        given.operands.push(operand.to_owned());
    }
    Ok(given)
}

/// `env`: options, then assignments.
fn env(
    wrapper: &Wrapper,
    process: &mut Process,
    rest: &mut Vec<Value>,
    from: &str,
) -> Result<Given, String> {
    // `-S` splits its argument into more arguments, as on a `#!` line.
    let split = rest.first().and_then(Value::known).and_then(|first| {
        first
            .strip_prefix("--split-string=")
            .or_else(|| first.strip_prefix("-S"))
            .map(str::to_owned)
    });
    if let Some(mut text) = split {
        rest.remove(0);
        if text.is_empty() {
            text = match rest.first().and_then(Value::known) {
                Some(next) => next.to_owned(),
                None => return Err("its option -S is not understood".to_owned()),
            };
            rest.remove(0);
        }
        if text.contains(['\\', '\'', '"', '$', '#']) {
            return Err("its option -S is not understood".to_owned());
        }
        let words = text.split_whitespace().map(Value::from);
        rest.splice(0..0, words);
    }
    let given = options(wrapper, rest)?;
    let clears = |flag: &String| matches!(flag.as_str(), "-" | "-i" | "--ignore-environment");
    if given.flags.iter().any(clears) {
        process.environment = process::Environment::new();
    }
    for (name, value) in &given.options {
        match name.as_str() {
            "-u" | "--unset" => {
                process.environment.remove(value.as_str());
            }
            "-C" | "--chdir" => enter(process, value)?,
            name => return Err(format!("its option {name} is not understood")),
        }
    }
    while let Some(first) = rest.first() {
        let text = first.known().ok_or("its arguments are unknown")?;
        let Some((name, value)) = text.split_once('=') else {
            break;
        };
        process.set(name, value, from);
        rest.remove(0);
    }
    Ok(given)
}

/// Changes the working directory.
fn enter(process: &mut Process, directory: &str) -> Result<(), String> {
    let directory = super::locate::absolute(directory, &process.directory);
    process.directory = directory.ok_or("the working directory is unknown")?.into();
    Ok(())
}

/// The text of a variable, empty if it is not set; an error if it is unknown.
fn variable<'p>(process: &'p Process, name: &str) -> Result<&'p str, String> {
    match process.environment.get(name) {
        None => Ok(""),
        Some(setting) => setting
            .value
            .known()
            .ok_or_else(|| format!("{name} is unknown")),
    }
}

fn prepend(process: &mut Process, name: &str, entry: &str, from: &str) -> Result<(), String> {
    let before = variable(process, name)?;
    let value = match before {
        "" => entry.to_owned(),
        before => format!("{entry}:{before}"),
    };
    process.set(name, &value, from);
    Ok(())
}

/// The directories that programs keep their preloaded libraries in.
const LIBRARY_DIRECTORIES: [&str; 6] = [
    "/usr/libexec/coreutils",
    "/usr/lib/coreutils",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/lib64",
];

fn preload(
    wrapper: &Wrapper,
    process: &mut Process,
    root: &RootFilesystem,
    from: &str,
) -> Result<(), String> {
    let mut candidates = LIBRARY_DIRECTORIES
        .iter()
        .map(|it| format!("{it}/{}", wrapper.library));
    let found = candidates.find(|path| root.resolve(path).is_ok());
    let found = found.ok_or_else(|| format!("{} is not in the image", wrapper.library))?;
    let before = variable(process, "LD_PRELOAD")?;
    let value = match before {
        "" => found,
        before => format!("{before}:{found}"),
    };
    process.set("LD_PRELOAD", &value, from);
    Ok(())
}

/// `conda run`: a script activates the environment, and starts the command.
fn conda(
    given: &Given,
    process: &mut Process,
    rest: &mut Vec<Value>,
    context: &WrapperContext,
) -> Result<(), String> {
    let named = given.option(&["-p", "--prefix", "-n", "--name"]);
    let script = super::conda::run_script(context.executable, process, named)?;
    if let Some(directory) = given.option(&["--cwd"]) {
        enter(process, directory)?;
    }
    let shell = ["bash", "-c", &script, "conda"].map(Value::from);
    rest.splice(0..0, shell);
    Ok(())
}

/// A command in the environment of a project.
fn project(
    environment: ProjectEnvironment,
    process: &mut Process,
    from: &str,
) -> Result<(), String> {
    if let ProjectEnvironment::Virtual(prefix) = environment {
        prepend(process, "PATH", &format!("{prefix}/bin"), from)?;
        process.set("VIRTUAL_ENV", &prefix, from);
        process.environment.remove("PYTHONHOME");
    }
    Ok(())
}

/// `start-stop-daemon`: the program of `--exec`, unless it stops one.
fn daemon(given: &Given, rest: &mut Vec<Value>) -> Result<bool, String> {
    let starts = |flag: &String| matches!(flag.as_str(), "-S" | "--start");
    let only_tests = |flag: &String| matches!(flag.as_str(), "-t" | "--test");
    if !given.flags.iter().any(starts) || given.flags.iter().any(only_tests) {
        return Ok(false);
    }
    let program = given
        .option(&["-a", "--startas"])
        .or(given.option(&["-x", "--exec"]));
    rest.insert(0, program.ok_or("it names no program")?.into());
    Ok(true)
}
