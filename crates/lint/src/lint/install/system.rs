//! apt and apk: what their commands install.

use super::effect::{Argument, Install};

/// The effect of a command of apt or apk; `verb` is its word for installing.
pub fn system(manager: &'static str, verb: &str, words: &[Argument]) -> Option<Install> {
    let at = words.iter().position(|word| word.text == verb)?;
    let mut packages = Vec::new();
    let mut rest = words[at + 1..].iter();
    while let Some(word) = rest.next() {
        match word.text.as_str() {
            "-t" | "-o" | "--target-release" | "--virtual" | "--repository" | "-X" => {
                rest.next();
            }
            text if text.starts_with('-') => {}
            _ => packages.push(word.clone()),
        }
    }
    Some(Install {
        manager,
        packages,
        ..Install::default()
    })
}
