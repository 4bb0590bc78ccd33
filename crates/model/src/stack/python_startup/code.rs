//! The code that Python runs when it starts: lines of `.pth` files, and the modules that it imports then.

use super::search_path::SearchPath;
use super::{Startup, compiled};
use crate::stack::modules;
use crate::stack::python::Environment;
use crate::stack::startup_knowledge::StartupLine;
use imgcheck_base::lexical::directory_of;
use imgcheck_image::Node;

/// The modules of the package `encodings` that every start imports.
const ENCODINGS: [&str; 3] = ["__init__", "aliases", "utf_8"];

impl<'r> Startup<'_, 'r> {
    /// Notes a gap if a line of a `.pth` file may change the search path.
    pub(super) fn check_line(
        &self,
        path: &mut SearchPath<'r>,
        environment: &Environment,
        line: &str,
        file: Node<'r>,
    ) {
        let known = self.knowledge.line(line);
        let (module, is_finder) = match known {
            StartupLine::Harmless => return,
            StartupLine::Runs(module) => (module, false),
            StartupLine::Editable(module) => (module, true),
            StartupLine::Unknown => {
                let message = "Python runs a line of this file when it starts, which may change where modules come from";
                return path.gap(message.to_owned(), Some(file));
            }
        };
        for found in self.files_of_module(path, environment, module) {
            let is_replaced = self.is_replaced(environment, found);
            let problem = match found.text().filter(|_| !is_replaced) {
                Some(text) if is_finder => self.knowledge.problem_of_finder(text),
                Some(text) if self.knowledge.is_harmless_module(text) => None,
                _ => Some("may change where modules come from".to_owned()),
            };
            if let Some(problem) = problem {
                let message = format!("Python runs {module} when it starts, which {problem}");
                path.gap(message, Some(found));
            }
        }
    }

    /// The files that may be a module: in the standard library, which comes before the package directories, and in these. An unread
    /// module there hides the others; a harmless one is rare.
    fn files_of_module(
        &self,
        path: &SearchPath<'r>,
        environment: &Environment,
        module: &str,
    ) -> Vec<Node<'r>> {
        let base = directory_of(directory_of(&environment.interpreter)).trim_end_matches('/');
        let release = &environment.release;
        let standard = format!("{base}/lib/python{release}");
        let digits = release.replace('.', "");
        let extension = ["x86_64", "aarch64"]
            .map(|machine| format!(".cpython-{digits}-{machine}-linux-gnu.so"));
        let endings = [
            "/__init__.py",
            "/__init__.pyc",
            ".py",
            ".pyc",
            ".so",
            ".abi3.so",
        ];
        let endings = endings
            .into_iter()
            .chain(extension.iter().map(String::as_str));
        let directories = path.directories.iter().chain([&standard]);
        let files = directories.flat_map(|directory| {
            endings
                .clone()
                .map(move |ending| format!("{directory}/{module}{ending}"))
        });
        files.filter_map(|file| self.resolve(&file)).collect()
    }

    /// Whether a directory of PYTHONPATH has a module of this name.
    fn is_hidden(&self, path: &SearchPath<'r>, module: &str) -> bool {
        let mut candidates = path.named.iter().flat_map(|directory| {
            ["/__init__.py", ".py", ".so", ".pyc"]
                .map(|ending| format!("{directory}/{module}{ending}"))
        });
        candidates.any(|file| self.resolve(&file).is_some())
    }

    /// Notes a gap if Python imports a module at its start that may change the search path.
    pub(super) fn check_module(
        &self,
        path: &mut SearchPath<'r>,
        environment: &Environment,
        module: &str,
    ) {
        let mut installed = self.knowledge.optional().to_vec();
        installed.retain(|it| !self.files_of_module(path, environment, it).is_empty());
        // A module of the standard library may be hidden by one that comes before it.
        installed.extend(
            self.knowledge
                .imports()
                .iter()
                .filter(|it| self.is_hidden(path, it))
                .cloned(),
        );
        let touches = |text: &str| {
            let mut installed = installed.iter();
            self.knowledge.touches(text) || installed.any(|it| text.contains(it.as_str()))
        };
        for file in self.files_of_module(path, environment, module) {
            let is_replaced = self.is_replaced(environment, file);
            if is_replaced || file.text().is_none_or(touches) && file.size() > 0 {
                let message = format!(
                    "Python imports {module} when it starts, which may change where modules come from"
                );
                path.gap(message, Some(file));
            }
        }
    }

    /// Whether Python may run a compiled file that is something else than the module that it stands for: one that it does not compare with
    /// that (PEP 552, unchecked hashes), or one with names that the module does not have. Python compares only size and time.
    pub(super) fn is_replaced(&self, environment: &Environment, module: Node<'r>) -> bool {
        let directory = module.parent().path();
        let Some(stem) = module.name().strip_suffix(".py") else {
            return false;
        };
        let tag = environment.release.replace('.', "");
        let mut endings = ["", ".opt-1", ".opt-2"].into_iter();
        endings.any(|ending| {
            let file = format!("{directory}/__pycache__/{stem}.cpython-{tag}{ending}.pyc");
            let file = self.resolve(&file).filter(|it| it.size() > 0);
            file.is_some_and(|file| match (file.bytes(), module.text()) {
                (Some(bytes), Some(text)) => compiled::may_replace(bytes, text, module.size()),
                (Some(bytes), None) => compiled::is_unchecked(bytes),
                (None, _) => true,
            })
        })
    }

    /// Notes gaps for what Python runs before it looks for packages: the package `encodings`, the modules of the standard library that a
    /// directory of PYTHONPATH has too, those that name a category of warnings, and compiled files elsewhere.
    pub(super) fn check_early_code(&self, path: &mut SearchPath<'r>, environment: &Environment) {
        let release = &environment.release;
        let filters = self.warning_filters();
        let categories = filters.iter().filter_map(|filter| category_module(filter));
        let early = self.knowledge.early_modules(release, !filters.is_empty());
        for name in early.chain(categories) {
            for directory in path.named.clone() {
                let directory = self.resolve(&directory);
                let file = directory.and_then(|it| modules::find(it, name, release, self.user));
                if let Some(file) = file {
                    let message = format!(
                        "Python imports {name} from here when it starts, which may change where modules come from"
                    );
                    path.gap(message, Some(file));
                }
            }
        }
        for directory in path.standard_library.clone() {
            for name in ENCODINGS {
                let file = self.resolve(&format!("{directory}/encodings/{name}.py"));
                let Some(file) = file.filter(|it| it.size() > 0) else {
                    continue;
                };
                let is_known = |text: &str| self.knowledge.is_harmless_encoding(text);
                if !file.text().is_some_and(is_known) || self.is_replaced(environment, file) {
                    let message = "Python runs this file when it starts, which may change where modules come from";
                    path.gap(message.to_owned(), Some(file));
                }
            }
        }
        if let Some(directory) = self.compiled_files() {
            let message = "Python runs the compiled files below this directory (PYTHONPYCACHEPREFIX), which imgcheck does not read";
            path.gap(message.to_owned(), Some(directory));
        }
    }

    /// The filters of `-W` and PYTHONWARNINGS.
    fn warning_filters(&self) -> Vec<&str> {
        let variable = self.variable("PYTHONWARNINGS").split(',');
        let options = self.options.warnings.iter().map(String::as_str);
        variable
            .chain(options)
            .filter(|it| !it.is_empty())
            .collect()
    }

    /// The directory of PYTHONPYCACHEPREFIX or `-X pycache_prefix`, if the image has files there.
    fn compiled_files(&self) -> Option<Node<'r>> {
        let option = self.options.values_of("pycache_prefix").next();
        let prefix = match option {
            Some(value) => value.unwrap_or_default(),
            None => self.variable("PYTHONPYCACHEPREFIX"),
        };
        let directory = self.resolve(prefix).filter(|_| !prefix.is_empty())?;
        directory.children().next().map(|_| directory)
    }
}

/// The module that the category of a filter is imported from: `urllib3` of `ignore::urllib3.exceptions.InsecureRequestWarning`
/// (`warnings._getcategory`).
fn category_module(filter: &str) -> Option<&str> {
    let (module, _) = filter.split(':').nth(2)?.trim().rsplit_once('.')?;
    module.split('.').next().filter(|it| !it.is_empty())
}
