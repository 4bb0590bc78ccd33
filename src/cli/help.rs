//! What `-h` leaves out so that it fits one screen; `--help` has everything.

use clap::{Arg, Command};

/// Groups of options for special cases.
const GROUPS: [&str; 2] = ["Cache of layer facts", "Registries"];

/// Options for special cases in other groups, by their long names.
const OPTIONS: [&str; 15] = [
    "all-images",
    "all-platforms",
    "color",
    "config",
    "deep",
    "facts-from",
    "facts-key",
    "limit",
    "no-config",
    "no-lazy",
    "no-progress",
    "platform",
    "rules",
    "severity",
    "strict",
];

/// Options that a command refuses: it has them only because it shares a group with others.
const REFUSED: [(&str, &str); 2] = [("preflight", "as"), ("preflight", "all-platforms")];

/// The end of `--help` of commands with options.
pub const VARIABLES: &str = "\
Variables:
  A variable sets an option that the command line leaves out: IMGCHECK_FAIL_ON sets --fail-on";

/// The widest line, in columns, on a wider terminal too.
const WIDEST: usize = 100;

/// Shortens the help of the program and of its commands. The options of the program are those of `imgcheck check`, whose help shows them.
pub fn shorten(program: Command) -> Command {
    let program = shorten_command(program.max_term_width(WIDEST));
    program.mut_args(|it| match it.is_positional() {
        true => it,
        false => it.hide_short_help(true),
    })
}

/// Variables have the names of their options, so help does not list them.
fn shorten_command(command: Command) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(|it| {
            let is_special = is_special(&it) || it.is_hide_short_help_set();
            let is_refused = is_refused(&name, &it);
            let it = it.hide_env(true).hide_short_help(is_special);
            match is_refused {
                true => it.hide(true),
                false => it,
            }
        })
        .mut_subcommands(shorten_command)
}

fn is_refused(command: &str, option: &Arg) -> bool {
    let long = option.get_long().unwrap_or_default();
    REFUSED.contains(&(command, long))
}

fn is_special(option: &Arg) -> bool {
    let group = option.get_help_heading();
    group.is_some_and(|it| GROUPS.contains(&it))
        || option.get_long().is_some_and(|it| OPTIONS.contains(&it))
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use clap::{Command, CommandFactory};

    /// Options whose variable has another name, so that one variable does not set options of different commands.
    const OTHER_NAMES: [&str; 1] = ["IMGCHECK_ATTEST_OUTPUT"];

    #[test]
    fn a_variable_has_the_name_of_its_option() {
        fn check(command: &Command) {
            for option in command.get_arguments() {
                let (Some(name), Some(long)) = (option.get_env(), option.get_long()) else {
                    continue;
                };
                let name = name.to_string_lossy();
                let expected = format!("IMGCHECK_{}", long.replace('-', "_").to_uppercase());
                assert!(
                    name == expected || OTHER_NAMES.contains(&&*name),
                    "{} --{long}: {name}",
                    command.get_name()
                );
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }

    #[test]
    fn the_short_help_fits_one_screen() {
        let mut command = super::shorten(Cli::command()).term_width(80);
        let help = command.render_help().to_string();
        assert!(help.lines().count() <= 40, "{help}");
        assert!(
            !help.contains("--mirror") && help.contains("imgcheck check -h"),
            "{help}"
        );
        let long = command.render_long_help().to_string();
        assert!(long.contains("--mirror"), "{long}");
    }

    #[test]
    fn the_help_of_a_command_has_what_it_takes() {
        let mut command = super::shorten(Cli::command()).term_width(100);
        let mut help = |name: &str| {
            let command = command.find_subcommand_mut(name);
            let command = command.expect("a command");
            let (short, long) = (command.render_help(), command.render_long_help());
            (short.to_string(), long.to_string())
        };
        let (short, _) = help("check");
        assert!(
            short.contains("--gpu") && !short.contains("--mirror"),
            "{short}"
        );
        let (short, _) = help("lint");
        assert!(short.contains("--baseline"), "{short}");
        let (short, long) = help("preflight");
        assert!(short.contains("--images"), "{short}");
        for option in ["--as ", "--all-platforms"] {
            assert!(!short.contains(option) && !long.contains(option), "{long}");
        }
        let (_, long) = help("facts");
        assert!(
            long.contains("--as ") && long.contains("--all-platforms"),
            "{long}"
        );
    }
}
