//! Typed access to the tables of a pyproject.toml.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use super::super::text::Text;
use imgcheck_base::error::Result;

/// A value with its position.
pub type Value<'v> = Spanned<DeValue<'v>>;

/// A parsed file.
pub struct Reader<'r> {
    pub text: &'r Text<'r>,
    pub root: DeValue<'r>,
    /// Whether the settings of uv count.
    pub uv: bool,
}

impl<'r> Reader<'r> {
    pub fn get(&self, path: &[&str]) -> Option<&DeValue<'r>> {
        path.iter()
            .try_fold(&self.root, |value, key| Some(value.get(*key)?.get_ref()))
    }

    pub fn table(&self, path: &[&str]) -> impl Iterator<Item = (&str, &Value<'r>)> {
        let table = self.get(path).and_then(DeValue::as_table);
        table
            .into_iter()
            .flat_map(|table| table.iter())
            .map(|(key, value)| (key.get_ref().as_ref(), value))
    }

    /// The value at a path of keys; all values before it must be tables.
    pub fn at(&self, path: &[&str]) -> Result<Option<&Value<'r>>> {
        let mut found: Option<(&str, &Value<'r>)> = None;
        for key in path {
            let value = match found {
                Some((name, table)) => {
                    self.check(name, table, &["table"], "a table")?;
                    table.get_ref().get(*key)
                }
                None => self.root.get(*key),
            };
            let Some(value) = value else {
                return Ok(None);
            };
            found = Some((key, value));
        }
        Ok(found.map(|(_, value)| value))
    }

    /// The entries of a table; empty if it is missing.
    pub fn entries(&self, path: &[&str]) -> Result<Vec<(&str, &Value<'r>)>> {
        let Some(value) = self.at(path)? else {
            return Ok(Vec::new());
        };
        let name = path.last().copied().unwrap_or_default();
        self.check(name, value, &["table"], "a table")?;
        Ok(self.table(path).collect())
    }

    /// Rejects a value of the wrong type.
    pub fn check(&self, key: &str, value: &Value<'_>, types: &[&str], wanted: &str) -> Result<()> {
        let value_type = value.get_ref().type_str();
        if types.contains(&value_type) {
            return Ok(());
        }
        let article = match value_type.starts_with(['a', 'i']) {
            true => "an",
            false => "a",
        };
        let problem = format!("`{key}` must be {wanted}, not {article} {value_type}");
        Err(self.text.fault(value.span(), &problem, None))
    }

    /// The range of a value with its key.
    pub fn line(&self, span: Range<usize>) -> Range<usize> {
        let before = self.text.text.get(..span.start).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        span.start - line.trim_start().len()..span.end
    }
}
