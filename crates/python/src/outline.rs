//! A source without what says nothing about its import.

use std::borrow::Cow;

use ruff_text_size::TextSize;

use crate::bodies;
use crate::depth::{self, Depth};
use crate::installs::may_install;

/// A statement in place of a body.
const IDLE: &str = "0\n";

/// A source whose idle bodies are left out.
pub(crate) struct Outline<'t> {
    source: &'t str,
    text: Cow<'t, str>,
    /// The places in the text after a body, with those in the source; ascending.
    places: Vec<(usize, usize)>,
    /// Whether it is certainly shallow.
    is_shallow: bool,
}

impl<'t> Outline<'t> {
    pub fn of(source: &'t str) -> Self {
        // A function may be called that installs packages.
        if may_install(source) {
            return Outline::whole(source);
        }
        let mut text = String::new();
        let mut places = Vec::new();
        let mut at = 0;
        let (bodies, is_shallow) = bodies::idle(source);
        for body in bodies {
            let (Some(kept), Some(left_out)) = (
                source.get(at..body.start),
                source.get(body.clone()).filter(|it| it.len() > IDLE.len()),
            ) else {
                continue;
            };
            text.push_str(kept);
            text.push_str(
                IDLE.get(..if left_out.ends_with('\n') { 2 } else { 1 })
                    .unwrap_or(IDLE),
            );
            at = body.end;
            places.push((text.len(), at));
        }
        let text = match at {
            0 => Cow::Borrowed(source),
            at => {
                text.push_str(source.get(at..).unwrap_or_default());
                Cow::Owned(text)
            }
        };
        Outline {
            source,
            text,
            places,
            is_shallow,
        }
    }

    /// A source with all bodies.
    pub fn whole(source: &'t str) -> Self {
        Outline {
            source,
            text: Cow::Borrowed(source),
            places: Vec::new(),
            is_shallow: false,
        }
    }

    /// How deep the syntax tree of the text can be.
    pub fn depth(&self) -> Depth {
        match self.is_shallow {
            true => Depth::Shallow,
            false => depth::of(&self.text),
        }
    }

    /// Whether nothing is left out.
    pub fn is_whole(&self) -> bool {
        self.places.is_empty()
    }

    /// The text to parse.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The source.
    pub fn source(&self) -> &'t str {
        self.source
    }

    /// The place in the source of a place in the text.
    pub fn place(&self, offset: TextSize) -> usize {
        let offset = offset.to_usize();
        let before = self.places.partition_point(|(at, _)| *at <= offset);
        match before.checked_sub(1).and_then(|it| self.places.get(it)) {
            Some((at, source)) => source + (offset - at),
            None => offset,
        }
    }
}
