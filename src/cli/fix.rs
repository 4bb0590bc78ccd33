//! `imgcheck lint --fix`: writes what rules can fix.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use imgcheck::{Error, LineFix, Result};

use super::output::{self, one_line};

/// Writes fixes, each file at once, and shows them. Returns whether a file was changed.
///
/// # Errors
/// A file cannot be read or written.
pub fn write(fixes: &[LineFix]) -> Result<bool> {
    let mut files: BTreeMap<&str, Vec<&LineFix>> = BTreeMap::new();
    for fix in fixes {
        files.entry(&fix.file).or_default().push(fix);
    }
    let mut is_changed = false;
    for (file, fixes) in files {
        is_changed |= write_file(Path::new(file), &fixes)?;
    }
    Ok(is_changed)
}

fn write_file(path: &Path, fixes: &[&LineFix]) -> Result<bool> {
    // Standard input, for example.
    if !path.is_file() {
        return Ok(false);
    }
    let failed = |error| Error::output(path.display().to_string(), error);
    // A link stays a link.
    let real = fs::canonicalize(path).map_err(failed)?;
    let mut text = fs::read_to_string(&real).map_err(failed)?;
    let mut shown = String::new();
    for fix in fixes {
        let Some(fixed) = fix.apply(&text) else {
            continue;
        };
        text = fixed;
        let place = one_line(&format!("{}:{}", fix.file, fix.line));
        let (before, after) = (one_line(&fix.before), one_line(&fix.after));
        shown += &format!("fixed {place} ({}):\n- {before}\n+ {after}\n", fix.rule);
    }
    if shown.is_empty() {
        return Ok(false);
    }
    let permissions = fs::metadata(&real).map_err(failed)?.permissions();
    output::write_whole(&real, Some(permissions), |writer| {
        writer.write_all(text.as_bytes()).map_err(failed)
    })?;
    output::remark(&shown);
    Ok(true)
}
