//! The objects of one kind, as the last list and the events since then say.

use std::collections::BTreeMap;
use std::time::Instant;

/// The objects of one kind by name, or by namespace and name. They are kept while the connection is lost.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    objects: BTreeMap<String, T>,
    /// The objects of a list that is not complete yet.
    listing: BTreeMap<String, T>,
    /// Whether a list was complete once.
    pub is_known: bool,
    pub lost: Option<Lost>,
}

/// The connection is lost, or never was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lost {
    pub since: Instant,
    pub problem: String,
}

/// How far it is known what objects there are.
#[derive(Debug)]
pub(crate) struct Progress {
    /// A list was complete, or could not be had.
    pub is_settled: bool,
    pub lost: Option<Lost>,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Kept {
            objects: BTreeMap::new(),
            listing: BTreeMap::new(),
            is_known: false,
            lost: None,
        }
    }
}

impl<T: PartialEq> Kept<T> {
    /// A new list begins.
    pub fn begin(&mut self) {
        self.listing.clear();
    }

    /// An object of the list.
    pub fn listed(&mut self, name: String, object: T) {
        self.listing.insert(name, object);
    }

    /// The list is complete. Whether anything is different from before.
    pub fn complete(&mut self) -> bool {
        let listing = std::mem::take(&mut self.listing);
        let is_new = !self.is_known || self.lost.is_some() || listing != self.objects;
        self.objects = listing;
        self.is_known = true;
        self.lost = None;
        is_new
    }

    /// An object is new or has changed. Whether what is kept of it is different.
    pub fn put(&mut self, name: String, object: T) -> bool {
        let is_new = self.objects.get(&name) != Some(&object);
        if is_new {
            self.objects.insert(name, object);
        }
        is_new
    }

    pub fn remove(&mut self, name: &str) -> bool {
        self.objects.remove(name).is_some()
    }

    /// The connection is lost. What was known stays.
    pub fn fail(&mut self, problem: String, now: Instant) -> bool {
        let since = self.lost.as_ref().map_or(now, |it| it.since);
        let lost = Some(Lost { since, problem });
        let is_new = self.lost != lost;
        self.lost = lost;
        is_new
    }

    pub fn is_settled(&self) -> bool {
        self.is_known || self.lost.is_some()
    }

    pub fn progress(&self) -> Progress {
        Progress {
            is_settled: self.is_settled(),
            lost: self.lost.clone(),
        }
    }

    pub fn copy(&self) -> BTreeMap<String, T>
    where
        T: Clone,
    {
        self.objects.clone()
    }

    pub fn objects(&self) -> impl Iterator<Item = (&String, &T)> {
        self.objects.iter()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::*;

    fn names(kept: &Kept<u8>) -> Vec<&str> {
        kept.objects().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn what_was_known_stays_until_the_next_complete_list() {
        let mut kept = Kept::default();
        kept.begin();
        kept.listed("a".to_owned(), 1);
        assert!(!kept.is_known);
        assert!(kept.complete());
        assert!(kept.put("b".to_owned(), 2));
        assert!(!kept.put("b".to_owned(), 2));
        let start = Instant::now();
        assert!(kept.fail("refused".to_owned(), start));
        let later = start + Duration::from_secs(9);
        assert!(!kept.fail("refused".to_owned(), later));
        assert_eq!(kept.lost.as_ref().unwrap().since, start);
        kept.begin();
        kept.listed("b".to_owned(), 2);
        assert_eq!(names(&kept), ["a", "b"]);
        // A list that broke off leaves nothing behind.
        kept.begin();
        kept.listed("c".to_owned(), 3);
        assert!(kept.complete());
        assert_eq!(names(&kept), ["c"]);
        assert_eq!(kept.lost, None);
        assert!(kept.remove("c") && !kept.remove("c"));
    }
}
