//! The contents of images.

use super::heading::heading;
use super::style::{BOLD, field, line, separate, table};
use crate::report::details::{evidence_text, layer_text};
use crate::report::{Inspection, one_line, started};
use crate::stack::Component;

/// The components of images, each with its evidence.
pub fn facts(images: &[Inspection], width: Option<u16>) -> String {
    let mut out = String::new();
    for image in images {
        separate(&mut out);
        heading(&mut out, image, None, None);
        if let Some(chain) = started::chain(&image.launch) {
            field(&mut out, "starts", &chain);
        }
        for change in started::changes(&image.launch) {
            field(&mut out, "sets", &change);
        }
        line(&mut out, &stack_table(&image.stack, width));
        for it in image.stack.iter() {
            component(&mut out, it, image);
        }
    }
    out
}

fn stack_table(stack: &[Component], width: Option<u16>) -> String {
    let mut table = table(width, &["", "VERSION", "LAYER", "PATH"]);
    for component in stack {
        let layer = component
            .layer
            .map_or_else(String::new, |layer| layer.to_string());
        let marker = if component.loaded {
            ""
        } else {
            " (not loaded)"
        };
        table.add_row([
            format!("{}{marker}", one_line(&component.name)),
            one_line(&component.version),
            layer,
            one_line(&component.path),
        ]);
    }
    table.trim_fmt()
}

fn component(out: &mut String, component: &Component, facts: &Inspection) {
    line(
        out,
        &format!(
            "\n{BOLD}{} {}{BOLD:#}  {}",
            one_line(&component.name),
            one_line(&component.version),
            one_line(&component.path)
        ),
    );
    if let Some(layer) = component.layer {
        field(out, "layer", &layer_text(facts, layer));
    }
    for (name, value) in &component.details {
        field(out, "detail", &format!("{name}: {value}"));
    }
    for evidence in &component.evidence {
        field(
            out,
            "evidence",
            &evidence_text(evidence, Some(&component.path)),
        );
    }
}
