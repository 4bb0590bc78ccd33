//! Files that a Compose file names with `include` and `extends`, whose paths are relative to themselves.

use crate::lint::build::unread;
use crate::lint::context::{Context, Neighbour, joined};
use crate::lint::facts::Stage;
use crate::lint::text::Text;
use crate::lint::variables::interpolate;
use imgcheck_base::document::Node;
use imgcheck_base::error::Result;
use imgcheck_base::lexical::simplified;

/// The maximum number of files that lead to each other.
const MAX_FILES: usize = 8;

/// The files of `include: [FILE]` and `include: [{path: FILE}]`, which may be several.
pub(super) fn included(document: &Node) -> impl Iterator<Item = &Node> {
    let entries = document.items_of("include");
    let paths = entries.map(|entry| entry.get("path").unwrap_or(entry));
    let files = paths.flat_map(|path| [path].into_iter().chain(path.items()));
    files.filter(|file| file.text().is_some())
}

/// A Compose file that names others.
pub(super) struct Place<'p> {
    pub text: &'p Text<'p>,
    pub context: &'p Context<'p>,
    /// How many other files lead to it.
    pub depth: usize,
}

impl Place<'_> {
    /// What `read` makes of another file. Without it, the stage says so.
    pub fn follow(
        &self,
        path: &Node,
        read: impl FnOnce(&Text<'_>, &Context<'_>) -> Result<Vec<Stage>>,
    ) -> Result<Vec<Stage>> {
        let written = interpolate(path.text().unwrap_or_default(), &|_| None).text;
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
