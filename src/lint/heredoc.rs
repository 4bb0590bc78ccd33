//! Here-documents of `RUN` that do not stand first: `RUN bash -e <<EOF`. The Dockerfile parser knows only those that
//! do, so the others are hidden from it.

use std::ops::Range;

/// How many documents are looked for; each is searched through the rest of the file.
const MAX_DOCUMENTS: usize = 1000;

/// A here-document of a `RUN`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HereDocument {
    /// Where its instruction begins.
    pub instruction: usize,
    /// Its lines.
    pub body: Range<usize>,
}

/// The text with such documents overwritten by comments of the same length, and where they are.
pub fn hide(text: &str, escape: char) -> (String, Vec<HereDocument>) {
    let mut bytes = text.as_bytes().to_vec();
    let mut found = Vec::new();
    let mut at = 0;
    let mut searches = 0;
    while at < text.len() {
        let end = logical_end(text, at, escape);
        let instruction = &text[at..end];
        let keyword = instruction.split_whitespace().next().unwrap_or_default();
        let run = keyword.eq_ignore_ascii_case("RUN");
        let copy = ["COPY", "ADD"]
            .iter()
            .any(|word| keyword.eq_ignore_ascii_case(word));
        let mut next = end;
        if run || copy {
            let first = arguments(instruction, keyword).starts_with("<<");
            for delimiter in delimiters(instruction) {
                searches += 1;
                if searches > MAX_DOCUMENTS {
                    break;
                }
                let Some((body, behind)) = document(text, next, &delimiter) else {
                    break;
                };
                if run && !first {
                    for byte in &mut bytes[body.start..behind] {
                        if !matches!(byte, b'\n' | b'\r') {
                            *byte = b'#';
                        }
                    }
                    found.push(HereDocument {
                        instruction: at + (instruction.len() - instruction.trim_start().len()),
                        body,
                    });
                }
                next = behind;
            }
        }
        at = next;
    }
    // Only whole lines were overwritten, with ASCII.
    (
        String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned()),
        found,
    )
}

/// What follows the keyword and its `--options`.
fn arguments<'t>(instruction: &'t str, keyword: &str) -> &'t str {
    let mut rest = instruction.trim_start();
    rest = rest.get(keyword.len()..).unwrap_or_default().trim_start();
    while rest.starts_with("--") {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        rest = rest[end..].trim_start();
    }
    rest
}

/// The end of the line at a place, and of the lines that it goes on with.
fn logical_end(text: &str, start: usize, escape: char) -> usize {
    let mut at = start;
    let mut going_on = false;
    for line in text[start..].split_inclusive('\n') {
        at += line.len();
        let trimmed = line.trim();
        let comment = trimmed.starts_with('#') || trimmed.is_empty();
        if going_on && comment {
            continue;
        }
        going_on = !comment && trimmed.ends_with(escape);
        if !going_on {
            break;
        }
    }
    at
}

/// The words that end the documents which an instruction begins.
fn delimiters(instruction: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut quote = None;
    let mut at = 0;
    while let Some(c) = instruction[at..].chars().next() {
        let rest = &instruction[at..];
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '\'' || c == '"' => quote = Some(c),
            None if rest.starts_with("<<<") => at += 2,
            None if rest.starts_with("<<") => {
                let written = rest[2..].trim_start_matches('-');
                let end = written.find(|c: char| c.is_whitespace() || ";|&><)".contains(c));
                let word = written[..end.unwrap_or(written.len())].trim_matches(['\'', '"']);
                if word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                    found.push(word.to_owned());
                }
                at += 1;
            }
            None => {}
        }
        at += c.len_utf8();
    }
    found
}

/// The lines up to one that holds the delimiter alone, and where the text goes on.
fn document(text: &str, start: usize, delimiter: &str) -> Option<(Range<usize>, usize)> {
    let mut at = start;
    for line in text.get(start..)?.split_inclusive('\n') {
        if line.trim_matches(['\t', '\n', '\r']) == delimiter {
            return Some((start..at, at + line.len()));
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_that_do_not_stand_first_are_hidden() {
        let text = "FROM a\nRUN bash <<'EOF' && \\\n  true\npip install x\n\nüEOF\nEOF\nRUN b\n";
        let (hidden, found) = hide(text, '\\');
        assert_eq!(hidden.len(), text.len());
        assert!(
            hidden.ends_with("\n#############\n\n#####\n###\nRUN b\n"),
            "{hidden}"
        );
        assert_eq!(&text[found[0].body.clone()], "pip install x\n\nüEOF\n");
        assert_eq!(&text[found[0].instruction..found[0].instruction + 3], "RUN");
    }

    #[test]
    fn others_stay() {
        for text in [
            "FROM a\nRUN <<EOF\nx <<Y\nEOF\nRUN b\n",
            "FROM a\nRUN x <<< EOF\nRUN '<<EOF'\n",
            "FROM a\nRUN bash <<EOF\nno end\n",
        ] {
            let (hidden, found) = hide(text, '\\');
            assert_eq!((hidden.as_str(), found), (text, vec![]));
        }
    }
}
