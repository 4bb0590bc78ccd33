//! A page for each rule, made from its file: `imgcheck rules show ID`, and the book.

/// Where the page of a rule is.
pub fn url(id: &str) -> String {
    format!("https://github.com/imgcheck/imgcheck/blob/main/docs/src/rules/{id}.md")
}
