//! Text as HTML.

use std::fmt;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// HTML in which everything is escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

impl fmt::Display for Html {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Html {
    /// A generated SVG picture.
    pub fn of_picture(svg: String) -> Self {
        Html(svg)
    }
}

/// Escapes text for elements and double-quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A message as a heading: with a capital letter, unless it begins with a name, such as `libcudnn.so.9`, or with code.
pub(super) fn heading(message: &str) -> Html {
    let word = message.split([' ', ',', ':']).next().unwrap_or_default();
    let is_name = !word.bytes().all(|it| it.is_ascii_lowercase());
    match message.get(..1).filter(|_| !is_name) {
        Some(first) => rich(&format!("{}{}", first.to_uppercase(), &message[1..])),
        None => rich(message),
    }
}

/// A message or help; text between backticks becomes code.
pub(crate) fn rich(text: &str) -> Html {
    let pieces: Vec<&str> = text.trim_end().split('`').collect();
    let mut html = String::new();
    for (place, piece) in pieces.iter().enumerate() {
        let is_last = place + 1 == pieces.len();
        match place % 2 {
            // A backtick without a partner is literal.
            1 if is_last => html.push_str(&format!("`{}", escape(piece))),
            1 => html.push_str(&format!("<code>{}</code>", escape(piece))),
            _ => html.push_str(&escape(piece)),
        }
    }
    Html(html)
}

/// A rule's Markdown. Raw HTML becomes text, images are dropped, and only web links are kept.
pub(super) fn markdown(text: &str) -> Html {
    let mut is_open = Vec::new();
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).filter_map(|event| match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Some(Event::Text(raw)),
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
        Event::Start(Tag::Link { ref dest_url, .. }) => {
            let is_web = dest_url.starts_with("https://") || dest_url.starts_with("http://");
            is_open.push(is_web);
            is_web.then_some(event)
        }
        Event::End(TagEnd::Link) => is_open.pop().unwrap_or_default().then_some(event),
        other => Some(other),
    });
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, events);
    Html(html)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_marked_and_everything_is_escaped() {
        assert_eq!(
            rich("tag it `a<b`, or `2`").to_string(),
            "tag it <code>a&lt;b</code>, or <code>2</code>"
        );
        assert_eq!(rich("a ` b & c").to_string(), "a ` b &amp; c");
    }

    #[test]
    fn a_heading_starts_with_a_capital_letter_or_a_name() {
        for (message, expected) in [
            ("the tag claims", "The tag claims"),
            ("pip: not found", "Pip: not found"),
            ("cuDNN 9", "cuDNN 9"),
            ("libcudnn.so.9 is missing", "libcudnn.so.9 is missing"),
            ("`pip` fails", "<code>pip</code> fails"),
            ("über", "über"),
            ("", ""),
        ] {
            assert_eq!(heading(message).to_string(), expected);
        }
    }

    #[test]
    fn markdown_of_a_rule_contains_no_html_images_or_scripts() {
        let html = markdown(
            "a <script>x</script> **b** ![p](https://x/y.png) [c](javascript:alert(1)) [d](https://e/)",
        );
        let html = html.to_string();
        assert!(
            html.contains("&lt;script&gt;") && html.contains("<strong>b</strong>"),
            "{html}"
        );
        assert!(
            !html.contains("<img") && !html.contains("javascript:"),
            "{html}"
        );
        assert!(html.contains(r#"<a href="https://e/">d</a>"#), "{html}");
    }
}
