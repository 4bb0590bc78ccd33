//! Counts and lists that stay small, however many records there are.

use std::collections::{BTreeMap, BinaryHeap};

/// How many different things are counted. Versions and names come from images, which may contain anything.
const KEYS: usize = 2_000;

/// How often each thing occurs.
#[derive(Debug)]
pub(super) struct Tally<K> {
    counts: BTreeMap<K, u64>,
    /// Occurrences of things that came after the first [`KEYS`].
    pub left_out: u64,
}

impl<K: Ord> Default for Tally<K> {
    fn default() -> Self {
        Tally {
            counts: BTreeMap::new(),
            left_out: 0,
        }
    }
}

impl<K: Ord + Clone> Tally<K> {
    /// Counts one occurrence.
    pub fn add(&mut self, key: K) {
        let is_full = self.counts.len() >= KEYS;
        match self.counts.get_mut(&key) {
            Some(count) => *count += 1,
            None if is_full => self.left_out += 1,
            None => {
                self.counts.insert(key, 1);
            }
        }
    }

    /// How often one thing occurs.
    pub fn of(&self, key: &K) -> u64 {
        self.counts.get(key).copied().unwrap_or_default()
    }

    /// All counts in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&K, u64)> {
        self.counts.iter().map(|(key, count)| (key, *count))
    }

    /// The most frequent first.
    pub fn by_count(&self) -> Vec<(K, u64)> {
        let mut all: Vec<(K, u64)> = self
            .iter()
            .map(|(key, count)| (key.clone(), count))
            .collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        all
    }
}

/// The items with the largest weights, and how many there were.
#[derive(Debug)]
pub(super) struct Top<T> {
    most: usize,
    /// The lightest item on top; of equal ones the latest.
    kept: BinaryHeap<Ranked<T>>,
    /// How many items there were.
    pub total: u64,
}

impl<T> Top<T> {
    /// Keeps so many items.
    pub fn new(most: usize) -> Self {
        Top {
            most,
            kept: BinaryHeap::new(),
            total: 0,
        }
    }

    /// Adds an item, which is made only if it is kept.
    pub fn add(&mut self, weight: u64, item: impl FnOnce() -> T) {
        let rank = (std::cmp::Reverse(weight), self.total);
        self.total += 1;
        let is_full = self.kept.len() >= self.most;
        if is_full && self.kept.peek().is_none_or(|last| last.rank <= rank) {
            return;
        }
        if is_full {
            self.kept.pop();
        }
        let item = item();
        self.kept.push(Ranked { rank, item });
    }

    /// The kept items, the heaviest first.
    pub fn items(&self) -> Vec<&T> {
        let mut all: Vec<&Ranked<T>> = self.kept.iter().collect();
        all.sort_by_key(|it| it.rank);
        all.into_iter().map(|it| &it.item).collect()
    }
}

#[derive(Debug)]
struct Ranked<T> {
    rank: (std::cmp::Reverse<u64>, u64),
    item: T,
}

impl<T> PartialEq for Ranked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl<T> Eq for Ranked<T> {}

impl<T> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Ranked<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank.cmp(&other.rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_items_are_kept_and_all_are_counted() {
        let mut top = Top::new(3);
        for (weight, name) in [(1, "a"), (5, "b"), (1, "c"), (0, "d"), (7, "e"), (5, "f")] {
            top.add(weight, || name);
        }
        assert_eq!(top.items(), [&"e", &"b", &"f"]);
        assert_eq!(top.total, 6);
    }

    #[test]
    fn of_equal_items_the_first_are_kept() {
        let mut top = Top::new(2);
        for name in ["a", "b", "c"] {
            top.add(0, || name);
        }
        assert_eq!(top.items(), [&"a", &"b"]);
    }

    #[test]
    fn hostile_names_do_not_grow_a_tally() {
        let mut tally = Tally::default();
        for number in 0..KEYS + 5 {
            tally.add(number);
        }
        tally.add(0);
        assert_eq!((tally.of(&0), tally.left_out), (2, 5));
        assert_eq!(tally.by_count()[0], (0, 2));
        assert_eq!(tally.iter().count(), KEYS);
    }
}
