//! The picture of one process: what it loads, from where, and at once what is missing, shadowed or mixed.
//!
//! The tree of a process becomes a [`model`] (cards with rows, links), that gets its [`layout`], and that becomes [`svg`].

mod faults;
mod fold;
mod layout;
mod links;
mod missing;
mod model;
mod place;
mod svg;
#[cfg(test)]
mod tests;

use crate::finding::Finding;
use crate::process::LoaderFacts;
use crate::process::tree::ProcessTree;
use model::{About, Graph, Mark};
use place::Kind;

/// A picture, and in words what is to be seen in it.
#[derive(Debug)]
pub(super) struct Picture {
    /// The SVG element.
    pub svg: String,
    /// What is wrong; empty if nothing is missing, shadowed or mixed.
    pub faults: Vec<Fault>,
    /// How many files and faults are left out, because there are too many.
    pub left_out: usize,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// `missing`, `shadowed`, `mixed` or `fails`.
    pub kind: &'static str,
    /// What it is about.
    pub text: String,
}

/// Draws a process. `name` begins the ids of the picture, `finding` those of the findings that it leads to.
pub(super) fn picture(
    process: &ProcessTree,
    loader: Option<&LoaderFacts>,
    findings: &[Finding],
    name: &str,
    finding: &str,
) -> Picture {
    let graph = model::build(process, About { loader, findings });
    let faults = told(&graph);
    let words: Vec<String> = faults
        .iter()
        .map(|fault| format!("{}: {}.", fault.kind, fault.text))
        .collect();
    let description = format!(
        "{} files on {} cards. {}",
        process.objects.len(),
        graph.cards.len(),
        match words.is_empty() {
            true => "Nothing is missing, shadowed or mixed.".to_owned(),
            false => words.join(" "),
        }
    );
    let title = format!(
        "What {} loads, from the program to the CUDA libraries",
        process.name
    );
    let layout = layout::layout(&graph);
    Picture {
        svg: svg::draw(&graph, &layout, name, &title, &description, finding),
        faults,
        left_out: graph.left_out,
    }
}

/// What is wrong, in words.
fn told(graph: &Graph) -> Vec<Fault> {
    let mut texts: Vec<(&'static str, Vec<String>)> = ["missing", "mixed", "shadowed", "fails"]
        .map(|kind| (kind, Vec::new()))
        .to_vec();
    let mut tell = |kind, text: String| {
        let known = texts.iter_mut().find(|(known, _)| *known == kind);
        if let Some((_, texts)) = known.filter(|(_, texts)| !texts.contains(&text)) {
            texts.push(text);
        }
    };
    for card in &graph.cards {
        for row in card.rows.iter().filter(|row| row.mark == Mark::Missing) {
            let kind = match card.place.title.as_str() {
                "cannot be used" | "cannot be loaded" | "for another machine" => "fails",
                _ => "missing",
            };
            tell(kind, row.label.clone());
        }
        match &card.place.kind {
            Kind::Shadowed(directory) => {
                let files: Vec<&str> = card.rows.iter().map(|row| row.label.as_str()).collect();
                let files = match files.as_slice() {
                    [one] => (*one).to_owned(),
                    several => format!("{} files", several.len()),
                };
                let directory = place::short_directory(directory);
                tell(
                    "shadowed",
                    format!("{files} of {directory}, {}", card.footer),
                );
            }
            Kind::Set(_) if card.badge == "mixed" => {
                let what = card.footer.trim_start_matches("mixed: ");
                tell("mixed", format!("{} {what}", card.place.title));
            }
            Kind::Import(package) if card.mark == Mark::Error => {
                tell("fails", format!("import {package}"))
            }
            _ => {}
        }
    }
    let told = texts.into_iter().filter(|(_, texts)| !texts.is_empty());
    told.map(|(kind, texts)| Fault {
        kind,
        text: texts.join(", "),
    })
    .collect()
}
