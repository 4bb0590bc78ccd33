//! Findings that the team decided to live with.

use chrono::NaiveDate;

use crate::finding::Location;
use crate::glob::glob;
use crate::reference::name::Name;

/// Some findings that do not count, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignore {
    /// Id of a rule, or a pattern of ids.
    pub rule: String,
    /// Pattern of the image's reference; all images if there is none.
    pub image: Option<String>,
    /// Pattern of the file that the finding is about; any if there is none.
    pub path: Option<String>,
    /// Why they do not count.
    pub reason: String,
    /// The last day that it holds.
    pub expires: Option<NaiveDate>,
    /// Where it is written.
    pub location: Location,
}

impl Ignore {
    /// Whether its last day is over.
    pub fn expired(&self, today: NaiveDate) -> bool {
        self.expires.is_some_and(|last| today > last)
    }

    /// Whether it speaks of an image or file of this name.
    pub fn concerns(&self, name: &str) -> bool {
        self.image.as_ref().is_none_or(|pattern| {
            let full = || Some(name.parse::<Name>().ok()?.canonical().to_string());
            glob(name, pattern) || full().is_some_and(|full| glob(&full, pattern))
        })
    }

    /// Whether it speaks of findings about this file; one that names no file speaks of those about none, too.
    pub fn covers(&self, path: Option<&str>) -> bool {
        let pattern = self.path.as_ref();
        pattern.is_none_or(|pattern| path.is_some_and(|path| glob(path, pattern)))
    }
}
