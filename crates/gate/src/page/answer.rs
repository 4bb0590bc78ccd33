//! A page as the answer to a request.

use std::sync::LazyLock;

use askama::Template;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use imgcheck_report::html::STYLE as REPORT_STYLE;
use imgcheck_report::printable;

/// The style sheet of the reports, and what the pages add to it.
pub static STYLE: LazyLock<String> =
    LazyLock::new(|| format!("{REPORT_STYLE}{}", include_str!("page.css")));

/// What a browser may do with a page: apply its style sheet, and send its form to this server.
static PAGE_POLICY: LazyLock<Option<HeaderValue>> = LazyLock::new(|| {
    // As `base.html` writes it.
    let element = format!("\n{}\n", *STYLE);
    let digest = STANDARD.encode(Sha256::digest(element.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{digest}'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    HeaderValue::from_str(&policy).ok()
});

/// The same for a report, whose bars and pictures have styles of their own.
const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/// A page with only a message.
#[derive(Template)]
#[template(path = "page/message.html")]
struct Message<'m> {
    version: &'static str,
    title: &'m str,
    style: &'m str,
    text: &'m str,
    /// Where else to look: an address and its words.
    link: (&'m str, &'m str),
}

/// A page with a message and a link to the overview.
pub fn message(status: StatusCode, title: &str, text: &str) -> Response {
    message_with_link(status, title, text, ("/", "All decisions"))
}

/// A page with a message and a link.
pub fn message_with_link(
    status: StatusCode,
    title: &str,
    text: &str,
    link: (&str, &str),
) -> Response {
    let message = Message {
        version: env!("CARGO_PKG_VERSION"),
        title,
        style: &STYLE,
        text,
        link,
    };
    page(status, &message)
}

/// A page of this module. Hidden characters are written as `\u{…}`.
pub fn page(status: StatusCode, template: &impl Template) -> Response {
    // Writing to a text cannot fail.
    let text = template.render().unwrap_or_default();
    let policy = PAGE_POLICY.clone();
    let policy = policy.unwrap_or_else(|| HeaderValue::from_static(REPORT_POLICY));
    answer(status, printable(&text), policy)
}

/// The HTML report of an image.
pub fn report(text: String) -> Response {
    answer(
        StatusCode::OK,
        text,
        HeaderValue::from_static(REPORT_POLICY),
    )
}

fn answer(status: StatusCode, text: String, policy: HeaderValue) -> Response {
    let mut response = (status, text).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [`printable`] is applied to whole pages, so it must not change the templates.
    #[test]
    fn the_templates_contain_nothing_that_is_escaped() {
        for part in [
            STYLE.as_str(),
            include_str!("message.html"),
            include_str!("overview.html"),
        ] {
            assert_eq!(printable(part), part);
        }
    }

    #[test]
    fn the_policy_allows_the_style_sheet_of_the_page() {
        let response = message(StatusCode::NOT_FOUND, "a <b>", "c & d");
        let policy = &response.headers()[CONTENT_SECURITY_POLICY];
        assert!(policy.to_str().is_ok_and(|it| it.contains("'sha256-")));
    }
}
