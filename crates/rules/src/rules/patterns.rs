//! CEL's `matches`, which compiles each pattern once: rules ask the same ones of every file and process.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use cel::common::types::{CelBool, CelString};
use cel::{DeclarationError, Env, ExecutionError};
use regex::Regex;

/// Patterns that are kept compiled. Those of rules are a few dozen, but one may be made of facts.
const KEPT: usize = 256;

static COMPILED: LazyLock<Mutex<HashMap<String, Regex>>> = LazyLock::new(Mutex::default);

/// Declares `text.matches(pattern)` and `matches(text, pattern)` (CEL specification, "List of Standard Definitions").
pub fn extension(env: &mut Env) -> Result<(), DeclarationError> {
    cel::add_overload!(env, fn matches: (CelString, CelString) -> Result<CelBool>, id = "matches")?;
    cel::add_member_overload!(env, fn matches: (CelString, CelString) -> Result<CelBool>)
}

fn matches(text: &CelString<'_>, pattern: &CelString<'_>) -> Result<CelBool, ExecutionError> {
    let pattern = compiled(pattern.inner())?;
    Ok(CelBool::from(pattern.is_match(text.inner())))
}

fn compiled(pattern: &str) -> Result<Regex, ExecutionError> {
    let mut kept = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.get(pattern) {
        return Ok(known.clone());
    }
    let new = Regex::new(pattern).map_err(|error| {
        let problem = format!("'{pattern}' is not a regular expression:\n{error}");
        ExecutionError::function_error("matches", problem)
    })?;
    if kept.len() == KEPT {
        kept.clear();
    }
    kept.insert(pattern.to_owned(), new.clone());
    Ok(new)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_answers_as_before() {
        for round in 0..2 {
            for at in 0..3 * KEPT {
                let pattern = compiled(&format!("^kept-{at}$")).unwrap();
                let text = format!("kept-{at}");
                assert!(pattern.is_match(&text), "{round}");
                assert!(!pattern.is_match("kept-"), "{round}");
            }
        }
        let kept = COMPILED.lock().unwrap();
        assert!(kept.len() <= KEPT);
    }

    #[test]
    fn a_wrong_pattern_is_an_error_that_names_it() {
        let error = compiled("(foo").unwrap_err().to_string();
        assert!(error.contains("(foo"), "{error}");
    }
}
