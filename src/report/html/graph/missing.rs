//! What could not be loaded.

use std::collections::BTreeMap;

use super::faults::add_note;
use super::model::{Asker, Builder, Mark, Row};
use super::place::{Column, Kind, Place, directory_of, file_name, normal_path, short_directory};
use crate::process::facts::Missing;
use crate::process::tree::Failed;

/// So many missing libraries are drawn.
const MISSING: usize = 40;

/// What could not be loaded: dashed cards beside those who ask, or dashed rows of the library that they are a part of.
pub(super) fn missing(builder: &mut Builder) {
    let process = builder.process;
    let mut by_library: BTreeMap<&str, Vec<&Failed>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for failure in &process.failures {
        let same = by_library.entry(&failure.library).or_default();
        if same.is_empty() {
            order.push(&failure.library);
        }
        same.push(failure);
    }
    let mut drawn = 0;
    for library in order {
        let failures = &by_library[library];
        let known = known(builder, library);
        let is_optional = failures.iter().all(|failure| failure.optional)
            && !known.is_some_and(|it| matches!(it.place.without.as_str(), "gpu" | "package"));
        if !is_optional && drawn >= MISSING {
            builder.graph.left_out += 1;
            continue;
        }
        drawn += usize::from(!is_optional);
        if !is_optional {
            failures
                .iter()
                .for_each(|failure| add_asker(builder, failure));
        }
        add_missing(builder, library, failures, is_optional);
    }
}

/// What the facts tell of a missing library.
fn known<'a>(builder: &Builder<'a>, library: &str) -> Option<&'a Missing> {
    let missing = builder.about.loader.map(|loader| &loader.missing);
    let mut missing = missing.into_iter().flatten();
    missing.find(|it| it.place.process == builder.process.name && it.library == library)
}

fn add_missing(builder: &mut Builder, library: &str, failures: &[&Failed], is_optional: bool) {
    let Some(failure) = failures.first() else {
        return;
    };
    let outcome = outcome(builder, library);
    let place = missing_place(builder, failure, outcome, is_optional);
    let is_part = matches!(place.kind, Kind::Set(_));
    let Some(card) = builder.card(place) else {
        return;
    };
    let askers = failures.iter().map(|failure| Asker {
        path: failure.needed_by.clone(),
        package: failure.package.clone(),
    });
    let mark = match is_optional {
        true => Mark::Ghost,
        false => Mark::Missing,
    };
    let mut row = Row {
        label: file_name(library).to_owned(),
        tooltip: tooltip(failure),
        mark,
        askers: askers.collect(),
        ..Row::default()
    };
    if library.contains('/') {
        row.unloaded = library.to_owned();
        add_note(&mut row, said(&failure.message));
    } else if is_part {
        add_note(&mut row, outcome);
    } else if is_optional {
        add_note(&mut row, &asked_by(failure));
    }
    if let Some(other) = failure.others.first().filter(|_| !is_optional) {
        let directory = short_directory(directory_of(other));
        add_note(&mut row, &format!("there is one in {directory}"));
    }
    let card = &mut builder.graph.cards[card];
    card.rows.push(row);
    card.mark = card.mark.max(mark);
}

/// The card of what is missing: that of the library it is a part of, or one for all that one file asks for.
fn missing_place(builder: &Builder, failure: &Failed, outcome: &str, is_optional: bool) -> Place {
    if is_optional {
        return Place {
            kind: Kind::Optional,
            column: Column::Packages,
            title: "not there, and optional".to_owned(),
            origin: String::new(),
        };
    }
    if let Some(set) = set_of(builder, file_name(&failure.library)) {
        return set;
    }
    let key = [outcome, &failure.needed_by, &failure.package].join("\n");
    Place {
        kind: Kind::Missing(key),
        column: column_beside(builder, &failure.needed_by),
        title: outcome.to_owned(),
        origin: asked_by(failure),
    }
}

/// Who asks first.
fn asked_by(failure: &Failed) -> String {
    let who = match failure.needed_by.as_str() {
        "" if failure.package.is_empty() => "the program",
        "" => return format!("asked for by import {}", failure.package),
        path => file_name(path),
    };
    format!("asked for by {who}")
}

/// The loader's message without the names of files, which are drawn.
fn said(message: &str) -> &str {
    let said = message.split_once(": ").map_or(message, |(_, said)| said);
    said.split(" (required by").next().unwrap_or(said)
}

/// A file that is not mapped because of what it needs, beside those of its directory.
fn add_asker(builder: &mut Builder, failure: &Failed) {
    let path = failure.needed_by.as_str();
    let is_shown = |row: &Row| row.unloaded == path;
    let cards = &builder.graph.cards;
    let is_known = cards.iter().flat_map(|card| &card.rows).any(is_shown);
    if path.is_empty() || is_known || builder.object(path).is_some() {
        return;
    }
    let finding = builder
        .about
        .findings
        .iter()
        .position(|finding| finding.path.as_deref() == Some(path));
    let directory = normal_path(path);
    let directory = directory_of(&directory);
    let mut cards = builder.graph.cards.iter_mut();
    if let Some(card) = cards.find(|card| card.place.origin == directory) {
        card.rows.push(Row {
            label: file_name(path).to_owned(),
            note: "cannot be loaded".to_owned(),
            tooltip: format!("{path}\n{}", failure.message),
            mark: Mark::Error,
            unloaded: path.to_owned(),
            finding,
            ..Row::default()
        });
    }
}

/// How it fails, in two or three words.
fn outcome(builder: &Builder, library: &str) -> &'static str {
    match known(builder, library) {
        Some(missing) if !missing.broken.is_empty() => "cannot be used",
        Some(missing) if !missing.wrong_machine.is_empty() => "for another machine",
        _ if library.contains('/') => "cannot be loaded",
        _ => "not found",
    }
}

fn tooltip(failure: &Failed) -> String {
    let mut text = failure.message.clone();
    for place in &failure.searched {
        text.push_str(&format!("\nnot in {} ({})", place.place, place.reason));
    }
    for other in &failure.others {
        text.push_str(&format!("\nthere is {other}"));
    }
    text
}

/// The card of the library that a missing file is a part of, by its name.
fn set_of(builder: &Builder, name: &str) -> Option<Place> {
    let cards = builder.graph.cards.iter();
    let mut sets = cards.filter_map(|card| match &card.place.kind {
        Kind::Set(library) => Some((library, &card.place)),
        _ => None,
    });
    sets.find(|(library, _)| name.starts_with(&format!("lib{library}")))
        .map(|(_, place)| place.clone())
}

/// The column right of the one who asks.
fn column_beside(builder: &Builder, asker: &str) -> Column {
    let object = builder.object(asker);
    let end = object.and_then(|object| builder.row_of.get(&object));
    let mut cards = builder.graph.cards.iter();
    let unloaded = cards.find(|card| card.rows.iter().any(|row| row.unloaded == asker));
    let card = end.map(|end| &builder.graph.cards[end.card]);
    match card
        .or(unloaded.filter(|_| !asker.is_empty()))
        .map(|card| card.place.column)
    {
        Some(Column::Packages | Column::Cuda) => Column::Cuda,
        _ => Column::Packages,
    }
}
