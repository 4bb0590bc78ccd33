//! The text of a configuration file, which errors quote.

use std::ops::Range;

use chrono::NaiveDate;

use imgcheck_base::error::{Error, Result};
use imgcheck_base::spelling::{InvalidInput, nearest};
use imgcheck_base::yaml::{self, Spanned};
use imgcheck_model::finding::Location;

/// The text of the file.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The file as the user named it.
    pub name: String,
    /// What it contains.
    pub text: String,
}

impl Source {
    pub fn each<T, U>(
        &self,
        values: &[T],
        read: impl Fn(&Self, &T) -> Result<U>,
    ) -> Result<Vec<U>> {
        values.iter().map(|value| read(self, value)).collect()
    }

    pub fn one_of<T: Copy>(
        &self,
        word: &Spanned<String>,
        what: &str,
        known: &[(&str, T)],
    ) -> Result<T> {
        let found = known.iter().find(|(name, _)| *name == word.value);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let help = match nearest(&word.value, names.iter().copied()) {
                Some(near) => format!(
                    "did you mean `{near}`? Expected one of: {}",
                    names.join(", ")
                ),
                None => format!("expected one of: {}", names.join(", ")),
            };
            self.fault(
                yaml::span(word),
                &format!("invalid {what} `{}`", word.value),
                &help,
            )
        })
    }

    pub fn day(&self, text: &Spanned<String>) -> Result<NaiveDate> {
        let written = text.value.trim();
        let day = NaiveDate::parse_from_str(written, "%Y-%m-%d").ok();
        // The pattern alone would accept `27-3-1`.
        day.filter(|_| written.len() == "2027-03-01".len())
            .ok_or_else(|| {
                let problem = format!("invalid date `{written}`");
                let help = "write the last valid day as YYYY-MM-DD, such as 2027-03-01";
                self.fault(yaml::span(text), &problem, help)
            })
    }

    /// Adds the position of a value to its error.
    pub fn located<T>(&self, value: &Spanned<String>, read: Result<T, InvalidInput>) -> Result<T> {
        read.map_err(|misread| self.fault(yaml::span(value), &misread.problem, &misread.help))
    }

    pub fn fault(&self, place: Range<usize>, problem: &str, help: &str) -> Error {
        let error = yaml::fault(&self.name, &self.text, place, problem, Some(help));
        config_error(error)
    }

    pub fn location(&self, place: &Range<usize>) -> Location {
        let before = self.text.get(..place.start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let column = before[line_start..].chars().count() + 1;
        let written = self.text.get(place.clone()).unwrap_or_default();
        Location {
            file: self.name.clone(),
            line: before.matches('\n').count() + 1,
            column,
            end_column: column + written.lines().next().unwrap_or_default().chars().count(),
            text: line.to_owned(),
        }
    }
}

/// Turns the diagnostic of a YAML file into an error of the configuration.
pub fn config_error(error: Error) -> Error {
    match error {
        Error::Rule { problem } => Error::config(problem),
        other => other,
    }
}
