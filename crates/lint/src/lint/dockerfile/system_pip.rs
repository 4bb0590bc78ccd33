//! Commands that install into a distribution's own Python, which pip and uv refuse where the distribution says that it manages Python itself: the
//! file `EXTERNALLY-MANAGED` (PEP 668; `check_externally_managed` in `pip/_internal/utils/misc.py`, which `pip install` and `pip uninstall` call).

use super::super::command::Command;
use super::super::facts::SearchDirectory;
use super::super::install::{self, Argument};
use super::super::text::Text;
use super::session::Session;
use super::state::State;
use imgcheck_base::lexical::{is_below, name_of};

/// The packages of apt with the distribution's pip and Python.
const PIP: &str = "python3-pip";
const PYTHON: [&str; 4] = ["python3", PIP, "python3-dev", "python3-venv"];

/// Variables that change which Python or pip is used, or where it installs.
const VARIABLES: &[&str] = &[
    "PIP_BREAK_SYSTEM_PACKAGES",
    "PIP_CONFIG_FILE",
    "PIP_PREFIX",
    "PIP_PYTHON",
    "PIP_ROOT",
    "PIP_TARGET",
    "PYTHONHOME",
    "UV_BREAK_SYSTEM_PACKAGES",
    "UV_PYTHON",
    "VIRTUAL_ENV",
];

/// What directories contain that bring no Python when they are on PATH.
const WITHOUT_PYTHON: &[&str] = &["cuda", "nvidia"];

/// Programs that neither bring a Python nor configure pip.
const HARMLESS: &[&str] = &[
    ":",
    "adduser",
    "apt",
    "apt-cache",
    "apt-get",
    "apt-key",
    "apt-mark",
    "cat",
    "cd",
    "chmod",
    "chown",
    "curl",
    "dpkg",
    "echo",
    "export",
    "git",
    "gpg",
    "groupadd",
    "ldconfig",
    "locale-gen",
    "ls",
    "mkdir",
    "nvcc",
    "pipx",
    "rm",
    "set",
    "true",
    "uname",
    "update-ca-certificates",
    "useradd",
    "uv",
    "uvx",
    "wget",
];

/// Harmless programs that may write files.
const FETCHES: &[&str] = &["curl", "dpkg", "git", "uv", "uvx", "wget"];

/// What arguments of harmless programs and names of variables contain if they may change Python or pip after all.
const CHANGES: &[&str] = &[
    "PATH",
    "PIP",
    "PYTHON",
    "EXTERNALLY",
    "pip.",
    "/usr/lib/python",
    "deadsnakes",
];

/// Directories whose files may change Python or pip.
const DIRECTORIES: &[&str] = &["/bin", "/etc", "/home", "/lib", "/root", "/sbin", "/usr"];

/// Options with which pip does not look for the file, or does nothing.
const EXEMPT: &[&str] = &[
    "--break-system-packages",
    "--dry-run",
    "--help",
    "--prefix",
    "--python",
    "--root",
    "--target",
];

