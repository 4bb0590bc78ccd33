//! Reading one text with patterns, each character once.

use std::ops::Range;

use super::Claim;
use super::file::Token;
use super::pattern::Pattern;

/// What stands in place of a character that was read: no pattern and no boundary.
const READ: &str = "\0";

/// A text that is being read, and what it claimed so far.
pub struct Scan<'t> {
    origin: &'static str,
    text: &'t str,
    /// The text with everything that was read blanked out, byte for byte.
    unread: String,
    /// Subject, version and place.
    found: Vec<(String, String, Range<usize>)>,
}

impl<'t> Scan<'t> {
    /// A text of which nothing was read.
    pub fn new(origin: &'static str, text: &'t str) -> Self {
        Scan {
            origin,
            text,
            unread: text.to_owned(),
            found: Vec::new(),
        }
    }

    /// Reads all that the patterns find, one pattern after the other.
    pub fn read_all(&mut self, patterns: &[Pattern]) {
        for pattern in patterns {
            self.read(pattern, |_, _| true);
        }
    }

    /// Reads all that the tokens find. A token whose words do not occur costs no more than the search.
    pub fn read_tokens<'a>(&mut self, tokens: impl IntoIterator<Item = &'a Token>) {
        let lower = self.text.to_ascii_lowercase();
        for token in tokens {
            if token.near.iter().any(|word| lower.contains(word.as_str())) {
                self.read(&token.read, |found, _| {
                    token.beside.is_empty()
                        || found
                            .iter()
                            .any(|(subject, ..)| token.beside.contains(subject))
                });
            }
        }
    }

    /// Reads what the patterns say of subjects of which neither this text nor the other says anything yet.
    pub fn read_unless_claimed(&mut self, patterns: &[Pattern], other: &Scan<'_>) {
        let claimed: Vec<String> = self
            .found
            .iter()
            .chain(&other.found)
            .map(|(subject, ..)| subject.clone())
            .collect();
        self.unread = self.text.to_owned();
        for pattern in patterns {
            self.read(pattern, |_, subject| {
                !claimed.iter().any(|known| known == subject)
            });
        }
    }

    fn read(
        &mut self,
        pattern: &Pattern,
        counts: impl Fn(&[(String, String, Range<usize>)], &str) -> bool,
    ) {
        let mut from = 0;
        while let Some(found) = pattern.find(&self.unread, from) {
            if found.span.is_empty() {
                return;
            }
            from = found.span.end;
            let claims: Vec<_> = found
                .claims
                .into_iter()
                .filter(|(subject, ..)| counts(&self.found, subject))
                .collect();
            self.found.extend(claims);
            self.unread
                .replace_range(found.span.clone(), &READ.repeat(found.span.len()));
        }
    }

    /// The claims, in the order of the text.
    pub fn finish(mut self) -> Vec<Claim> {
        self.found.sort_by_key(|(.., place)| place.start);
        self.found
            .into_iter()
            .filter(|(_, version, _)| !version.is_empty())
            .map(|(subject, version, place)| Claim {
                subject,
                version,
                origin: self.origin.to_owned(),
                text: self.text[place].to_owned(),
            })
            .collect()
    }
}
