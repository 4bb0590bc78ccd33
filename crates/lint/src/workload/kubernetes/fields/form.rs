//! How texts must be written: names of ports, paths, labels, schedules.
//!
//! Source: kubernetes/apimachinery, `pkg/util/validation/validation.go`; kubernetes/kubernetes, `validateLocalDescendingPath` in
//! `pkg/apis/core/validation/validation.go`; github.com/robfig/cron/v3, `parser.go`.

use serde::Deserialize;

use super::refusal::Refusal;
use super::scalar::{Kind, number};
use super::schedule;
use crate::workload::kubernetes::quantity::Quantity;
use crate::workload::text::{LONGEST_LABEL, is_final, is_label, is_name};
use imgcheck_base::document::Node;

/// The longest name of a port.
const LONGEST_PORT: usize = 15;
/// The highest number of a port.
const LAST_PORT: u32 = 65535;
/// All permission bits.
const MODES: u32 = 0o777;

/// A form of a text, or of the keys and values of a map.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Form {
    Annotations,
    Labels,
    Mode,
    Path,
    Percent,
    Port,
    PortName,
    Quantity,
    Schedule,
    Variable,
}

impl Form {
    /// What is refused of a value.
    pub fn refused<'n>(self, node: &'n Node, kind: Kind) -> Vec<Refusal<'n>> {
        match self {
            Form::Annotations => entries(node, |_| None),
            Form::Labels => entries(node, label_value),
            _ => {
                let text = node.text().filter(|it| !it.is_empty() && is_final(it));
                let says = text.and_then(|it| self.says(it, node, kind));
                let refusal = says.map(|it| (String::new(), node, it));
                refusal.into_iter().collect()
            }
        }
    }

    fn says(self, text: &str, node: &Node, kind: Kind) -> Option<String> {
        match self {
            Form::Mode => (number(node) > Some(MODES))
                .then(|| "must be a number between 0 and 0777 (octal), both inclusive".to_owned()),
            Form::Path => path(text),
            Form::Percent => {
                let is_percent = text.strip_suffix('%').is_some_and(is_digits);
                (kind == Kind::Text && !is_percent).then(|| {
                    "must be a number without quotes, or a percentage such as 25%".to_owned()
                })
            }
            Form::Port => match text.parse::<u32>() {
                Ok(number) => (!(1..=LAST_PORT).contains(&number))
                    .then(|| format!("must be between 1 and {LAST_PORT}, inclusive")),
                Err(_) => port_name(text),
            },
            Form::PortName => port_name(text),
            Form::Quantity => Quantity::parse(text)
                .is_err()
                .then(|| "quantities must have a suffix such as Gi or M, or none".to_owned()),
            Form::Schedule => schedule::wrong(text),
            Form::Variable => text
                .contains('=')
                .then(|| "must consist only of printable characters other than '='".to_owned()),
            Form::Annotations | Form::Labels => None,
        }
    }
}

/// What is refused of the keys of a map, which are qualified names, and of its values.
fn entries<'n>(node: &'n Node, value_says: impl Fn(&str) -> Option<String>) -> Vec<Refusal<'n>> {
    let entries = node.entries().filter_map(|(key, value)| {
        let name = key.text().filter(|it| is_final(it))?;
        let own = |says: String| (format!(".{name}"), value, says);
        if !is_qualified(name) {
            let says = "the key must be a name of at most 63 letters, digits, '-', '_' and '.', with an optional domain and '/' in front";
            return Some(own(says.to_owned()));
        }
        let text = value.text().filter(|it| is_final(it))?;
        value_says(text).map(own)
    });
    entries.collect()
}

/// `IsQualifiedName`.
fn is_qualified(key: &str) -> bool {
    let (domain, name) = key.split_once('/').unwrap_or(("x", key));
    // Annotations are compared in lower case.
    let domain = domain.to_ascii_lowercase();
    is_name(name) && domain.split('.').all(is_label)
}

/// `IsValidLabelValue`.
fn label_value(text: &str) -> Option<String> {
    if text.len() > LONGEST_LABEL {
        return Some(format!("must be no more than {LONGEST_LABEL} characters"));
    }
    (!text.is_empty() && !is_name(text)).then(|| {
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character".to_owned()
    })
}

/// `IsValidPortName`.
fn port_name(text: &str) -> Option<String> {
    if text.len() > LONGEST_PORT {
        return Some(format!("must be no more than {LONGEST_PORT} characters"));
    }
    let has_letter = text.contains(|c: char| c.is_ascii_lowercase());
    (!is_label(text) || !has_letter || text.contains("--")).then(|| {
        "must contain only lower case letters, digits and single '-', at least one letter, and no '-' at an end".to_owned()
    })
}

/// `validateLocalDescendingPath`.
fn path(text: &str) -> Option<String> {
    let says = match text {
        it if it.starts_with('/') => "must be a relative path",
        it if it.split('/').any(|part| part == "..") => "must not contain '..'",
        _ => return None,
    };
    Some(says.to_owned())
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|it| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_names_are_those_of_kubernetes() {
        let long = "a".repeat(64);
        for text in ["", "a", "2.8.0-cuda12.8_x", "NVIDIA-A100"] {
            assert_eq!(label_value(text), None, "{text}");
        }
        for text in ["-a", "a-", "NVIDIA A100", "a/b", "a:b", &long] {
            assert!(label_value(text).is_some(), "{text}");
        }
        for key in ["app", "app.kubernetes.io/name", "prometheus.io/scrape"] {
            assert!(is_qualified(key), "{key}");
        }
        for key in ["", "a b", "/x", "a/", "-a", "a/b/c", "_x/y"] {
            assert!(!is_qualified(key), "{key}");
        }
        for name in ["http", "grpc-8001", "8000a"] {
            assert_eq!(port_name(name), None, "{name}");
        }
        for name in ["tensorboard-metrics", "8000", "a--b", "HTTP", "-a"] {
            assert!(port_name(name).is_some(), "{name}");
        }
    }
}