impl State<'_> {
    /// Handles a command of a script: the first one that installs with pip or uv decides, if only harmless ones come before it.
    pub fn system_pip(
        &mut self,
        text: &Text<'_>,
        (command, words): (&Command<'_>, &[Argument]),
        is_certain: bool,
        session: &Session,
    ) {
        let writes = command.outputs().any(|it| it.plain() != Some("/dev/null"));
        self.has_files |= writes;
        if self.has_own_pip || command.is_list {
            return;
        }
        if let Some(arguments) = pip_arguments(words) {
            let verb = arguments.iter().find(|word| !word.text.starts_with('-'));
            match verb.map(|word| word.text.as_str()) {
                Some("install" | "uninstall") => {}
                Some("cache" | "check" | "download" | "freeze" | "list" | "show") => return,
                None if !arguments.is_empty() => return,
                _ => return self.has_own_pip = true,
            }
            let has_pip = self.recorder.has_system_package(PIP);
            if is_certain && has_pip {
                self.refused_by_pip(text, words, arguments);
            }
            if is_certain {
                self.first_pip(text, words);
            }
            return;
        }
        let uses_system = self.session_value("UV_SYSTEM_PYTHON", session).is_some();
        if let Some(arguments) = uv_arguments(words, uses_system) {
            let mut packages = PYTHON.iter();
            let has_python = packages.any(|it| self.recorder.has_system_package(it));
            if is_certain && has_python {
                self.refused_by_pip(text, words, arguments);
            }
            return;
        }
        let name = words.first().map(|word| name_of(&word.text));
        let is_assignment = name.is_some_and(|it| it.contains('='));
        let is_harmless = name.is_none_or(|it| HARMLESS.contains(&it)) || is_assignment;
        self.has_unknown_packages |= installs_unknown(words);
        self.has_files |= name.is_some_and(|it| FETCHES.contains(&it));
        let is_changing = |word: &Argument| CHANGES.iter().any(|it| word.text.contains(it));
        self.has_own_pip |= !is_harmless || writes || words.iter().any(is_changing);
    }

    /// Notes the first command that needs pip.
    fn first_pip(&mut self, text: &Text<'_>, words: &[Argument]) {
        let span = words.first().zip(words.last());
        if self.stage.first_pips.is_empty()
            && !self.has_unknown_packages
            && let Some((first, last)) = span
        {
            let program = first.text.as_str();
            self.stage.first_pips.push(SearchDirectory {
                text: match name_of(program).starts_with("python") {
                    true => format!("{program} -m pip"),
                    false => program.to_owned(),
                },
                location: text.location(first.span.start..last.span.end),
            });
        }
    }

    /// Whether the stage may have a file that its base image lacks.
    pub fn may_have_files(&self) -> bool {
        self.has_files || self.has_own_pip || !self.foreign.is_empty() || !self.copies.is_empty()
    }

    /// Notes the first command that installs into the Python of the distribution.
    fn refused_by_pip(&mut self, text: &Text<'_>, words: &[Argument], arguments: &[Argument]) {
        let is_unknown = |word: &Argument| !word.known && word.text.starts_with('$');
        let is_exempt = |word: &Argument| is_exempt(&word.text) || is_unknown(word);
        let span = words.first().zip(words.last());
        if self.stage.system_pips.is_empty()
            && !arguments.iter().any(is_exempt)
            && let Some((first, last)) = span
        {
            self.stage.system_pips.push(SearchDirectory {
                text: name_of(&first.text).to_owned(),
                location: text.location(first.span.start..last.span.end),
            });
        }
    }

    /// Whether commands use the distribution's own Python, as far as is known.
    pub fn uses_system_python(&self) -> bool {
        !self.has_own_pip && self.recorder.has_system_package(PIP)
    }

    /// Handles a variable of `ENV` or `ARG`.
    pub fn system_pip_variable(&mut self, name: &str, value: &str) {
        let brings = |directory: &str| {
            let mut without = WITHOUT_PYTHON.iter();
            !directory.starts_with('$') && !without.any(|it| directory.contains(it))
        };
        let keeps_python = || value.contains('$') && !value.split(':').any(brings);
        self.has_own_pip |= VARIABLES.contains(&name) || name == "PATH" && !keeps_python();
    }

    /// Handles the options of `RUN`: secrets and files may be those of pip.
    pub fn system_pip_mount(&mut self, settings: &str) {
        self.has_own_pip |= CHANGES
            .iter()
            .chain(&["/etc", "/usr"])
            .any(|it| settings.contains(it));
    }

    /// Handles files that are copied to a path.
    pub fn system_pip_files(&mut self, target: &str) {
        self.has_own_pip |= target == "/" || DIRECTORIES.iter().any(|it| is_below(target, it));
    }
}

/// Whether a word is an option with which pip does not look for the file; pip takes the start of an option's name for it.
fn is_exempt(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    match name.starts_with("--") {
        true => name.len() > 3 && name != "--pre" && EXEMPT.iter().any(|it| it.starts_with(name)),
        false => word.starts_with("-t") || word == "-h",
    }
}

/// The arguments of `uv pip` that installs into the Python that it finds on PATH; `None` for another command.
fn uv_arguments(words: &[Argument], uses_system: bool) -> Option<&[Argument]> {
    let [uv, pip, verb, arguments @ ..] = words else {
        return None;
    };
    let command = [name_of(&uv.text), &pip.text, &verb.text];
    let is_system = uses_system || arguments.iter().any(|it| it.text == "--system");
    (command == ["uv", "pip", "install"] && is_system).then_some(arguments)
}

/// Whether a command installs packages of the distribution whose names are not known: a file, or what another command prints.
fn installs_unknown(words: &[Argument]) -> bool {
    let mut words = words.iter();
    let is_setting = |it: &&Argument| it.text.contains('=') || it.text == "env";
    let Some(program) = words.find(|it| !is_setting(it)) else {
        return false;
    };
    let rest = words.as_slice();
    match name_of(&program.text) {
        "dpkg" => rest
            .iter()
            .any(|it| matches!(it.text.as_str(), "-i" | "--install")),
        "apt" | "apt-get" => {
            // The words of a variable are packages, too, or even the verb.
            let has_words = |it: &Argument| it.text.contains(char::is_whitespace);
            let is_plain = |it: &Argument| it.known && !it.text.contains(['/', '*', '^', '$']);
            let install = install::system("apt", "install", rest);
            rest.iter().any(has_words)
                || install
                    .is_some_and(|it| it.packages.is_empty() || !it.packages.iter().all(is_plain))
        }
        "uv" | "uvx" | "pipx" => true,
        _ => false,
    }
}

/// The arguments of the distribution's pip; `None` for another program.
fn pip_arguments(words: &[Argument]) -> Option<&[Argument]> {
    let (program, rest) = words.split_first()?;
    let program = program
        .text
        .strip_prefix("/usr/bin/")
        .unwrap_or(&program.text);
    match program {
        "pip" | "pip3" => Some(rest),
        "python3" if rest.len() > 2 && rest[0].text == "-m" && rest[1].text == "pip" => {
            Some(&rest[2..])
        }
        _ => None,
    }
}
