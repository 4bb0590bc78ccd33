//! What a finding takes from the element of `each` that it is about.

use cel::common::types::CelBool;
use cel::common::value::Val;

use super::value::{Boxed, elements, field, number, text};
use imgcheck_model::claims::Claim;
use imgcheck_model::finding::Location;

/// When the faults that a finding accounts for stop the program; the first comes first in reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Consequence {
    /// The program does not start, or an import fails.
    AtOnce,
    /// A first use fails.
    AtFirstUse,
    /// The loader reports no fault.
    Other,
}

/// The first consequence of some facts. Only faults of the loader model have an `outcome`; one that the program survives counts as
/// a first use.
pub fn consequence(facts: &[Boxed]) -> Consequence {
    let of = |fact: &Boxed| {
        let is_needed = || {
            let optional = field(fact.as_ref(), "optional")?.downcast_ref::<CelBool>();
            optional.map(|it| !*it.inner())
        };
        let when = || text(field(fact.as_ref(), "when")?);
        if field(fact.as_ref(), "outcome").is_none() {
            return Consequence::Other;
        }
        match (is_needed(), when()) {
            (Some(true), Some("start" | "import")) => Consequence::AtOnce,
            _ => Consequence::AtFirstUse,
        }
    };
    facts.iter().map(of).min().unwrap_or(Consequence::Other)
}

/// What an element is about: the element itself if it is text, the subject and version of a claim, else its `subject`, `name` or `claim`.
pub fn subject(item: &dyn Val) -> Option<String> {
    if let Some(text) = text(item) {
        return Some(text.to_owned());
    }
    if let Some(claim) = claim(item) {
        return Some(format!("{} {}", claim.subject, claim.version));
    }
    let mut keys = ["subject", "name", "claim"].into_iter();
    keys.find_map(|key| subject(field(item, key)?))
}

/// The claim that an element is, or its `claim`, or the first of its `claims`.
pub fn claim(item: &dyn Val) -> Option<Claim> {
    if let Some(inner) = field(item, "claim") {
        return claim(inner);
    }
    if let Some(several) = field(item, "claims").and_then(elements) {
        return claim(several.first()?.as_ref());
    }
    let text = |name: &str| text(field(item, name)?).map(str::to_owned);
    Some(Claim {
        subject: text("subject")?,
        version: text("version")?,
        origin: text("origin")?,
        text: text("text")?,
        document: text("document"),
    })
}

/// The place in a file that an element is, or its `location`.
pub fn location(item: &dyn Val) -> Option<Location> {
    let place = field(item, "location").unwrap_or(item);
    let text = |name: &str| text(field(place, name)?).map(str::to_owned);
    let number = |name: &str| number(field(place, name)?);
    let location = Location {
        file: text("file")?,
        line: number("line")?,
        column: number("column")?,
        end_column: number("end_column")?,
        text: text("text")?,
    };
    // The facts of a test may have none.
    (location.line > 0).then_some(location)
}
