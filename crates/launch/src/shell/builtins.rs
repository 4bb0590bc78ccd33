//! The commands that shells bring.

use super::interpreter::{Flow, Shell};
use super::state::Contents;
use super::words::is_name;
use crate::value::{Status, Value};

/// Runs a command of this name with these arguments.
pub(super) type Builtin = fn(&mut Shell, &str, &[Value]) -> Flow;

/// Whether functions do not hide a command in POSIX mode, and assignments before it stay (POSIX.1-2024, 2.15).
pub(super) fn is_special(name: &str) -> bool {
    matches!(
        name,
        "break"
            | ":"
            | "continue"
            | "."
            | "eval"
            | "exec"
            | "exit"
            | "export"
            | "readonly"
            | "return"
            | "set"
            | "shift"
            | "times"
            | "trap"
            | "unset"
    )
}

/// The command of a name; `None` if it is a program.
pub(super) fn find(name: &str, bash: bool) -> Option<Builtin> {
    Some(match name {
        ":" | "true" => |shell, _, _| shell.ends(Status::Success),
        "false" => |shell, _, _| shell.ends(Status::Failure(Some(1))),
        "echo" => |shell, _, arguments| shell.echo(arguments),
        "printf" => |shell, _, arguments| shell.printf(arguments),
        "test" | "[" => |shell, name, arguments| {
            let status = shell.test(name, arguments);
            shell.ends(status)
        },
        "pwd" => |shell, _, arguments| shell.pwd(arguments),
        "cd" | "chdir" => |shell, _, arguments| shell.cd(arguments),
        "export" | "readonly" | "local" => |shell, name, arguments| shell.declare(name, arguments),
        "declare" | "typeset" if bash => |shell, name, arguments| shell.declare(name, arguments),
        "unset" => |shell, _, arguments| shell.unset(arguments),
        "set" => |shell, _, arguments| shell.set(arguments),
        "shift" => |shell, _, arguments| shell.shift(arguments),
        "exec" => |shell, _, arguments| shell.exec(arguments),
        "eval" => |shell, _, arguments| shell.eval(arguments),
        "." | "source" => |shell, name, arguments| shell.source(name, arguments),
        "return" | "exit" => |shell, name, arguments| shell.leave(name, arguments),
        "break" | "continue" => |shell, name, arguments| shell.leave_loop(name, arguments),
        "command" | "builtin" => |shell, _, arguments| shell.command_builtin(arguments),
        "type" => |shell, _, arguments| shell.type_of(arguments),
        "hash" => |shell, _, arguments| shell.hash(arguments),
        "trap" => |shell, _, arguments| shell.trap(arguments),
        "read" | "getopts" | "mapfile" | "readarray" => {
            |shell, name, arguments| shell.read(name, arguments)
        }
        "let" if bash => |shell, _, arguments| shell.let_builtin(arguments),
        "shopt" if bash => |shell, _, arguments| shell.shopt(arguments),
        "kill" => |shell, _, _| {
            if shell.state.traps {
                shell.gap("a signal to a shell with traps");
            }
            shell.ends(Status::Unknown)
        },
        "ulimit" => |shell, _, arguments| shell.ulimit(arguments),
        "wait" | "umask" | "times" | "jobs" | "fg" | "bg" | "unalias" => |shell, _, _| {
            shell.write_unknown();
            shell.ends(Status::Unknown)
        },
        "disown" | "complete" | "compopt" | "bind" | "history" | "suspend" if bash => {
            |shell, _, _| shell.ends(Status::Unknown)
        }
        "alias" | "fc" => not_understood,
        "pushd" | "popd" | "dirs" | "enable" | "caller" | "help" | "logout" | "compgen" if bash => {
            not_understood
        }
        _ => return None,
    })
}

fn not_understood(shell: &mut Shell, _: &str, _: &[Value]) -> Flow {
    let cause = shell.command_cause();
    shell.host.gap(&cause);
    shell.state.directory = Value::Unknown(cause);
    shell.write_unknown();
    shell.ends(Status::Unknown)
}

/// The texts of arguments; `None` if one is unknown.
pub(super) fn texts(arguments: &[Value]) -> Option<Vec<&str>> {
    arguments.iter().map(Value::known).collect()
}

impl Shell<'_, '_> {
    fn hash(&mut self, arguments: &[Value]) -> Flow {
        let is_known = |it: &Value| it.known().is_some_and(|it| it == "-r" || is_name(it));
        if !arguments.iter().all(is_known) {
            self.gap("`hash`");
        }
        self.write_unknown();
        self.ends(Status::Unknown)
    }

    fn let_builtin(&mut self, arguments: &[Value]) -> Flow {
        for argument in arguments {
            match argument.known().map(str::to_owned) {
                Some(text) => self.arithmetic(&text),
                None => self.gap("`let`"),
            }
        }
        self.ends(Status::Unknown)
    }

    pub(super) fn ends(&mut self, status: Status) -> Flow {
        self.state.status = status;
        Flow::Next
    }

    fn echo(&mut self, arguments: &[Value]) -> Flow {
        match texts(arguments) {
            Some(texts) => {
                let without_newline = texts.first() == Some(&"-n");
                let words = &texts[usize::from(without_newline)..];
                let is_plain = !words.iter().any(|it| it.contains('\\'))
                    && !words.first().is_some_and(|it| it.starts_with('-'));
                let end = if without_newline { "" } else { "\n" };
                match is_plain {
                    true => self.write(&(words.join(" ") + end)),
                    false => self.write_unknown(),
                }
            }
            None => self.write_unknown(),
        }
        self.ends(Status::Success)
    }

