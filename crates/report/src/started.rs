//! What a container starts, as text.

use super::one_line;
use imgcheck_launch::{Change, LaunchFacts};

/// Maximum length of a command line that is shown, in characters.
const MAX_COMMAND: usize = 160;

/// The chain that starts the program: `/usr/bin/tini → /start.sh → python3 serve.py`; `None` if the image starts nothing.
pub(crate) fn chain(launch: &LaunchFacts) -> Option<String> {
    let mut steps: Vec<String> = launch.chain.iter().map(|it| one_line(&it.path)).collect();
    let command = match &launch.program {
        Some(program) => {
            let arguments = launch.arguments.iter().skip(1).map(String::as_str);
            let words: Vec<&str> = std::iter::once(program.as_str()).chain(arguments).collect();
            words.join(" ")
        }
        None => String::new(),
    };
    let mut command = one_line(&command);
    if command.chars().count() > MAX_COMMAND {
        command = command.chars().take(MAX_COMMAND).collect::<String>() + " …";
    }
    steps.extend(Some(command).filter(|it| !it.is_empty()));
    (!steps.is_empty()).then(|| steps.join(" → "))
}

/// What the chain changes, a line for each variable: `LD_LIBRARY_PATH=/opt/lib (/start.sh; not set in the image)`.
pub(crate) fn changes(launch: &LaunchFacts) -> impl Iterator<Item = String> {
    launch.changes.iter().map(change)
}

fn change(change: &Change) -> String {
    let from = match change.from.as_str() {
        "" => "a script or wrapper".to_owned(),
        from => one_line(from),
    };
    let before = match &change.before {
        None => "not set in the image".to_owned(),
        Some(before) => format!("`{}` in the image", one_line(before)),
    };
    match &change.after {
        Some(after) => format!(
            "{}={} ({from}; {before})",
            one_line(&change.variable),
            one_line(after)
        ),
        None => format!(
            "{} is not set or unknown ({from}; {before})",
            one_line(&change.variable)
        ),
    }
}
