//! `sudo` as root calls it (sudoers(5), "Command environment").

use super::process::Process;
use super::user::User;
use super::value::Value;
use imgcheck_base::glob::matches_any;
use imgcheck_image::{Node, RootFilesystem};

/// What sudo removes although it is told to keep the environment (`initial_badenv_table` of `plugins/sudoers/env.c`).
const REMOVED: [&str; 28] = [
    "IFS",
    "CDPATH",
    "LOCALDOMAIN",
    "RES_OPTIONS",
    "HOSTALIASES",
    "NLSPATH",
    "PATH_LOCALE",
    "LD_*",
    "_RLD*",
    "TERMINFO",
    "TERMINFO_DIRS",
    "TERMPATH",
    "TERMCAP",
    "ENV",
    "BASH_ENV",
    "PS4",
    "GLOBIGNORE",
    "BASHOPTS",
    "SHELLOPTS",
    "JAVA_TOOL_OPTIONS",
    "PERL*",
    "FPATH",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONINSPECT",
    "PYTHONUSERBASE",
    "RUBYLIB",
    "RUBYOPT",
];
/// What it keeps otherwise (`initial_keepenv_table` and `initial_checkenv_table`).
const KEPT: [&str; 14] = [
    "COLORS",
    "DISPLAY",
    "HOSTNAME",
    "LS_COLORS",
    "PATH",
    "PS1",
    "PS2",
    "XAUTHORITY",
    "COLORTERM",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TERM",
    "TZ",
];

/// How sudo is called.
pub(crate) struct Call<'c> {
    /// The user that the program runs as.
    pub user: &'c str,
    /// `-E`
    pub keeps: bool,
    /// `-H`
    pub sets_home: bool,
    pub from: &'c str,
}

/// Makes the process that of the command, which is in `rest`, behind assignments.
pub(crate) fn apply(
    call: &Call,
    process: &mut Process,
    rest: &mut Vec<Value>,
    root: &RootFilesystem,
    is_unknown: &dyn Fn(&str) -> bool,
) -> Result<(), String> {
    if User::of(root, &process.user).id != Some(0) {
        return Err("only calls by root are modeled".to_owned());
    }
    let variables = "/etc/environment";
    if is_unknown(variables) || root.resolve(variables).is_ok_and(|it| it.size() > 0) {
        return Err(format!("it may set the variables in {variables}"));
    }
    let secure = secure_path(root, is_unknown)?;
    let user = User::of(root, call.user);
    if user.id.is_none() {
        return Err(format!("the user {} is not known", call.user));
    }
    process.environment.retain(|name, _| match call.keeps {
        true => !matches_any(name, &REMOVED),
        false => matches_any(name, &KEPT),
    });
    if call.sets_home || !call.keeps {
        process.set("HOME", &user.home, call.from);
    }
    if let Some(secure) = &secure {
        process.set("PATH", secure, call.from);
    }
    while let Some(first) = rest.first() {
        let text = first.known().ok_or("its arguments are unknown")?.to_owned();
        let Some((name, value)) = text.split_once('=') else {
            break;
        };
        if name == "PATH" && secure.as_deref().is_some_and(|it| it != value) {
            return Err("it searches one PATH for the command and sets another".to_owned());
        }
        process.set(name, value, call.from);
        rest.remove(0);
    }
    process.user = user.written.into();
    Ok(())
}

/// `secure_path` of the policy; an error if the policy has lines that are not understood.
fn secure_path(
    root: &RootFilesystem,
    is_unknown: &dyn Fn(&str) -> bool,
) -> Result<Option<String>, String> {
    let read = |file: String| {
        let text = root.resolve(&file).ok().and_then(Node::text);
        let text = text.filter(|_| !is_unknown(&file));
        let text = text.ok_or_else(|| format!("{file} was not read"))?;
        let lines = text.lines().rev().map(move |it| (file.clone(), it.trim()));
        Ok::<Vec<_>, String>(lines.collect())
    };
    // The next line is the last one.
    let mut lines = read("/etc/sudoers".to_owned())?;
    let mut secure = None;
    let mut is_allowed = false;
    let mut includes = false;
    while let Some((file, line)) = lines.pop() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_comment = line.starts_with('#') && !line.starts_with("#include");
        match words.as_slice() {
            [] => {}
            _ if is_comment => {}
            ["@includedir" | "#includedir", "/etc/sudoers.d"] if !includes => {
                includes = true;
                if is_unknown("/etc/sudoers.d") {
                    return Err("a script writes its policy".to_owned());
                }
                let more = root.read_dir("/etc/sudoers.d").map(|it| it.name());
                let more = more.filter(|it| !it.contains('.') && !it.ends_with('~'));
                let more: Vec<&str> = more.collect();
                for name in more.into_iter().rev() {
                    lines.extend(read(format!("/etc/sudoers.d/{name}"))?);
                }
            }
            ["Defaults", "env_reset" | "mail_badpass" | "use_pty"] => {}
            ["Defaults", setting] if setting.starts_with("secure_path=") => {
                let path = setting["secure_path=".len()..].trim_matches('"');
                secure = Some(path.to_owned());
            }
            [who, "ALL=(ALL:ALL)" | "ALL=(ALL)", "ALL" | "NOPASSWD:ALL"] => {
                is_allowed |= *who == "root"
            }
            [_, "ALL=(ALL:ALL)" | "ALL=(ALL)", "NOPASSWD:", "ALL"] => {}
            _ => return Err(format!("the line `{line}` of {file}")),
        }
    }
    match is_allowed {
        true => Ok(secure),
        false => Err("/etc/sudoers does not say what root may do".to_owned()),
    }
}
