//! The options of the command that starts Python.

use super::inventory::is_interpreter_name;
use imgcheck_base::lexical::name_of;

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
    /// `-`: the script is the standard input.
    pub reads_input: bool,
    /// The module after `-m`.
    pub module: Option<String>,
    /// The program after `-c`.
    pub code: Option<String>,
    /// The letters of all options, in order.
    pub letters: Vec<char>,
    /// The options with two hyphens, without these.
    pub words: Vec<String>,
    /// The arguments of `-X`.
    pub settings: Vec<String>,
    /// The arguments of `-W`.
    pub warnings: Vec<String>,
    /// The arguments of the script or module.
    pub rest: Vec<String>,
    /// The last letter, if it needs an argument and has none.
    pub lacks_argument: Option<char>,
}

/// The letters that take an argument (`SHORT_OPTS` in CPython's `Python/getopt.c`).
const WITH_ARGUMENT: [char; 4] = ['c', 'm', 'W', 'X'];

impl Options {
    /// The options of the Python that a command starts; `None` if it names none.
    pub fn of(arguments: &[String]) -> Option<Self> {
        let python = |word: &String| is_interpreter_name(name_of(word));
        let start = arguments.iter().position(python)? + 1;
        let mut options = Options::default();
        let mut words = arguments[start..].iter();
        while let Some(word) = words.next() {
            match word.strip_prefix('-') {
                Some("") => {
                    options.reads_input = true;
                    break;
                }
                Some("-") => {
                    options.script = words.next().filter(|it| *it != "-").cloned();
                    break;
                }
                Some(letters) => match letters.strip_prefix('-') {
                    Some(name) => {
                        options.words.push(name.to_owned());
                        if name == "check-hash-based-pycs" {
                            words.next();
                        }
                    }
                    None if options.read(letters, &mut words) => break,
                    None => {}
                },
                None => {
                    options.script = Some(word.clone());
                    break;
                }
            }
        }
        options.rest = words.cloned().collect();
        Some(options)
    }

    /// The name of the script or module that Python executes; empty for `-c`, standard input and the interactive interpreter.
    pub fn program(&self) -> &str {
        let script = self.script.as_deref().map(name_of);
        script.or(self.module.as_deref()).unwrap_or_default()
    }

    /// The arguments of a program, if that is what Python executes: a script of one of these names or one of these modules, whose first
    /// argument is `command`.
    pub fn arguments_of(
        &self,
        names: &[String],
        modules: &[String],
        command: Option<&String>,
    ) -> Option<&[String]> {
        let is_listed = |list: &[String], name: &str| list.iter().any(|it| it == name);
        let is_program = match (&self.script, &self.module) {
            (Some(script), _) => is_listed(names, name_of(script)),
            (None, Some(module)) => is_listed(modules, module),
            (None, None) => false,
        };
        let rest = self.rest.as_slice();
        let arguments = match command {
            Some(command) => rest.strip_prefix(std::slice::from_ref(command)),
            None => Some(rest),
        };
        arguments.filter(|_| is_program)
    }

    /// Reads one word of options: `-sE`. True if they end here.
    fn read<'w>(&mut self, letters: &str, words: &mut impl Iterator<Item = &'w String>) -> bool {
        for (at, letter) in letters.char_indices() {
            self.letters.push(letter);
            match letter {
                'E' => self.ignore_environment = true,
                's' => self.no_user_site = true,
                'S' => self.no_site = true,
                'P' => self.safe_path = true,
                'I' => {
                    self.ignore_environment = true;
                    self.no_user_site = true;
                    self.safe_path = true;
                }
                _ => {}
            }
            if WITH_ARGUMENT.contains(&letter) {
                let own = &letters[at + letter.len_utf8()..];
                let argument = match own {
                    "" => words.next().map(String::as_str),
                    own => Some(own),
                };
                match (letter, argument) {
                    (_, None) => self.lacks_argument = Some(letter),
                    ('X', Some(text)) => self.settings.push(text.to_owned()),
                    ('W', Some(text)) => self.warnings.push(text.to_owned()),
                    ('m', Some(text)) => self.module = Some(text.to_owned()),
                    ('c', Some(text)) => self.code = Some(text.to_owned()),
                    _ => {}
                }
                return matches!(letter, 'c' | 'm');
            }
        }
        false
    }

    /// The values of a setting of `-X`; `None` for one without a value.
    pub fn values_of<'o>(&'o self, setting: &'o str) -> impl Iterator<Item = Option<&'o str>> {
        self.settings
            .iter()
            .filter_map(move |text| match text.split_once('=') {
                Some((name, value)) => (name == setting).then_some(Some(value)),
                None => (text == setting).then_some(None),
            })
    }
}

/// An option of a program that may have `_` in place of `-` in its name: that name with `-`, and the value, if it is attached by `=`.
pub(super) fn option(word: &str) -> (String, Option<&str>) {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) if name.starts_with('-') => (name, Some(value)),
        _ => (word, None),
    };
    match name.strip_prefix("--") {
        Some(long) => (format!("--{}", long.replace('_', "-")), value),
        None => (name.to_owned(), value),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn of(command: &str) -> Option<Options> {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        Options::of(&words)
    }

    #[test]
    fn options_of_the_command() {
        let script = |command: &str| of(command).unwrap().script;
        assert_eq!(of("bash"), None);
        let plain = Options {
            script: Some("app.py".to_owned()),
            rest: vec!["-I".to_owned()],
            ..Options::default()
        };
        assert_eq!(of("python app.py -I"), Some(plain));
        let development = of("tini -- python3 -u -W ignore -Xdev app.py").unwrap();
        assert_eq!(development.script.as_deref(), Some("app.py"));
        assert_eq!(development.warnings, ["ignore"]);
        assert_eq!(development.settings, ["dev"]);
        assert_eq!(
            script("python3.11 -X importtime app/").as_deref(),
            Some("app/")
        );
        assert_eq!(script("python -- -s.py").as_deref(), Some("-s.py"));
        for without in [
            "python -m app -I",
            "python - -I",
            "python -mapp -I",
            "python -c -I -I",
        ] {
            let options = of(without).unwrap();
            assert_eq!(options.script, None, "{without}");
            assert!(!options.safe_path, "{without}");
        }
        let isolated = of("python -uIc pass").unwrap();
        assert!(isolated.safe_path && isolated.ignore_environment && isolated.no_user_site);
        let plain = of("/usr/bin/python3 -sPES --check-hash-based-pycs always x.py").unwrap();
        assert!(plain.safe_path && plain.ignore_environment && plain.no_user_site && plain.no_site);
        assert_eq!(plain.script.as_deref(), Some("x.py"));
        assert_eq!(plain.words, ["check-hash-based-pycs"]);
    }

    #[test]
    fn an_option_without_its_argument() {
        for (command, letter) in [("python -c", 'c'), ("python -um", 'm'), ("python -X", 'X')] {
            assert_eq!(
                of(command).unwrap().lacks_argument,
                Some(letter),
                "{command}"
            );
        }
        assert_eq!(of("python -c pass").unwrap().lacks_argument, None);
    }

    #[test]
    fn values_of_settings() {
        let options = of("python -X utf8=2 -Xutf8 -X utf8x=1 app.py").unwrap();
        let values: Vec<Option<&str>> = options.values_of("utf8").collect();
        assert_eq!(values, [Some("2"), None]);
    }
}
