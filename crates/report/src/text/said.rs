//! Long sentences that several containers share are printed once.

use std::collections::HashMap;

/// Sentences up to this length, in characters, are repeated: a reference to the first one is not shorter.
const SHORT: usize = 60;

/// A container and the workload that it belongs to, as the report calls them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Speaker {
    pub workload: String,
    pub container: String,
}

/// What was printed for which container first.
#[derive(Debug, Default)]
pub(super) struct Said(HashMap<String, Speaker>);

impl Said {
    /// The text, or a reference to the container for which it was printed before.
    pub fn once(&mut self, text: String, speaker: &Speaker) -> String {
        self.before(&text, speaker).unwrap_or(text)
    }

    /// The reference to another container for which a long text was printed before. Remembers the text.
    pub fn before(&mut self, text: &str, speaker: &Speaker) -> Option<String> {
        if text.chars().count() <= SHORT {
            return None;
        }
        let first = self.0.entry(text.to_owned());
        let Speaker {
            workload,
            container,
        } = first.or_insert_with(|| speaker.clone());
        match *workload == speaker.workload {
            true if *container == speaker.container => None,
            true => Some(format!("the same as for {container} above")),
            false => Some(format!("the same as for {container} of {workload} above")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_sentence_is_printed_once() {
        let speaker = |workload: &str, container: &str| Speaker {
            workload: workload.to_owned(),
            container: container.to_owned(),
        };
        let (long, short) = ("x".repeat(SHORT + 1), "x".repeat(SHORT));
        let mut said = Said::default();
        let mut once = |text: &str, speaker: Speaker| said.once(text.to_owned(), &speaker);
        assert_eq!(once(&long, speaker("Pod a", "main")), long);
        assert_eq!(once(&long, speaker("Pod a", "main")), long);
        let same = "the same as for main above";
        assert_eq!(once(&long, speaker("Pod a", "side")), same);
        let other = "the same as for main of Pod a above";
        assert_eq!(once(&long, speaker("Pod b", "main")), other);
        assert_eq!(once(&short, speaker("Pod a", "main")), short);
        assert_eq!(once(&short, speaker("Pod b", "main")), short);
    }
}
