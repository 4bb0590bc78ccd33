//! Where files of a stage come from in the build context.

use super::super::context::Neighbour;
use super::super::text::Text;
use super::copies::{Copy, absolute};
use super::session::Session;
use super::state::State;
use imgcheck_base::error::Result;

/// How many directories above a Dockerfile may be its build context.
const MAX_ABOVE: usize = 3;

/// The maximum number of places that a file in the stage may come from.
const MAX_ORIGINS: usize = 32;

impl State<'_> {
    /// The working directory at this point of a script.
    pub fn directory<'s>(&'s self, session: &'s Session) -> &'s str {
        session.directory.as_deref().unwrap_or(&self.directory)
    }

    /// The file of the build context that is at an absolute path of the stage: its path in the context, and its contents.
    pub fn origin(&self, text: &Text<'_>, path: &str) -> Result<Option<(String, String)>> {
        if self.foreign.iter().any(|it| it == path) {
            return Ok(None);
        }
        let context = self.recorder.context();
        let origins = self.copies.iter().rev().flat_map(|copy| copy.origins(path));
        let origins: Vec<String> = origins.take(MAX_ORIGINS).collect();
        // The build context is the directory of the Dockerfile, or one above it: `docker build -f docker/Dockerfile .`
        let depth = context.depth().min(MAX_ABOVE);
        for above in (0..=depth).map(|levels| "../".repeat(levels)) {
            for origin in origins.iter().map(|origin| format!("{above}{origin}")) {
                if let Neighbour::Text(found) = context.neighbour(text, &origin)? {
                    return Ok(Some((origin, found)));
                }
            }
        }
        Ok(None)
    }

    /// The file that a path in the stage was copied from: its path in the build context, and its contents. Without an exact path, the
    /// name of the file decides.
    pub fn beside(
        &self,
        text: &Text<'_>,
        session: &Session,
        path: &str,
    ) -> Result<Option<(String, String)>> {
        let place = absolute(self.directory(session), path);
        if self.foreign.contains(&place) {
            return Ok(None);
        }
        let exact = self.origin(text, &place)?;
        let Some(name) = path.rsplit('/').next().filter(|_| exact.is_none()) else {
            return Ok(exact);
        };
        let context = self.recorder.context();
        let relative = path.trim_start_matches('/').trim_start_matches("./");
        let is_named = |copy: &Copy| {
            source(copy).rsplit('/').next() == Some(name)
                || copy.target.rsplit('/').next() == Some(name)
        };
        // Copies with this file name first, the last one before earlier ones.
        let named = self.copies.iter().rev().filter(|copy| is_named(copy));
        let named = named.map(|copy| source(copy).to_owned());
        let others = self.copies.iter().filter(|copy| !is_named(copy));
        let others = others.flat_map(|copy| origins(source(copy), relative, name));
        for path in named.chain(others).take(MAX_ORIGINS) {
            if let Neighbour::Text(found) = context.neighbour(text, &path)? {
                return Ok(Some((path, found)));
            }
        }
        Ok(None)
    }
}

/// The source of a `COPY`, relative to the build context.
fn source(copy: &Copy) -> &str {
    copy.source
        .trim_start_matches('/')
        .trim_start_matches("./")
        .trim_end_matches('/')
}

/// Possible sources of a file that no `COPY` names; `name` is its file name.
fn origins(source: &str, relative: &str, name: &str) -> Vec<String> {
    let (folder, file) = source.rsplit_once('/').unwrap_or(("", source));
    if matches!(source, "" | ".") {
        vec![relative.to_owned(), name.to_owned()]
    } else if file.contains('*') {
        let path = format!("{folder}/{name}");
        vec![path.trim_start_matches('/').to_owned()]
    } else {
        vec![format!("{source}/{name}")]
    }
}
