//! Programs and headers that packages need to compile something at run time, and that an image does not have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Component;
use super::importable::ImportableDistributions;
use super::python::Environment;
use super::tool_knowledge::{
    Anywhere, Beside, Compiler, Header, Headers, Needed, Part, Tool, ToolKind, ToolProgram, Tools,
};
use imgcheck_base::lexical::directory_of;
use imgcheck_base::version::{is_since, is_until};
use imgcheck_image::{Access, Node, RootFilesystem};
use imgcheck_launch::Launch;

/// A tool that a package does not find.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MissingTool {
    /// The package: `Triton`.
    pub package: String,
    /// Its version.
    pub version: String,
    /// What is missing.
    pub kind: ToolKind,
    /// The tool: `gcc or clang`, `Python.h`, or the value of the variable that names the compiler.
    pub tool: String,
    /// The variable that names the compiler; empty if none does.
    pub variable: String,
    /// Where it was looked for: the directories of PATH, or the path of the file.
    pub searched: String,
    /// What fails.
    pub when: String,
    /// What is printed.
    pub says: String,
    /// The installed package that needs it in every program; empty if that depends on the program.
    pub needed_by: String,
}

/// What an image's process sees.
pub(super) struct Process<'p> {
    pub root: &'p RootFilesystem<'p>,
    pub launch: &'p Launch,
    /// The environment that it imports from, and what that has.
    pub environment: &'p Environment,
    pub imports: &'p ImportableDistributions,
    /// The components of the stack.
    pub components: &'p [Component],
    /// The files that count wherever they are.
    pub anywhere: &'p [Node<'p>],
}

/// The tools that the packages of a process miss. One that is missing hides those that it would use.
pub(super) fn missing(process: &Process<'_>, knowledge: &Tools) -> Vec<MissingTool> {
    let rows = knowledge
        .tools
        .iter()
        .filter(|row| !process.may_have_cached(row));
    rows.filter_map(|row| process.first_missing(row)).collect()
}

