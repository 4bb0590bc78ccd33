//! Programs that start another one: what they take of their arguments, and what they do to the environment.

use std::cell::RefCell;
use std::rc::Rc;

use super::knowledge::{Effect, Knowledge, Wrapper};
use super::mpi::{self, MpiCall};
use super::options::Given;
use super::process::{self, Process};
use super::projects::{self, ProjectEnvironment};
use super::sudo;
use super::user::{GROUP, PASSWD, User};
use super::value::{Cause, Value};
use imgcheck_base::lexical::name_of;
use imgcheck_image::RootFilesystem;

/// What a wrapper is started in.
pub(crate) struct WrapperContext<'r, 'c> {
    pub root: &'r RootFilesystem<'r>,
    pub knowledge: &'c Knowledge,
    /// The command that starts it.
    pub cause: &'c Rc<Cause>,
    /// What may keep the program from its work, although it starts.
    pub notes: &'c RefCell<Vec<String>>,
    /// Its file, without symbolic links.
    pub executable: &'c str,
    /// Whether a script may have changed a file.
    pub is_unknown: &'c dyn Fn(&str) -> bool,
}

impl Knowledge {
    /// Where the command begins that a program such as `sudo` starts; the first of the words is the name of the program. `None` if it
    /// starts none, if a subcommand does (`conda run`), or if that is unknown.
    pub fn wrapped_command(&self, words: &[&str]) -> Option<usize> {
        let wrapper = self.wrapper(name_of(words.first()?), None)?;
        let is_known = !wrapper.unknown || !wrapper.options.is_empty();
        if !is_known || wrapper.effect == Effect::Daemon {
            return None;
        }
        let mut rest = words[1..].iter().map(|it| Value::from(*it)).collect();
        let given = wrapper.options.leading(&mut rest, false).ok()?;
        let at = words.len() - rest.len() + wrapper.operands_behind(&given);
        (at < words.len()).then_some(at)
    }
}

impl Wrapper {
    /// The number of operands between these options and the command.
    fn operands_behind(&self, given: &Given) -> usize {
        self.operands + usize::from(self.mask && given.options.is_empty())
    }
}

/// Makes of a wrapper's process that of the program which it starts. `Ok(false)` if it starts none. An error says what is not understood.
pub(crate) fn apply(
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
            let operand = given.operands[0].known().unwrap_or_default();
            check_users(operand, context)?;
            let user = User::of(root, operand);
            process.set("HOME", &user.home, &from);
            process.user = user.written.into();
        }
        Effect::Identity => identity(&given, process, context)?,
        Effect::Preload => preload(wrapper, process, root, &from)?,
        Effect::Conda => conda(&given, process, &mut rest, context)?,
        Effect::Uv => {
            if let Some(directory) = given.option(&["--directory"]) {
                enter(process, directory)?;
            }
            project(projects::uv(process, root)?, process, &from)?;
            let python = projects::uv_target(&given, &rest, process, root)?;
            rest.splice(0..0, python.iter().copied().map(Value::from));
        }
        Effect::Poetry => {
            let command = rest[0].known().ok_or("its command is unknown")?;
            project(projects::poetry(process, root, command)?, process, &from)?;
        }
        Effect::Pipenv => project(projects::pipenv(process, root)?, process, &from)?,
        Effect::Xargs => rest.push(Value::Many(context.cause.clone())),
        Effect::Timeout => timeout(&given, context)?,
        Effect::Limits => limits(&given, context)?,
        Effect::Mpi => {
            let (given, name) = (&given, from.as_str());
            mpi::apply(&MpiCall { given, name }, process, &rest)?;
        }
        Effect::Sudo => as_sudo(&given, process, &mut rest, &from, context)?,
    }
    if rest.is_empty() {
        return Ok(false);
    }
    process.arguments = rest;
    Ok(true)
}

fn as_sudo(
    given: &Given,
    process: &mut Process,
    rest: &mut Vec<Value>,
    from: &str,
    context: &WrapperContext,
) -> Result<(), String> {
    let user = given.option(&["-u", "--user"]).unwrap_or("root");
    check_users(user, context)?;
    let call = sudo::Call {
        user,
        keeps: given.has(&["-E", "--preserve-env"]),
        sets_home: given.has(&["-H", "--set-home"]),
        from,
    };
    sudo::apply(&call, process, rest, context.root, context.is_unknown)
}