    fn printf(&mut self, arguments: &[Value]) -> Flow {
        if arguments.first().and_then(Value::known) == Some("-v") {
            let cause = self.command_cause();
            match arguments
                .get(1)
                .and_then(Value::known)
                .filter(|it| is_name(it))
            {
                Some(name) => {
                    let name = name.to_owned();
                    self.assign(&name, Contents::Text(Value::Unknown(cause)), false);
                }
                None => self.host.gap(&cause),
            }
            return self.ends(Status::Success);
        }
        match texts(arguments).and_then(|texts| formatted(&texts)) {
            Some(text) => self.write(&text),
            None => self.write_unknown(),
        }
        self.ends(Status::Success)
    }

    /// `read` and the like: what they read is unknown.
    fn read(&mut self, name: &str, arguments: &[Value]) -> Flow {
        let cause = self.command_cause();
        let Some(texts) = texts(arguments) else {
            self.host.gap(&cause);
            return self.ends(Status::Unknown);
        };
        let names: Vec<String> = texts.iter().map(|it| (*it).to_owned()).collect();
        // A callback of `mapfile`, or a subscript, which may run commands.
        let calls = |it: &String| it.starts_with("-C") || it.contains('[');
        if names.iter().any(calls) {
            self.host.gap(&cause);
        }
        let contents = |cause| match name {
            "mapfile" | "readarray" => Contents::Array(vec![Value::Many(cause)]),
            _ => Contents::Text(Value::Unknown(cause)),
        };
        let implied = match name {
            "getopts" => &["OPTARG", "OPTIND"][..],
            "read" => &["REPLY"],
            _ => &["MAPFILE"],
        };
        let names = names
            .iter()
            .map(String::as_str)
            .chain(implied.iter().copied());
        for variable in names.filter(|it| is_name(it)) {
            let value = contents(cause.clone());
            self.assign(variable, value, false);
        }
        self.ends(Status::Unknown)
    }

    /// `ulimit`: a limit under which a program may fail is a gap.
    fn ulimit(&mut self, arguments: &[Value]) -> Flow {
        // A number without an option limits the size of files.
        let mut letters = vec!['f'];
        for argument in arguments {
            match argument.known() {
                Some("unlimited" | "hard" | "soft") => {}
                Some(option) if option.starts_with('-') => {
                    let end = option.find(|it: char| it.is_ascii_digit());
                    let (options, number) = option.split_at(end.unwrap_or(option.len()));
                    let named = options.chars().skip(1);
                    let named: Vec<char> = named.filter(|it| !matches!(it, 'S' | 'H')).collect();
                    letters = if named.is_empty() { letters } else { named };
                    if !number.is_empty() {
                        self.check_limits(&letters, number.parse().ok());
                    }
                }
                value => self.check_limits(&letters, value.and_then(|it| it.parse().ok())),
            }
        }
        self.write_unknown();
        self.ends(Status::Unknown)
    }

    fn check_limits(&mut self, letters: &[char], value: Option<u64>) {
        if letters.iter().any(|it| self.host.limits(*it, value)) {
            let cause = self.command_cause();
            self.host.gap(&cause);
        }
    }

    fn shopt(&mut self, arguments: &[Value]) -> Flow {
        let Some(texts) = texts(arguments) else {
            self.gap("`shopt`");
            return self.ends(Status::Unknown);
        };
        let sets = texts.iter().any(|it| it.starts_with("-s"));
        let unsets = texts.iter().any(|it| it.starts_with("-u"));
        let is_option = |it: &&&str| it.starts_with('-');
        let mut given = texts.iter().filter(is_option);
        let mut is_understood = given.all(|it| matches!(*it, "-s" | "-u" | "-q" | "-p"));
        let changes = sets || unsets;
        let options = &mut self.state.options;
        for name in texts.iter().filter(|it| !it.starts_with('-')) {
            match *name {
                "nullglob" if sets || unsets => options.nullglob = sets,
                "extglob" if sets || unsets => options.extglob = sets,
                "checkwinsize"
                | "histappend"
                | "cmdhist"
                | "progcomp"
                | "huponexit"
                | "login_shell"
                | "interactive_comments"
                | "hostcomplete"
                | "promptvars" => {}
                _ => is_understood &= !changes,
            }
        }
        if !is_understood {
            let cause = self.command_cause();
            self.host.gap(&cause);
        }
        self.write_unknown();
        self.ends(if changes {
            Status::Success
        } else {
            Status::Unknown
        })
    }
}

/// What `printf` writes, for formats of plain text, `%s`, `%%` and `\n`.
fn formatted(texts: &[&str]) -> Option<String> {
    let (format, mut arguments) = texts.split_first()?;
    let mut output = String::new();
    loop {
        let mut consumed = 0;
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            match c {
                '%' => match chars.next()? {
                    's' => {
                        output.push_str(arguments.get(consumed).copied().unwrap_or_default());
                        consumed += 1;
                    }
                    '%' => output.push('%'),
                    _ => return None,
                },
                '\\' => match chars.next()? {
                    'n' => output.push('\n'),
                    't' => output.push('\t'),
                    _ => return None,
                },
                '-' if output.is_empty() => return None,
                c => output.push(c),
            }
        }
        arguments = arguments.get(consumed..).unwrap_or_default();
        if arguments.is_empty() || consumed == 0 {
            return Some(output);
        }
    }
}
