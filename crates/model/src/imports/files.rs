//! The modules of an image's files.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use imgcheck_base::error::{Error, Result};
use imgcheck_image::{Content, Credentials, Node, RootFilesystem};
use imgcheck_python::ModuleFacts;
use imgcheck_python::run::{Files, Found, Lacking};

use super::listing::Listing;
use super::loader::PythonLoader;
use super::pythons::Reader;
use crate::process::Looker;

/// Directories of installed packages.
const PACKAGES: [&str; 2] = ["site-packages", "dist-packages"];

/// The facts of a source that is no part of a package.
///
/// # Errors
/// See [`ModuleFacts::of_whole`].
pub(super) fn parsed(source: &str, name: &str) -> Result<ModuleFacts> {
    ModuleFacts::of_whole(source).map_err(|error| Error::io(name, error))
}

/// The directories, as the Pythons of one release see them.
type Listings<'r> = Rc<RefCell<HashMap<Node<'r>, Rc<Listing<'r>>>>>;

/// The files of an image, as the Python of one release sees them. Copies share what they have read.
#[derive(Clone)]
pub(super) struct ImageFiles<'s, 'r> {
    root: &'r RootFilesystem<'r>,
    user: &'s Credentials,
    reader: Reader<'s, 'r>,
    release: String,
    /// The loader of the Python; `None` if nothing is known of what it opens.
    loader: Option<Rc<PythonLoader<'s>>>,
    listings: Listings<'r>,
    /// Those of all releases.
    releases: Rc<RefCell<HashMap<String, Listings<'r>>>>,
    sources: Rc<RefCell<HashMap<Node<'r>, Option<Arc<ModuleFacts>>>>>,
    /// The first source that could not be read.
    error: Rc<RefCell<Option<Error>>>,
    /// The first source that was needed, and that nobody has read.
    unread: Rc<Cell<Option<Node<'r>>>>,
}

impl<'s, 'r> ImageFiles<'s, 'r> {
    pub fn new(
        root: &'r RootFilesystem<'r>,
        user: &'s Credentials,
        reader: Reader<'s, 'r>,
    ) -> Self {
        ImageFiles {
            root,
            user,
            reader,
            release: String::new(),
            loader: None,
            listings: Rc::default(),
            releases: Rc::default(),
            sources: Rc::default(),
            error: Rc::default(),
            unread: Rc::default(),
        }
    }

    pub fn for_release(&self, release: &str) -> Self {
        let mut releases = self.releases.borrow_mut();
        ImageFiles {
            release: release.to_owned(),
            listings: releases.entry(release.to_owned()).or_default().clone(),
            ..self.clone()
        }
    }

    pub fn with_loader(self, loader: Option<Rc<PythonLoader<'s>>>) -> Self {
        ImageFiles { loader, ..self }
    }

    /// The loader of the Python.
    pub fn loader(&self) -> Option<&PythonLoader<'s>> {
        self.loader.as_deref()
    }

    /// The facts of a script, or of the `__main__` of a directory.
    pub fn script(&self, node: Node<'r>) -> Option<Arc<ModuleFacts>> {
        let node = match node.is_directory() {
            true => self
                .root
                .resolve_as(&format!("{}/__main__.py", node.path()), self.user)
                .ok()?,
            false => node,
        };
        self.facts(node)
    }

    /// The sources that were read and are not in the facts of the image yet.
    ///
    /// # Errors
    /// A source could not be read.
    pub fn into_read(self) -> Result<Vec<(Node<'r>, Arc<ModuleFacts>)>> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let sources = self.sources.borrow();
        let read = sources.iter();
        let read = read.filter(|(node, _)| matches!(node.content(), Some(Content::Unread)));
        let read = read.filter_map(|(node, facts)| Some((*node, facts.clone()?)));
        Ok(read.collect())
    }

    /// The first source that was needed, and that nobody has read.
    pub fn unread(&self) -> Option<Node<'r>> {
        self.unread.get()
    }

    /// What reads sources.
    pub fn reader(&self) -> Reader<'s, 'r> {
        self.reader
    }

    /// Whether a source has to be read.
    pub fn is_unread(&self, file: Node<'r>) -> bool {
        let is_unread = matches!(file.content(), Some(Content::Unread));
        is_unread && !self.sources.borrow().contains_key(&file)
    }

    /// Keeps what was read of a source.
    pub fn keep(&self, file: Node<'r>, read: Result<Option<ModuleFacts>>) {
        self.remember(file, read.map(|it| it.map(Arc::new)));
    }

    fn remember(&self, file: Node<'r>, read: Result<Option<Arc<ModuleFacts>>>) {
        let is_unread = matches!((&read, file.content()), (Ok(None), Some(Content::Unread)));
        if is_unread && self.unread.get().is_none() {
            self.unread.set(Some(file));
        }
        let facts = read.unwrap_or_else(|error| {
            self.error.borrow_mut().get_or_insert(error);
            None
        });
        self.sources.borrow_mut().insert(file, facts);
    }

    /// The names of the modules of a directory.
    pub fn names(&self, directory: Node<'r>) -> Vec<&'r str> {
        self.listing(directory).names().collect()
    }

    fn listing(&self, directory: Node<'r>) -> Rc<Listing<'r>> {
        let known = self.listings.borrow().get(&directory).cloned();
        known.unwrap_or_else(|| {
            let listing = Rc::new(Listing::of(directory, &self.release, self.user));
            let mut listings = self.listings.borrow_mut();
            listings.insert(directory, listing.clone());
            listing
        })
    }
}

impl<'r> Files for ImageFiles<'_, 'r> {
    type File = Node<'r>;

    fn find(&self, directory: Node<'r>, name: &str) -> Option<Found<Node<'r>>> {
        let init = |directory| self.listing(directory).init();
        self.listing(directory).find(name, init)
    }

    fn facts(&self, file: Node<'r>) -> Option<Arc<ModuleFacts>> {
        if let Some(known) = self.sources.borrow().get(&file) {
            return known.clone();
        }
        let facts = match file.content()? {
            Content::Module(facts) => Ok(Some(facts.clone())),
            Content::Text(text) => parsed(text, &file.path()).map(|it| Some(Arc::new(it))),
            Content::Unread => (self.reader)(file).map(|it| it.map(Arc::new)),
            Content::Bytes(_) | Content::Elf(_) | Content::BrokenElf { .. } => Ok(None),
        };
        self.remember(file, facts);
        self.sources.borrow().get(&file)?.clone()
    }

    /// Packages are judged with the processes, as [`Unreadable`](crate::process::facts::Unreadable).
    fn is_unreadable(&self, source: Node<'r>) -> bool {
        let looker = Looker {
            root: self.root,
            user: self.user,
            release: &self.release,
        };
        let is_of_package = |path: String| PACKAGES.iter().any(|it| path.contains(it));
        !looker.runs(source) && !is_of_package(source.path())
    }

    fn unloadable(&self, module: &str, extension: Node<'r>) -> Option<Lacking> {
        self.loader.as_ref()?.unloadable(module, extension)
    }

    fn unopenable(&self, name: &str) -> Option<Lacking> {
        self.loader.as_ref()?.unopenable(name)
    }
}
