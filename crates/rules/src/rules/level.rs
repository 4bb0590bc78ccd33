//! Severity and confidence of a rule: fixed, or decided by an expression.

use std::sync::Arc;

use super::expression::{Expression, Missing, Source};
use super::scope::Scope;
use super::value;
use imgcheck_base::error::Result;
use imgcheck_base::yaml::{self, Spanned};
use imgcheck_model::finding::{Confidence, Severity};

/// A level that has a name in rule files and reports.
pub trait Named: Copy + Sized + 'static {
    /// All levels with their names, the worst or surest first.
    const ALL: &'static [(&'static str, Self)];

    /// The level of a name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find_map(|(known, level)| (*known == name).then_some(*level))
    }

    /// The names of all levels, for messages.
    fn names() -> String {
        let names: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }
}

impl Named for Severity {
    const ALL: &'static [(&'static str, Self)] = &[
        ("error", Severity::Error),
        ("warning", Severity::Warning),
        ("note", Severity::Note),
    ];
}

impl Named for Confidence {
    const ALL: &'static [(&'static str, Self)] = &[
        ("high", Confidence::High),
        ("medium", Confidence::Medium),
        ("low", Confidence::Low),
    ];
}

/// A level of a rule.
#[derive(Debug)]
pub enum Level<T> {
    /// Always the same.
    Fixed(T),
    /// An expression that gives the level's name.
    Decided(Expression),
}

impl<T: Named + PartialEq> Level<T> {
    /// Reads the name of a level, or an expression.
    ///
    /// # Errors
    ///
    /// The text is a single word and not a level.
    pub fn read(source: &Arc<Source>, scalar: &Spanned<String>) -> Result<Self> {
        let text = scalar.value.trim();
        if let Some(level) = T::named(text) {
            return Ok(Level::Fixed(level));
        }
        if text.chars().all(|c| c.is_ascii_alphabetic()) {
            let help = format!(
                "use {}, or an expression that gives one of them",
                T::names()
            );
            let problem = format!("`{text}` is not a level");
            return Err(source.fault(yaml::span(scalar), &problem, Some(&help)));
        }
        Ok(Level::Decided(Expression::new(source, scalar)))
    }

    /// The expression, unless the level is fixed.
    pub fn expression(&self) -> Option<&Expression> {
        match self {
            Level::Fixed(_) => None,
            Level::Decided(expression) => Some(expression),
        }
    }

    /// The level in a scope; the lowest if a fact is missing.
    ///
    /// # Errors
    ///
    /// The expression cannot be evaluated, or gives something else.
    pub fn evaluate(&self, scope: &mut Scope<'_, '_, '_>) -> Result<T> {
        self.evaluate_or(scope, T::ALL.last())
    }

    /// The level in a scope; the worst or surest that is possible if a fact is missing.
    ///
    /// # Errors
    ///
    /// The expression cannot be evaluated, or gives something else.
    pub fn worst(&self, scope: &mut Scope<'_, '_, '_>) -> Result<T> {
        let possible = self.possible();
        self.evaluate_or(scope, possible.first().or(T::ALL.first()))
    }

    fn evaluate_or(
        &self,
        scope: &mut Scope<'_, '_, '_>,
        missing: Option<&(&'static str, T)>,
    ) -> Result<T> {
        let expression = match self {
            Level::Fixed(level) => return Ok(*level),
            Level::Decided(expression) => expression,
        };
        let named = match scope.evaluate(expression)? {
            Ok(name) => value::text(name.as_ref()).and_then(T::named),
            Err(Missing) => missing.map(|(_, level)| *level),
        };
        named.ok_or_else(|| {
            let problem = format!("this must give one of {}", T::names());
            expression.fault(0..expression.text().len(), &problem, None)
        })
    }

    /// The levels that findings may have, the worst or surest first: of an expression, those that it names.
    pub fn possible(&self) -> Vec<(&'static str, T)> {
        let named = |(name, known): &&(&'static str, T)| match self {
            Level::Fixed(fixed) => known == fixed,
            Level::Decided(expression) => expression.text().contains(&format!("\"{name}\"")),
        };
        T::ALL.iter().filter(named).copied().collect()
    }
}
