//! Breaks lines of text between words.

/// The widest line of prose, in columns: longer ones are hard to read.
pub(crate) const WIDEST: u16 = 120;

/// Breaks each line of a text between words so that none is wider than `width` columns, if its words are not. The first line starts in
/// the column `indent`, and the others are indented by as much. Without a width nothing is broken.
pub(crate) fn wrap(text: &str, indent: usize, width: Option<u16>) -> String {
    let margin = format!("\n{:indent$}", "");
    let Some(width) = width else {
        return text.replace('\n', &margin);
    };
    let room = usize::from(width.min(WIDEST)).saturating_sub(indent).max(1);
    let lines = text.split('\n').map(|line| wrapped(line, room, &margin));
    lines.collect::<Vec<_>>().join(&margin)
}

/// What follows a label on its line, broken so that both fit. Further lines are indented by two columns.
pub(crate) fn after_label(label: &str, text: &str, width: Option<u16>) -> String {
    let text = wrap(&format!("{label}: {text}"), 2, width);
    text.strip_prefix(label).unwrap_or(&text).to_owned()
}

/// One line; blanks at its beginning are kept on its first line.
fn wrapped(line: &str, room: usize, margin: &str) -> String {
    let blanks = line.len() - line.trim_start_matches(' ').len();
    let mut out = line[..blanks].to_owned();
    let mut column = blanks;
    for (index, word) in line[blanks..].split(' ').enumerate() {
        let length = columns(word);
        if index > 0 && column + 1 + length > room {
            out.push_str(margin);
            column = 0;
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

/// The columns of a word: its characters, without the codes of its styles.
fn columns(word: &str) -> usize {
    let mut parts = word.split('\u{1b}');
    let first = parts.next().map_or(0, |it| it.chars().count());
    let styled = parts.filter_map(|it| Some(it.split_once('m')?.1.chars().count()));
    first + styled.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_stay_whole() {
        let text = "the tag claims PyTorch 2.9\n/a/path/that/is/longer/than/a/line x";
        assert_eq!(
            wrap(text, 2, Some(20)),
            "the tag claims\n  PyTorch 2.9\n  /a/path/that/is/longer/than/a/line\n  x"
        );
        assert_eq!(wrap("a b\nc", 2, None), "a b\n  c");
        assert_eq!(wrap("", 2, Some(0)), "");
    }

    #[test]
    fn styles_take_no_columns() {
        let styled = "\u{1b}[1m\u{1b}[32mcovered\u{1b}[0m by sm_90";
        assert_eq!(wrap(styled, 0, Some(16)), styled);
        assert_eq!(columns(styled), 16);
    }

    proptest! {
        #[test]
        fn no_word_is_lost_or_broken(text in "[a-zü ]{0,200}", width in 0u16..200, indent in 0usize..20) {
            let wrapped = wrap(&text, indent, Some(width));
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&wrapped), words(&text));
            let room = usize::from(width.min(WIDEST));
            for line in wrapped.split('\n').skip(1) {
                let is_one_word = !line.trim().contains(' ');
                prop_assert!(is_one_word || line.chars().count() <= room.max(indent + 1));
            }
        }
    }
}
