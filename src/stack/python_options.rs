//! The options of the command that starts Python.

use super::inventory::is_interpreter_name;
use crate::lexical::name_of;

/// The options with which a command starts Python (`python --help`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// `-E` or `-I`: PYTHON* variables are ignored.
    pub ignore_environment: bool,
    /// `-s` or `-I`.
    pub no_user_site: bool,
    /// `-S`.
    pub no_site: bool,
    /// `-P` or `-I`: the directory of the script is not searched.
    pub safe_path: bool,
    /// The script or directory; `None` for `-c`, `-m`, standard input and the interactive interpreter.
    pub script: Option<String>,
}

impl Options {
    /// The options of the Python that a command starts; `None` if it names none.
    pub fn of(arguments: &[String]) -> Option<Self> {
        let python = |word: &String| is_interpreter_name(name_of(word));
        let start = arguments.iter().position(python)? + 1;
        let mut options = Options::default();
        let mut words = arguments[start..].iter();
        while let Some(word) = words.next() {
            match word.strip_prefix('-') {
                Some("") => break,
                Some("-check-hash-based-pycs") => _ = words.next(),
                Some(letters) if !letters.starts_with('-') => {
                    if options.read(letters, &mut words) {
                        break;
                    }
                }
                Some(_) => {}
                None => {
                    options.script = Some(word.clone());
                    break;
                }
            }
        }
        Some(options)
    }

    /// Reads one word of options: `-sE`. True if they end here.
    fn read<'w>(&mut self, letters: &str, words: &mut impl Iterator<Item = &'w String>) -> bool {
        for (at, letter) in letters.char_indices() {
            match letter {
                'c' | 'm' => return true,
                'E' => self.ignore_environment = true,
                's' => self.no_user_site = true,
                'S' => self.no_site = true,
                'P' => self.safe_path = true,
                'I' => {
                    self.ignore_environment = true;
                    self.no_user_site = true;
                    self.safe_path = true;
                }
                'W' | 'X' => {
                    if at + 1 == letters.len() {
                        words.next();
                    }
                    return false;
                }
                _ => {}
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn options_of_the_command() {
        let of = |command: &str| {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            Options::of(&words)
        };
        let script = |script: &str| Options {
            script: Some(script.to_owned()),
            ..Options::default()
        };
        assert_eq!(of("bash"), None);
        assert_eq!(of("python app.py -I"), Some(script("app.py")));
        assert_eq!(
            of("tini -- python3 -u -W ignore -Xdev app.py"),
            Some(script("app.py"))
        );
        assert_eq!(of("python3.11 -X importtime app/"), Some(script("app/")));
        assert_eq!(of("python -m app -I"), Some(Options::default()));
        assert_eq!(of("python - -I"), Some(Options::default()));
        let isolated = of("python -uIc pass").unwrap();
        assert!(isolated.safe_path && isolated.ignore_environment && isolated.no_user_site);
        let plain = of("/usr/bin/python3 -sPES --check-hash-based-pycs always x.py").unwrap();
        assert!(plain.safe_path && plain.ignore_environment && plain.no_user_site && plain.no_site);
        assert_eq!(plain.script.as_deref(), Some("x.py"));
    }
}
