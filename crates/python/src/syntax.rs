//! The syntax tree of a source. Parsing, visiting and dropping a tree recurse, so all three run on a stack that fits its depth.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

use ruff_python_ast::{Expr, ModModule, PySourceType, Stmt};
use ruff_python_parser::{ParseOptions, Parsed, parse_unchecked};
use ruff_text_size::Ranged;

use crate::depth::{self, Depth};
use crate::facts::{ModuleFacts, Unread};
use crate::newer;

/// The stack of a thread that parses nested sources. Its pages are used only as far as the nesting goes.
const STACK: usize = 256 << 20;

/// What `visit` returns for the statements of a source.
///
/// # Errors
/// The source is too long, nested too deeply or not valid Python.
pub fn with_statements<T: Send>(
    source: &str,
    visit: impl FnOnce(&[Stmt]) -> T + Send,
) -> Result<T, Unread> {
    if source.len() as u64 > ModuleFacts::MOST_BYTES {
        return Err(Unread::TooLong);
    }
    let visit = |parsed: &Parsed<ModModule>| visit(parsed.suite());
    parse(source, depth::of(source), visit).unwrap_or(Err(Unread::TooDeep))
}

/// What `visit` returns for the tree of a source of any length and this depth.
///
/// # Errors
/// The source is deeply nested, and a thread with a large stack cannot be started.
pub(crate) fn parse<T: Send>(
    source: &str,
    depth: Depth,
    visit: impl FnOnce(&Parsed<ModModule>) -> T + Send,
) -> io::Result<Result<T, Unread>> {
    let parse = || {
        let options = ParseOptions::from(PySourceType::Python);
        let parsed = parse_unchecked(source, options.with_target_version(newer::OLDEST));
        let Some(parsed) = parsed.try_into_module() else {
            return Err(Unread::Syntax);
        };
        match parsed.errors() {
            [] => Ok(visit(&parsed)),
            _ => Err(Unread::Syntax),
        }
    };
    match depth {
        Depth::Shallow => Ok(parse()),
        Depth::Deep => thread::scope(|scope| {
            let thread = thread::Builder::new().stack_size(STACK);
            let parsed = thread.spawn_scoped(scope, parse)?;
            Ok(parsed.join().unwrap_or_else(|panic| resume_unwind(panic)))
        }),
        Depth::TooDeep => Ok(Err(Unread::TooDeep)),
    }
}

/// The names that the top level of a source assigns a plain text to, each with the last one: `__version__: str = '2.8.0'`.
pub fn assigned_texts(source: &str) -> BTreeMap<&str, &str> {
    let texts = |body: &[Stmt]| {
        let mut texts = BTreeMap::new();
        for (target, value) in body.iter().flat_map(assignments) {
            if let (Expr::Name(name), Some(text)) = (target, plain_text(source, value)) {
                texts.insert(&source[span(name)], text);
            }
        }
        texts
    };
    with_statements(source, texts).unwrap_or_default()
}

/// The targets of an assignment, each with the value.
pub fn assignments(statement: &Stmt) -> Vec<(&Expr, &Expr)> {
    match statement {
        Stmt::Assign(it) => it
            .targets
            .iter()
            .map(|target| (target, &*it.value))
            .collect(),
        Stmt::AnnAssign(it) => {
            let value = it.value.as_deref();
            value
                .map(|value| (&*it.target, value))
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The content of a string literal without prefix, escapes and line breaks, as it is written.
pub fn plain_text<'t>(source: &'t str, expression: &Expr) -> Option<&'t str> {
    let Expr::StringLiteral(literal) = expression else {
        return None;
    };
    let content = source[span(literal)].strip_prefix(['\'', '"'])?;
    let content = content.get(..content.len().checked_sub(1)?)?;
    (content == literal.value.to_str()).then_some(content)
}

/// The bytes of a source that a part of its tree stands in.
pub fn span(part: &impl Ranged) -> Range<usize> {
    part.range().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_are_assigned() {
        let source = "a = b = 'x'\nc: Optional[str] = \"y\"\nhip: Optional[str] = None\nd = f'x'\ne = 'x' 'y'\nf = r'x'\ng = 'x\\n'\nh = '''x'''\na.i = 'x'\nb = 'é'\nif c:\n  j = 'x'\n";
        let texts: Vec<_> = assigned_texts(source).into_iter().collect();
        assert_eq!(texts, [("a", "x"), ("b", "é"), ("c", "y")]);
        for invalid in ["a = 'x", "a = 'x'\nb =", &"(".repeat(100_000)] {
            assert_eq!(assigned_texts(invalid), BTreeMap::new(), "{invalid:.9}");
        }
    }
}
