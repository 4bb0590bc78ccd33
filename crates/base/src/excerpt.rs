//! Texts from outside, as messages show them.

/// The first `characters` characters of a text, with an ellipsis if it is longer.
pub fn shortened(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The words of a text that end within so many characters, with an ellipsis for the others. A first word that is longer is cut.
pub fn without_cut_word(text: &str, characters: usize) -> String {
    let Some((end, next)) = text.char_indices().nth(characters) else {
        return text.to_owned();
    };
    let start = &text[..end];
    let words = match next.is_whitespace() {
        true => start,
        false => start
            .rfind(char::is_whitespace)
            .map_or(start, |at| &start[..at]),
    };
    format!("{} …", words.trim_end())
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
        assert_eq!(without_cut_word("one two", 5), "one …");
        assert_eq!(without_cut_word("one two", 3), "one …");
        assert_eq!(without_cut_word("one two", 7), "one two");
    }

    #[test]
    fn control_characters_are_blanks() {
        assert_eq!(without_controls("a\nb\u{1b}\u{9b}c"), "a b  c");
    }
}
