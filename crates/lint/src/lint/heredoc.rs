//! Here-documents of `RUN`, `COPY` and `ADD`. The Dockerfile parser supports only some of them, so all are hidden from it.

use std::ops::Range;

/// The maximum number of documents in a file; each is searched for in the rest of the file.
pub const MAX_DOCUMENTS: usize = 200;

/// A here-document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HereDocument {
    /// Start of its instruction.
    pub instruction: usize,
    /// Its delimiter, which is also the name of the file that `COPY` creates.
    pub delimiter: String,
    /// The range of its lines.
    pub body: Range<usize>,
    /// Where the line with the delimiter ends.
    pub end: usize,
    /// Whether it is the script itself (`RUN <<EOF`), and not the standard input of a command (`RUN bash <<EOF`).
    pub script: bool,
}

/// The start of a document, and its delimiter.
struct Opening {
    place: Range<usize>,
    delimiter: String,
}

/// The text with all documents replaced by comments of equal length, and the documents.
///
/// # Errors
/// There are more than [`MAX_DOCUMENTS`]: the position of the first one beyond the limit.
pub fn hide(text: &str, escape: char) -> Result<(String, Vec<HereDocument>), Range<usize>> {
    let mut bytes = text.as_bytes().to_vec();
    without_empty_entry_points(text, &mut bytes);
    let mut found = Vec::new();
    let mut at = 0;
    let mut searches = 0;
    while at < text.len() {
        let end = logical_end(text, at, escape);
        let instruction = &text[at..end];
        let keyword = instruction.split_whitespace().next().unwrap_or_default();
        let is = |word: &str| keyword.eq_ignore_ascii_case(word);
        let mut next = end;
        if is("RUN") || is("COPY") || is("ADD") {
            let script = arguments(instruction, keyword, escape).starts_with("<<");
            for opening in openings(instruction) {
                let place = at + opening.place.start..at + opening.place.end;
                searches += 1;
                if searches > MAX_DOCUMENTS {
                    return Err(place);
                }
                let Some((body, behind)) = document(text, next, &opening.delimiter) else {
                    break;
                };
                bytes[place].fill(b'x');
                for byte in &mut bytes[body.start..behind] {
                    if !matches!(byte, b'\n' | b'\r') {
                        *byte = b'#';
                    }
                }
                found.push(HereDocument {
                    instruction: at + (instruction.len() - instruction.trim_start().len()),
                    delimiter: opening.delimiter,
                    body,
                    end: behind,
                    script: script && is("RUN"),
                });
                next = behind;
            }
        }
        at = next;
    }
    // Whole characters were replaced by ASCII.
    let hidden = String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned());
    Ok((hidden, found))
}

/// Makes `CMD []` of `ENTRYPOINT []`, which Docker accepts and the parser does not.
fn without_empty_entry_points(text: &str, bytes: &mut [u8]) {
    let keyword = "ENTRYPOINT";
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at + (line.len() - line.trim_start().len());
        let (name, rest) = line
            .trim_start()
            .split_at_checked(keyword.len())
            .unwrap_or_default();
        let list = rest
            .trim()
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        if name.eq_ignore_ascii_case(keyword) && list.is_some_and(|list| list.trim().is_empty()) {
            bytes[start..start + keyword.len()].copy_from_slice(b"CMD       ");
        }
        at += line.len();
    }
}

/// The text after the keyword and its `--options`.
fn arguments<'t>(instruction: &'t str, keyword: &str, escape: char) -> &'t str {
    let blank = |c: char| c.is_whitespace() || c == escape;
    let mut rest = instruction.trim_start();
    rest = rest
        .get(keyword.len()..)
        .unwrap_or_default()
        .trim_start_matches(blank);
    while rest.starts_with("--") {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        rest = rest[end..].trim_start_matches(blank);
    }
    rest
}

/// The end of an instruction, including its continuation lines.
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

/// The documents that an instruction starts.
fn openings(instruction: &str) -> Vec<Opening> {
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
                let end = rest[2..].find(|c: char| c.is_whitespace() || ";|&><)".contains(c));
                let end = end.map_or(rest.len(), |end| end + 2);
                let word = rest[2..end]
                    .trim_start_matches('-')
                    .trim_matches(['\'', '"']);
                if word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                    found.push(Opening {
                        place: at..at + end,
                        delimiter: word.to_owned(),
                    });
                }
                at += end;
                continue;
            }
            None => {}
        }
        at += c.len_utf8();
    }
    found
}

/// The lines up to the delimiter, and the position after it.
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
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn documents_are_hidden() {
        let text = "FROM a\nRUN bash <<'EOF' && \\\n  true\npip install x\n\nüEOF\nEOF\nRUN b\n";
        let (hidden, found) = hide(text, '\\').unwrap();
        assert_eq!(hidden.len(), text.len());
        assert!(
            hidden.starts_with("FROM a\nRUN bash xxxxxxx &&"),
            "{hidden}"
        );
        assert!(
            hidden.ends_with("\n#############\n\n#####\n###\nRUN b\n"),
            "{hidden}"
        );
        assert_eq!(&text[found[0].body.clone()], "pip install x\n\nüEOF\n");
        assert_eq!(&text[found[0].instruction..found[0].instruction + 3], "RUN");
        assert!(!found[0].script);
    }

    #[test]
    fn documents_of_copy_and_leading_documents_are_hidden_too() {
        let text =
            "RUN --mount=type=cache \\\n  <<-\"E\"\n\ta\n\tE\nCOPY <<A <<B /x\nA\nb\nB\nRUN c\n";
        let (hidden, found) = hide(text, '\\').unwrap();
        assert_eq!(
            hidden,
            "RUN --mount=type=cache \\\n  xxxxxx\n##\n##\nCOPY xxx xxx /x\n#\n#\n#\nRUN c\n"
        );
        let documents: Vec<_> = found
            .iter()
            .map(|found| (found.delimiter.as_str(), found.script))
            .collect();
        assert_eq!(documents, [("E", true), ("A", false), ("B", false)]);
        assert!(text[found[2].instruction..].starts_with("COPY"));
        assert_eq!(&text[found[0].body.clone()], "\ta\n");
    }

    #[test]
    fn other_texts_are_unchanged() {
        for text in [
            "FROM a\nRUN x <<< EOF\nRUN '<<EOF'\n",
            "FROM a\nRUN bash <<EOF\nno end\n",
        ] {
            let (hidden, found) = hide(text, '\\').unwrap();
            assert_eq!((hidden.as_str(), found), (text, vec![]));
        }
    }

    #[test]
    fn documents_are_counted_before_they_are_searched() {
        let many = |count: usize| format!("FROM a\n{}", "RUN <<E\nx\nE\n".repeat(count));
        assert_eq!(
            hide(&many(MAX_DOCUMENTS), '\\').unwrap().1.len(),
            MAX_DOCUMENTS
        );
        let one_more = many(MAX_DOCUMENTS + 1);
        let place = hide(&one_more, '\\').unwrap_err();
        assert_eq!(place.start, one_more.rfind("<<E").unwrap());
        // Documents without an end count too.
        let open = format!("FROM a\n{}", "RUN <<A <<B <<C\n".repeat(60_000));
        assert!(hide(&open, '\\').is_err());
    }
}