impl Process<'_> {
    pub(super) fn version(&self, distribution: &str) -> Option<&String> {
        self.imports.distributions.get(distribution)
    }

    /// Whether something may have been compiled before.
    fn may_have_cached(&self, row: &Tool) -> bool {
        let mut variables = row.cache.variables.iter();
        let home = self.launch.home().trim_end_matches('/');
        let is_there = |cache: &String| self.root.resolve(&format!("{home}/{cache}")).is_ok();
        variables.any(|it| !self.launch.variable(it).is_empty())
            || row.cache.home.as_ref().is_some_and(is_there)
    }

    fn first_missing(&self, row: &Tool) -> Option<MissingTool> {
        let mut names = row.distributions.iter();
        let version = names.find_map(|name| self.version(name))?;
        let has = |name: &String| self.version(name).is_some();
        if !is_since(version, &row.since)
            || !row.until.iter().all(|it| is_until(version, it))
            || row.without.iter().any(has)
            || !row.beside.iter().all(|it| self.is_beside(it))
        {
            return None;
        }
        let programs = row.programs.iter();
        let mut programs = programs.filter(|it| {
            it.since
                .as_ref()
                .is_none_or(|since| is_since(version, since))
        });
        let missing = match row.compiler.as_ref().map(|it| self.compiler(it)) {
            Some(Err(missing)) => Some(*missing),
            Some(Ok(compiler)) => {
                let headers = row.headers.as_ref();
                let missing = headers.and_then(|it| self.header(it, &compiler));
                missing
                    .or_else(|| self.unfound(&row.helpers, ToolKind::CompilerProgram, &compiler))
                    .or_else(|| self.unfound(&row.linked, ToolKind::LinkedFile, &compiler))
            }
            None => None,
        };
        let missing = missing
            .or_else(|| programs.find_map(|it| self.program(it)))
            .or_else(|| row.anywhere.as_ref().and_then(|it| self.nowhere(it)))
            .or_else(|| self.part(row, version))
            .or_else(|| self.not_executable(row, version));
        let needs = |it: &&Needed| {
            let version = self.version(&it.distribution);
            version.is_some_and(|version| {
                it.since
                    .as_ref()
                    .is_none_or(|since| is_since(version, since))
            })
        };
        let needed_by = row.always.iter().find(needs);
        let missing = missing?;
        let when = match missing.when.as_str() {
            "" => row.when.clone(),
            when => when.to_owned(),
        };
        Some(MissingTool {
            package: row.package.clone(),
            version: version.clone(),
            when,
            needed_by: needed_by
                .map(|it| it.distribution.clone())
                .unwrap_or_default(),
            ..missing
        })
    }

    /// Whether all copies of a component are of a version or newer.
    fn is_beside(&self, beside: &Beside) -> bool {
        let components = self.components.iter();
        let mut copies = components
            .filter(|it| it.name == beside.component)
            .peekable();
        copies.peek().is_some() && copies.all(|it| is_since(&it.version, &beside.since))
    }

    /// A file that is nowhere in the image.
    fn nowhere(&self, file: &Anywhere) -> Option<MissingTool> {
        let is_one = |node: &Node| {
            let path = node.path();
            let is_below = |it: &String| path.contains(&format!("/{it}/"));
            node.name() == file.file && !file.not_below.iter().any(is_below)
        };
        (!self.anywhere.iter().any(is_one)).then(|| MissingTool {
            kind: file.kind,
            tool: file.file.clone(),
            says: file.says.clone(),
            ..MissingTool::default()
        })
    }

    /// The compiler that a variable names, or the first on PATH.
    fn compiler(&self, compiler: &Compiler) -> Result<String, Box<MissingTool>> {
        let named = self.launch.environment.get(&compiler.variable);
        let mut names = match named {
            Some(name) => std::slice::from_ref(name).iter(),
            None => compiler.names.iter(),
        };
        names.find_map(|name| self.executable(name)).ok_or_else(|| {
            Box::new(MissingTool {
                kind: ToolKind::Compiler,
                tool: named
                    .cloned()
                    .unwrap_or_else(|| compiler.names.join(" or ")),
                variable: named.map_or_else(String::new, |_| compiler.variable.clone()),
                searched: self
                    .launch
                    .directories("PATH")
                    .collect::<Vec<_>>()
                    .join(":"),
                says: match named {
                    Some(name) => {
                        format!("FileNotFoundError: [Errno 2] No such file or directory: '{name}'")
                    }
                    None => compiler.says.clone(),
                },
                ..MissingTool::default()
            })
        })
    }

    /// The path by which `execvp(3)` finds a program.
    fn executable(&self, name: &str) -> Option<String> {
        let paths = match name.contains('/') {
            true => vec![self.launch.absolute(name)],
            false => {
                let directories = self.launch.directories("PATH");
                directories.map(|it| format!("{it}/{name}")).collect()
            }
        };
        let user = &self.launch.user.credentials;
        let is_program = |path: &String| {
            let node = self.root.resolve_as(path, user).ok();
            node.is_some_and(|it| it.content().is_some() && it.allows(user, Access::Execute))
        };
        paths.into_iter().find(is_program)
    }

    /// The header that a compiler does not find.
    fn header(&self, headers: &Headers, compiler: &str) -> Option<MissingTool> {
        let missing = |kind, header: &Header, searched: String| MissingTool {
            kind,
            tool: header.file.clone(),
            searched: format!("{searched}/{}", header.file),
            says: header.says.clone(),
            ..MissingTool::default()
        };
        let has = |directory: &str, header: &Header| {
            self.root
                .resolve(&format!("{directory}/{}", header.file))
                .is_ok()
        };
        let base = directory_of(directory_of(&self.environment.interpreter));
        let include = format!("{base}/include");
        let own = format!("python{}", self.environment.release);
        // Free-threaded builds have another directory: `python3.13t`.
        let own: Vec<String> = ["", "t", "m"]
            .map(|flags| format!("{include}/{own}{flags}"))
            .into();
        if !own.iter().any(|it| has(it, &headers.python)) {
            return Some(missing(
                ToolKind::PythonHeader,
                &headers.python,
                own[0].clone(),
            ));
        }
        let is_systems = directory_of(compiler) == "/usr/bin";
        (is_systems && !has("/usr/include", &headers.system)).then(|| {
            missing(
                ToolKind::SystemHeader,
                &headers.system,
                "/usr/include".to_owned(),
            )
        })
    }

    /// A file that a compiler of the system needs and does not find.
    fn unfound(&self, files: &[Header], kind: ToolKind, compiler: &str) -> Option<MissingTool> {
        let is_systems = directory_of(compiler) == "/usr/bin";
        let is_there = |file: &&Header| {
            let mut nodes = self.anywhere.iter();
            nodes.any(|it| {
                let path = it.path();
                it.name() == file.file
                    && (kind == ToolKind::LinkedFile || self.is_searched(&path))
                    && self.root.resolve(&path).is_ok()
            })
        };
        let missing = files.iter().find(|it| is_systems && !is_there(it))?;
        Some(MissingTool {
            kind,
            tool: missing.file.clone(),
            searched: compiler.to_owned(),
            says: missing.says.clone(),
            ..MissingTool::default()
        })
    }

    /// Whether gcc in /usr looks for programs in the directory of a file: in its own directories, in that of its target, and on PATH (GCC
    /// manual, "Environment Variables Affecting GCC": COMPILER_PATH).
    fn is_searched(&self, path: &str) -> bool {
        let directory = directory_of(path);
        let mut on_path = self.launch.directories("PATH");
        let is_own = directory.contains("/gcc/") || directory.ends_with("-linux-gnu/bin");
        directory.starts_with("/usr/") && is_own
            || on_path.any(|it| it.trim_end_matches('/') == directory)
    }

    /// A file of the package that is not there.
    fn part(&self, row: &Tool, version: &str) -> Option<MissingTool> {
        let is_there = |path: &str| self.root.resolve(path).is_ok();
        let sites = &self.environment.sites;
        let is_missing = |part: &&Part| {
            let (package, _) = part.path.split_once('/').unwrap_or((&part.path, ""));
            let mut sites = sites.iter();
            let site = sites.find(|it| is_there(&format!("{it}/{package}/__init__.py")));
            is_since(version, &part.since)
                && is_until(version, &part.until)
                && part
                    .unless
                    .iter()
                    .all(|it| self.launch.variable(it).is_empty())
                && !part.other.iter().any(|it| is_there(it))
                && site.is_some_and(|it| {
                    let mut used_by = part.used_by.iter();
                    !is_there(&format!("{it}/{}", part.path))
                        && used_by.all(|file| is_there(&format!("{it}/{file}")))
                })
        };
        let missing = row.parts.iter().find(is_missing)?;
        Some(MissingTool {
            kind: ToolKind::PackageFile,
            tool: missing.path.clone(),
            searched: missing.path.clone(),
            when: missing.when.clone().unwrap_or_default(),
            says: missing.says.clone(),
            ..MissingTool::default()
        })
    }

    /// A program that a variable names, which is there and must not be executed.
    fn not_executable(&self, row: &Tool, version: &str) -> Option<MissingTool> {
        let user = &self.launch.user.credentials;
        let is_file = |path: &str| {
            let node = self.root.resolve_as(path, user).ok();
            node.is_some_and(|it| it.content().is_some() && !it.allows(user, Access::Execute))
        };
        let mut named = row.named.iter().filter(|it| is_since(version, &it.since));
        named.find_map(|it| {
            let path = self.launch.environment.get(&it.variable)?;
            let is_refused = path.starts_with('/') && is_file(path);
            is_refused.then(|| MissingTool {
                kind: ToolKind::NotExecutable,
                tool: path.clone(),
                variable: it.variable.clone(),
                searched: path.clone(),
                says: it.says.clone(),
                ..MissingTool::default()
            })
        })
    }

    /// A program that is not there.
    fn program(&self, program: &ToolProgram) -> Option<MissingTool> {
        let unless = self.launch.variable(&program.unless);
        let is_missing = unless.is_empty() && self.executable(&program.path).is_none();
        is_missing.then(|| MissingTool {
            kind: ToolKind::Program,
            tool: program.path.clone(),
            searched: program.path.clone(),
            says: program.says.clone(),
            ..MissingTool::default()
        })
    }
}
