//! A page in Markdown for a terminal.

use super::style::BOLD;
use super::wrap::wrap;
use crate::printable;

/// The width of a page that is not shown by a terminal.
const OF_A_FILE: u16 = 80;

/// Headings in bold, prose within the width of the terminal, blocks as they are. `None` for a width that is unknown.
pub fn page(markdown: &str, width: Option<u16>) -> String {
    let width = width.unwrap_or(OF_A_FILE);
    let mut out = String::new();
    let mut prose: Vec<&str> = Vec::new();
    let mut is_block = false;
    let text = printable(markdown);
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        let is_prose = !is_block && !is_fence && !line.is_empty() && !line.starts_with(['#', '|']);
        let is_item = line.starts_with("- ");
        if !is_prose || is_item {
            flush(&mut out, &mut prose, width);
        }
        is_block ^= is_fence;
        match line {
            _ if is_prose => prose.push(line),
            _ if is_fence => {}
            _ if is_block => out.push_str(&format!("    {line}\n")),
            _ if line.starts_with('#') => {
                let title = line.trim_start_matches(['#', ' ']);
                out.push_str(&format!("{BOLD}{title}{BOLD:#}\n"));
            }
            _ => out.push_str(&format!("{line}\n")),
        }
    }
    flush(&mut out, &mut prose, width);
    out
}

/// Writes the lines of a paragraph or list item.
fn flush(out: &mut String, prose: &mut Vec<&str>, width: u16) {
    let Some(first) = prose.first() else {
        return;
    };
    let indent = if first.starts_with("- ") { 2 } else { 0 };
    let lines: Vec<&str> = prose.iter().map(|line| line.trim()).collect();
    let text = lines.join(" ");
    let text = text.strip_prefix("- ").unwrap_or(&text);
    let bullet = if indent > 0 { "- " } else { "" };
    out.push_str(&format!("{bullet}{}\n", wrap(text, indent, Some(width))));
    prose.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_wrapped_and_blocks_are_kept() {
        let markdown = "# id\n\none two\nthree four\n\n```console\na long line that stays\n```\n\n- five six seven\n- eight\n";
        let plain = anstream::adapter::strip_str(&page(markdown, Some(10))).to_string();
        assert_eq!(
            plain,
            "id\n\none two\nthree four\n\n    a long line that stays\n\n- five six\n  seven\n- eight\n"
        );
    }
}
