//! The Pythons whose imports are played.

use imgcheck_base::bounds::Bounds;
use imgcheck_base::error::Result;
use imgcheck_image::{Credentials, Node, RootFilesystem};
use imgcheck_launch::Launch;
use imgcheck_python::ModuleFacts;

use super::knowledge::{Knowledge, Versions};
use crate::process;
use crate::stack::{Distribution, Environment};

/// The Pythons of one image.
#[derive(Clone, Copy)]
pub struct Pythons<'i, 'r> {
    /// The root filesystem.
    pub root: &'r RootFilesystem<'r>,
    /// How the container starts: who runs them, and with which variables.
    pub launch: &'i Launch,
    /// The environments.
    pub environments: &'i [Environment],
    /// What is installed.
    pub distributions: &'i [Distribution],
    /// What imports rest on.
    pub knowledge: &'i Knowledge,
    /// What the loader rests on.
    pub processes: &'i process::Knowledge,
    /// The packages that are imported where they are installed: modules.
    pub packages: &'i [String],
    /// Whether the user asked for these modules: then the import of one that is absent fails.
    pub is_asked: bool,
    /// `platform.machine()`, as markers of requirements compare it.
    pub machine: &'i str,
    /// Whether sources are read: then all at once.
    pub reads: bool,
    /// Whether what each program imports is kept.
    pub trees: bool,
    /// Bounds.
    pub bounds: &'i Bounds,
}

impl<'i> Pythons<'i, '_> {
    /// Who runs them.
    pub(super) fn user(&self) -> &'i Credentials {
        &self.launch.user.credentials
    }

    /// The versions of what an environment has; `None` if they are not known yet, when sources are read.
    pub(super) fn versions(&self, environment: &Environment) -> Option<impl Versions> {
        let is_there = |it: &&Distribution| environment.sites.contains(&it.site);
        (!self.reads).then_some(move |name: &str| {
            let mut all = self.distributions.iter().filter(is_there);
            let found = all.find(|it| it.name == name);
            found.map(|it| it.version.clone())
        })
    }
}

/// Reads the source of a module that is unread so far; `None` if the image does not have it any more.
pub type Reader<'s, 'r> = &'s (dyn Fn(Node<'r>) -> Result<Option<ModuleFacts>> + Sync);
