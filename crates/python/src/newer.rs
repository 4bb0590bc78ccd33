//! Syntax that only newer releases of Python accept.
//!
//! Source: "What's New in Python" of each release; the parser finds it.

use std::collections::BTreeMap;

use ruff_python_ast::{ModModule, PythonVersion};
use ruff_python_parser::{Parsed, UnsupportedSyntaxErrorKind};
use ruff_text_size::Ranged;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lines::Lines;
use crate::outline::Outline;

/// The oldest release that the parser knows: what it does not accept is found.
pub(crate) const OLDEST: PythonVersion = PythonVersion::PY37;

/// Syntax that releases before one do not accept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewerSyntax {
    /// The first line that has it, counted from 1.
    pub line: u32,
    /// The minor number of the first release of Python 3 that accepts it.
    pub minor: u32,
    /// What it is: `` `match` ``.
    pub what: String,
}

/// The newer syntax of a source: of each release the first.
pub(crate) fn of(outline: &Outline, parsed: &Parsed<ModModule>) -> Vec<NewerSyntax> {
    let mut lines = Lines::of(outline.source());
    let mut first: BTreeMap<u32, NewerSyntax> = BTreeMap::new();
    for error in parsed.unsupported_syntax_errors() {
        let Some((minor, what)) = added(error.kind) else {
            continue;
        };
        let line = lines.at(outline.place(error.start()));
        let known = first.get(&minor);
        if known.is_none_or(|it| line < it.line) {
            let what = what.to_owned();
            first.insert(minor, NewerSyntax { line, minor, what });
        }
    }
    first.into_values().collect()
}

/// The release of Python 3 that added a kind of syntax; `None` for one that a release removed, or of which that is not
/// certain.
fn added(kind: UnsupportedSyntaxErrorKind) -> Option<(u32, &'static str)> {
    use UnsupportedSyntaxErrorKind as Kind;
    Some(match kind {
        // Releases before 3.9 accept `with (a, b):`, too, and fail when they execute it.
        Kind::ParenthesizedKeywordArgumentName | Kind::ParenthesizedContextManager => return None,
        Kind::Walrus => (8, "`:=`"),
        Kind::StarTuple(_) => (8, "`*` after `return` or `yield` without parentheses"),
        Kind::PositionalOnlyParameter => (8, "`/` among parameters"),
        // An index is one of 3.10; the parser does not say which it is.
        Kind::UnparenthesizedNamedExpr(_) => (9, "`:=` without parentheses in a set or an index"),
        Kind::RelaxedDecorator(_) => (9, "an expression as decorator"),
        Kind::UnparenthesizedUnpackInFor => (9, "`*` in `for … in` without parentheses"),
        Kind::Match => (10, "`match`"),
        Kind::ExceptStar => (11, "`except*`"),
        Kind::StarExpressionInIndex => (11, "`*` in an index"),
        Kind::StarAnnotation => (11, "`*` in an annotation"),
        Kind::TypeParameterList => (12, "type parameters in brackets"),
        Kind::TypeAliasStatement => (12, "`type NAME = …`"),
        Kind::Pep701FString(_) => (
            12,
            "its own quotes, a backslash, a comment or a line break in the braces of an f-string",
        ),
        Kind::TypeParamDefault => (13, "a default of a type parameter"),
        Kind::UnparenthesizedExceptionTypes => {
            (14, "`except` and several types without parentheses")
        }
        Kind::TemplateStrings => (14, "a t-string"),
        Kind::UnpackingInComprehension(_) => (15, "`*` or `**` in a comprehension"),
        Kind::LazyImportStatement => (15, "`lazy import`"),
    })
}
