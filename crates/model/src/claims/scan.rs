//! Reading one text with patterns, each character once.

use std::ops::Range;

use super::claim::Claim;
use super::file::Token;
use super::pattern::{Pattern, Reading};

/// Replaces each character that was read; no pattern matches it.
const READ: &str = "\0";

/// A text that is being read, and its claims so far.
pub struct Scan<'t> {
    origin: &'static str,
    text: &'t str,
    /// The text in lower case, with everything that was read blanked out, byte for byte.
    unread: String,
    /// The pieces of the text, which are read one by one: a pattern never matches across the boundary of two.
    pieces: Vec<Range<usize>>,
    readings: Vec<Reading>,
}

impl<'t> Scan<'t> {
    /// A text of which nothing was read. It is split where one of the words follows a number without a separator:
    /// `2.3.0cu121`.
    pub fn new<'w>(
        origin: &'static str,
        text: &'t str,
        words: impl Iterator<Item = &'w str> + Clone,
    ) -> Self {
        let unread = text.to_ascii_lowercase();
        Scan {
            origin,
            text,
            pieces: pieces(&unread, words),
            unread,
            readings: Vec::new(),
        }
    }

    /// The subjects that the text mentions.
    pub fn subjects(&self) -> Vec<&'static str> {
        self.readings
            .iter()
            .map(|reading| reading.subject)
            .collect()
    }

    /// Reads all that the patterns find, one pattern after the other.
    pub fn read(&mut self, patterns: &[Pattern]) {
        for pattern in patterns {
            let readings = self.take(pattern);
            self.readings.extend(readings);
        }
    }

    /// Reads all that the tokens find. A token whose words do not occur costs no more than the search for them.
    pub fn read_tokens(&mut self, tokens: &[&Token]) {
        for token in tokens {
            let near = |word: &String| self.unread.contains(word.as_str());
            if token.near.iter().any(near) {
                let readings = self.take(&token.read);
                self.readings.extend(readings);
            }
        }
    }

    /// Reads the whole text again with patterns whose claims count only about subjects that neither this text nor
    /// `elsewhere` has mentioned.
    pub fn read_bare(&mut self, patterns: &[Pattern], elsewhere: &[&str]) {
        let claimed = self.subjects();
        let mut again = Scan {
            origin: self.origin,
            text: self.text,
            unread: self.text.to_ascii_lowercase(),
            pieces: self.pieces.clone(),
            readings: Vec::new(),
        };
        again.read(patterns);
        again.readings.retain(|reading| {
            !claimed.contains(&reading.subject) && !elsewhere.contains(&reading.subject)
        });
        self.readings.append(&mut again.readings);
    }

    /// The matches of one pattern, which are blanked out.
    fn take(&mut self, pattern: &Pattern) -> Vec<Reading> {
        let mut readings = Vec::new();
        for piece in &self.pieces {
            let mut from = 0;
            while let Some((span, found)) = pattern.find(&self.unread[piece.clone()], from) {
                if span.is_empty() {
                    break;
                }
                from = span.end;
                let blank = READ.repeat(span.len());
                let span = piece.start + span.start..piece.start + span.end;
                self.unread.replace_range(span, &blank);
                readings.extend(found.into_iter().map(|reading| reading.after(piece.start)));
            }
        }
        readings
    }

    /// The claims, in the order of the text.
    pub fn finish(mut self) -> Vec<Claim> {
        self.readings.retain(|reading| !reading.version.is_empty());
        self.readings.sort_by_key(|reading| reading.place.start);
        self.readings
            .into_iter()
            .map(|reading| Claim {
                subject: reading.subject.to_owned(),
                version: reading.version,
                origin: self.origin.to_owned(),
                text: self.text[reading.place].to_owned(),
                document: None,
            })
            .collect()
    }
}

/// Splits a text between a digit and one of the words, if that is a component or a number follows it:
/// `cuda11.8cudnn8devel` is `cuda11.8`, `cudnn8` and `devel`.
fn pieces<'w>(text: &str, words: impl Iterator<Item = &'w str> + Clone) -> Vec<Range<usize>> {
    let stands_alone = |rest: &str| {
        let next = rest.bytes().next();
        next.is_none_or(|next| next.is_ascii_digit() || b"-_.".contains(&next))
    };
    let begins_with_word = |text: &str| {
        let mut rests = words.clone().filter_map(|word| text.strip_prefix(word));
        rests.any(stands_alone)
    };
    let mut pieces = Vec::new();
    let mut start = 0;
    for (before, _) in text.match_indices(|letter: char| letter.is_ascii_digit()) {
        let end = before + 1;
        if begins_with_word(&text[end..]) {
            pieces.push(start..end);
            start = end;
        }
    }
    pieces.push(start..text.len());
    pieces
}
