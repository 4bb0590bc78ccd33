//! The contents of images.

use super::heading::heading;
use super::style::{BOLD, field, line, separate, show, table};
use crate::details::{evidence_text, layer_text};
use crate::{Inspection, one_line, started};
use imgcheck_base::lexical::directory_of;
use imgcheck_model::stack::Component;

/// The components of images, each with its evidence.
pub fn facts(images: &[Inspection], width: Option<u16>) -> String {
    let mut out = String::new();
    for image in images {
        separate(&mut out);
        heading(&mut out, image, None, width);
        if let Some(chain) = started::chain(&image.launch) {
            field(&mut out, "starts", &chain, width);
        }
        for change in started::changes(&image.launch) {
            field(&mut out, "sets", &change, width);
        }
        line(&mut out, &stack_table(&image.stack, width));
        for it in image.stack.iter() {
            component(&mut out, it, image, width);
        }
        unidentified(&mut out, image, width);
    }
    out
}

/// The files with GPU code that no recipe knows and that are of no package in the stack.
fn unidentified(out: &mut String, image: &Inspection, width: Option<u16>) {
    let owned: Vec<String> = image.stack.iter().map(directory_of_package).collect();
    let is_known = |path: &str| owned.iter().any(|directory| path.starts_with(directory));
    let libraries = image.gpu.libraries.iter();
    let mut unknown = libraries
        .filter(|it| it.library.is_none() && !is_known(&it.path))
        .peekable();
    if unknown.peek().is_some() {
        line(
            out,
            &format!("\n{BOLD}GPU code of unknown libraries{BOLD:#}"),
        );
    }
    for library in unknown {
        let code = &library.coverage;
        let code: Vec<&str> = code
            .sass
            .iter()
            .chain(&code.ptx)
            .map(String::as_str)
            .collect();
        field(
            out,
            "file",
            &format!("{} ({})", library.path, code.join(" ")),
            width,
        );
    }
}

/// `…/site-packages/xformers/` of what is known by its metadata, `…/torchaudio/` of a file with its version, `…/torch/` of a directory.
fn directory_of_package(component: &Component) -> String {
    match component.path.rsplit_once('/') {
        Some((metadata, "METADATA" | "PKG-INFO")) => {
            format!(
                "{}/{}/",
                directory_of(metadata),
                component.name.replace('-', "_")
            )
        }
        Some((directory, "version.py")) => format!("{directory}/"),
        _ => format!("{}/", component.path),
    }
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
    show(table)
}

fn component(out: &mut String, component: &Component, facts: &Inspection, width: Option<u16>) {
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
        field(out, "layer", &layer_text(facts, layer), width);
    }
    for (name, value) in &component.details {
        field(out, "detail", &format!("{name}: {value}"), width);
    }
    for evidence in &component.evidence {
        field(
            out,
            "evidence",
            &evidence_text(evidence, Some(&component.path)),
            width,
        );
    }
}
