//! What [`Checker::lint`](crate::Checker::lint) judges.

use std::path::{Path, PathBuf};

use imgcheck_lint::lint::FileKind;

/// The files that [`Checker::lint`](crate::Checker::lint) judges.
///
/// ```
/// use imgcheck::LintRequest;
///
/// let request = LintRequest::new(["docker/Dockerfile"]).context(".");
/// ```
#[derive(Debug, Clone)]
pub struct LintRequest {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) kind: Option<FileKind>,
    pub(crate) context: Option<PathBuf>,
    pub(crate) partners: bool,
    pub(crate) selected: Vec<String>,
    pub(crate) ignored: Vec<String>,
}

impl LintRequest {
    /// Files by path. A directory means the files with a known name that are below it, `-` standard input.
    pub fn new<P: Into<PathBuf>>(files: impl IntoIterator<Item = P>) -> Self {
        LintRequest {
            files: files.into_iter().map(Into::into).collect(),
            kind: None,
            context: None,
            partners: false,
            selected: Vec::new(),
            ignored: Vec::new(),
        }
    }

    /// The kind of all files; without it, it follows from the name or the content of each.
    #[must_use]
    pub fn kind(mut self, kind: FileKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// The build context of the Dockerfiles; without it, it is the directory of each, or one above.
    #[must_use]
    pub fn context(mut self, directory: impl AsRef<Path>) -> Self {
        self.context = Some(directory.as_ref().to_owned());
        self
    }

    /// Judges also the Dockerfiles, Compose files and bake files below the working directory that use one of the files.
    #[must_use]
    pub fn with_partners(mut self) -> Self {
        self.partners = true;
        self
    }

    /// Reports only findings of these rules; without any, those of all.
    #[must_use]
    pub fn select(mut self, rules: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.selected.extend(rules.into_iter().map(Into::into));
        self
    }

    /// Leaves out findings of these rules.
    #[must_use]
    pub fn ignore(mut self, rules: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.ignored.extend(rules.into_iter().map(Into::into));
        self
    }

    pub(crate) fn reports(&self, rule: &str) -> bool {
        let has = |rules: &[String]| rules.iter().any(|it| it == rule);
        (self.selected.is_empty() || has(&self.selected)) && !has(&self.ignored)
    }
}
