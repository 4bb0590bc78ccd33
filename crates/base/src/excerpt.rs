//! Texts from outside, as messages show them.

/// The first `characters` characters of a text, with an ellipsis if it is longer.
pub fn shortened(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A text on one line, with a blank for each control character.
pub fn without_controls(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_ends_in_an_ellipsis() {
        assert_eq!(shortened("äöü", 2), "äö…");
        assert_eq!(shortened("äö", 2), "äö");
    }

    #[test]
    fn control_characters_are_blanks() {
        assert_eq!(without_controls("a\nb\u{1b}\u{9b}c"), "a b  c");
    }
}
