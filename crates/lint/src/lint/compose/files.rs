//! Files that a Compose file names with `include` and `extends`, whose paths are relative to themselves.

use super::{File, MAX_SERVICES, interpolated, read_nested, services};
use crate::lint::build::{joined, unread};
use crate::lint::context::{Context, Neighbour};
use crate::lint::facts::Stage;
use crate::lint::text::Text;
use imgcheck_base::document::{self, Node};
use imgcheck_base::error::Result;
use imgcheck_base::lexical::simplified;

/// The maximum number of files that lead to each other.
const MAX_FILES: usize = 8;

/// The files of `include: [FILE]` and `include: [{path: FILE}]`, which may be several.
pub fn included(document: &Node) -> impl Iterator<Item = &Node> {
    let entries = document.items_of("include").take(MAX_SERVICES);
    let paths = entries.map(|entry| entry.get("path").unwrap_or(entry));
    let files = paths.flat_map(|path| [path].into_iter().chain(path.items()));
    files.filter(|file| file.text().is_some())
}

impl File<'_> {
    /// The stages of another file.
    pub fn include(&self, path: &Node) -> Result<Vec<Stage>> {
        self.follow(path, |text, context| {
            read_nested(text, context, self.depth + 1)
        })
    }

    /// The stages of a service of another file.
    pub fn extend(&self, path: &Node, name: &str) -> Result<Vec<Stage>> {
        self.follow(path, |text, context| {
            let documents = document::read(text.name, text.text)?;
            let mut services = documents.iter().filter_map(services);
            let other = File {
                text,
                context,
                variables: self.variables,
                depth: self.depth + 1,
            };
            match services.find_map(|it| it.get(name)) {
                Some(service) => other.service(service),
                None => Ok(vec![unread(self.text, name, &path.span)]),
            }
        })
    }

    /// Reads another file. Without it, the stage says so.
    fn follow(
        &self,
        path: &Node,
        read: impl FnOnce(&Text<'_>, &Context<'_>) -> Result<Vec<Stage>>,
    ) -> Result<Vec<Stage>> {
        let written = interpolated(path.text().unwrap_or_default()).text;
        let relative = simplified(&written);
        let found = match self.depth < MAX_FILES {
            true => self.context.neighbour(self.text, &relative)?,
            false => Neighbour::Unread,
        };
        let Neighbour::Text(content) = found else {
            return Ok(vec![unread(self.text, &written, &path.span)]);
        };
        let name = self.context.name(&relative);
        let text = self.context.text(&name, &content)?;
        let directory = relative.rsplit_once('/').map_or("", |(it, _)| it);
        let neighbours = |path: &str| self.context.found(&joined(directory, path));
        let place = self.context.name(directory);
        read(&text, &self.context.elsewhere(&neighbours, &place))
    }
}
