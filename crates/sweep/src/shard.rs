//! Which part of a plan a worker reads.

use std::str::FromStr;

use imgcheck_base::error::{Error, Result};

/// Which part of a plan a worker reads: one of several of about the same size.
///
/// ```
/// use imgcheck::Shard;
///
/// let shard: Shard = "2/8".parse().unwrap();
/// assert_eq!(shard.to_string(), "2/8");
/// assert!("9/8".parse::<Shard>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    index: usize,
    count: usize,
}

impl Default for Shard {
    /// The whole plan.
    fn default() -> Self {
        Shard { index: 0, count: 1 }
    }
}

impl Shard {
    /// The shard with this index, counted from 0, as Kubernetes counts the Pods of an Indexed Job.
    ///
    /// # Errors
    /// There are not so many.
    pub fn of_index(index: usize, count: usize) -> Result<Self> {
        if index < count {
            return Ok(Shard { index, count });
        }
        let problem = format!("there is no shard {} of {count}", index + 1);
        Err(Error::usage(problem).with_help("write --shard I/N, with I from 1 to N"))
    }

    /// How many shards the plan has.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether the shard reads the item at this place of a list that all shards share.
    pub(crate) fn has(self, place: usize) -> bool {
        place % self.count == self.index
    }
}

impl FromStr for Shard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text.split_once('/');
        let parsed = parts.and_then(|(index, count)| {
            let (index, count): (usize, usize) = (index.parse().ok()?, count.parse().ok()?);
            Some((index.checked_sub(1)?, count))
        });
        let (index, count) = parsed.ok_or_else(|| {
            Error::usage(format!("`{text}` is not a shard"))
                .with_help("write --shard I/N, such as 2/8, with I from 1 to N")
        })?;
        Shard::of_index(index, count)
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.index + 1, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_belongs_to_one_shard() {
        for count in 1..9 {
            for place in 0..40 {
                let shards = (0..count).filter_map(|index| Shard::of_index(index, count).ok());
                assert_eq!(shards.filter(|shard| shard.has(place)).count(), 1);
            }
        }
    }

    #[test]
    fn what_is_no_shard_is_refused() {
        for text in ["", "1", "0/4", "5/4", "1/0", "-1/4", "a/b", "1/4/2"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
