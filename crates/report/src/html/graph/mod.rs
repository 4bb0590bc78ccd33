//! The picture of one process: what it loads and from where, and what is missing, shadowed or mixed.
//!
//! A [`builder`] turns the tree of a process into a [`model`] (cards with rows, links), which gets a [`layout`] and becomes
//! [`svg`].

mod builder;
mod faults;
mod fold;
mod layout;
mod links;
mod missing;
mod model;
mod placement;
mod svg;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use builder::{Builder, ImageContext};
use imgcheck_model::finding::Finding;
use imgcheck_model::process::LoaderFacts;
use imgcheck_model::process::tree::ProcessTree;
use model::{Graph, Mark};
use placement::{CardKind, LoadFailure};

/// A picture, and its faults in words.
#[derive(Debug)]
pub(super) struct Picture {
    /// The SVG element.
    pub svg: String,
    /// What is wrong; empty if nothing is missing, shadowed or mixed.
    pub faults: Vec<Fault>,
    /// How many files and failures are not drawn, because there are too many.
    pub left_out: usize,
}

/// All faults of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub kind: FaultKind,
    /// The files or libraries, joined by commas.
    pub text: String,
}

/// What is wrong with a library. Its name is also the CSS class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FaultKind {
    /// It was not found.
    Missing,
    /// Its files have different versions or origins.
    Mixed,
    /// Another copy is loaded instead.
    Shadowed,
    /// It was found but cannot be loaded, or an import fails.
    Fails,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            FaultKind::Missing => "missing",
            FaultKind::Mixed => "mixed",
            FaultKind::Shadowed => "shadowed",
            FaultKind::Fails => "fails",
        })
    }
}

/// Draws a process. `name` is the prefix of the ids in the picture, `finding` that of the findings it links to.
pub(super) fn picture(
    process: &ProcessTree,
    loader: Option<&LoaderFacts>,
    findings: &[Finding],
    name: &str,
    finding: &str,
) -> Picture {
    let graph = build(process, ImageContext { loader, findings });
    let faults = faults_of(&graph);
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

/// The content of the picture.
fn build(process: &ProcessTree, image: ImageContext) -> Graph {
    let mut builder = Builder::new(process, image);
    faults::findings(&mut builder);
    faults::headings(&mut builder);
    missing::missing(&mut builder);
    faults::shadowed(&mut builder);
    faults::versions(&mut builder);
    faults::name_rules(&mut builder);
    fold::fold(&mut builder);
    builder.sort();
    links::add(&mut builder);
    builder.graph
}

/// The faults of a picture, by kind.
fn faults_of(graph: &Graph) -> Vec<Fault> {
    let mut texts: BTreeMap<FaultKind, Vec<String>> = BTreeMap::new();
    let mut add = |kind, text: String| {
        let texts = texts.entry(kind).or_default();
        if !texts.contains(&text) {
            texts.push(text);
        }
    };
    for card in &graph.cards {
        for row in card.rows.iter().filter(|row| row.mark == Mark::Missing) {
            let kind = match row.failure {
                None | Some(LoadFailure::NotFound) => FaultKind::Missing,
                Some(_) => FaultKind::Fails,
            };
            add(kind, row.label.clone());
        }
        match (&card.placement.kind, &card.mixture) {
            (CardKind::Shadowed(directory), _) => {
                let files = match card.rows.as_slice() {
                    [one] => one.label.clone(),
                    several => format!("{} files", several.len()),
                };
                let directory = placement::short_directory(directory);
                let text = format!("{files} in {directory}, {}", card.footer);
                add(FaultKind::Shadowed, text);
            }
            (CardKind::Set(_), Some(mixture)) => {
                add(
                    FaultKind::Mixed,
                    format!("{} {mixture}", card.placement.title),
                );
            }
            (CardKind::Import(package), _) if card.mark == Mark::Error => {
                add(FaultKind::Fails, format!("import {package}"));
            }
            _ => {}
        }
    }
    let faults = texts.into_iter().map(|(kind, texts)| Fault {
        kind,
        text: texts.join(", "),
    });
    faults.collect()
}