/// Changes the user, and nothing else.
fn identity(given: &Given, process: &mut Process, context: &WrapperContext) -> Result<(), String> {
    let named = given.operands.first().and_then(Value::known);
    if let Some(user) = named.or(given.option(&["--reuid"])) {
        check_users(user, context)?;
        process.user = match given.option(&["--regid"]) {
            Some(group) => format!("{user}:{group}").into(),
            None => user.into(),
        };
    }
    Ok(())
}

/// Takes options and operands off the arguments.
fn options(wrapper: &Wrapper, rest: &mut Vec<Value>) -> Result<Given, String> {
    let mut given = wrapper.options.leading(rest, true)?;
    if given
        .options
        .iter()
        .any(|(_, value)| value.known().is_none())
    {
        return Err("its arguments are unknown".to_owned());
    }
    for _ in 0..wrapper.operands_behind(&given) {
        if rest.is_empty() {
            return Err("an operand is missing".to_owned());
        }
        let operand = rest.remove(0);
        operand.known().ok_or("an operand is unknown")?;
        given.operands.push(operand);
    }
    Ok(given)
}

/// Whether the files that say who a user is are those of the image, and have the user.
fn check_users(user: &str, context: &WrapperContext) -> Result<(), String> {
    for file in [PASSWD, GROUP] {
        if (context.is_unknown)(file) {
            return Err(format!(
                "{file}, which says who `{user}` is, may have changed"
            ));
        }
    }
    match User::refusal(context.root, user) {
        Some(refusal) => Err(refusal.message),
        None => Ok(()),
    }
}

/// `timeout`: a duration that is too short for the program, or that is not one.
fn timeout(given: &Given, context: &WrapperContext) -> Result<(), String> {
    let text = given.operands[0].known().unwrap_or_default();
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(number) => (number, text.chars().last()),
        None => (text, None),
    };
    let factor = match unit {
        Some('m') => 60.0,
        Some('h') => 3_600.0,
        Some('d') => 86_400.0,
        _ => 1.0,
    };
    let is_plain = number.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    let seconds: f64 = match number.parse() {
        Ok(number) if is_plain => number,
        _ => return Err(format!("the duration `{text}` is not understood")),
    };
    // 0 is no limit.
    if seconds > 0.0 && seconds * factor < context.knowledge.shortest_timeout() {
        let note = format!("ends the program after {text}");
        context.notes.borrow_mut().push(note);
    }
    Ok(())
}

/// `prlimit`: limits under which a program may fail.
fn limits(given: &Given, context: &WrapperContext) -> Result<(), String> {
    for (name, value) in &given.options {
        let text = value.known().unwrap_or_default();
        let text = text.strip_prefix('=').unwrap_or(text);
        let short = name.strip_prefix('-').filter(|it| !it.starts_with('-'));
        for part in text.split(':') {
            if matches!(part, "" | "unlimited" | "-1") {
                continue;
            }
            let number = part.parse();
            let number = number.map_err(|_| format!("the limit `{part}` is not understood"))?;
            let option = short.unwrap_or(name);
            if context.knowledge.limits(option, Some(number), false) {
                let note = format!("limits what the program may use ({name} {part})");
                context.notes.borrow_mut().push(note);
            }
        }
    }
    Ok(())
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
    if given.has(&["-", "-i", "--ignore-environment"]) {
        process.environment = process::Environment::new();
    }
    for (name, value) in &given.options {
        let value = value.known().unwrap_or_default();
        match name.as_str() {
            "-u" | "--unset" => {
                process.environment.remove(value);
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
    if !given.has(&["-S", "--start"]) || given.has(&["-t", "--test"]) {
        return Ok(false);
    }
    let program = given
        .option(&["-a", "--startas"])
        .or(given.option(&["-x", "--exec"]));
    rest.insert(0, program.ok_or("it names no program")?.into());
    Ok(true)
}
