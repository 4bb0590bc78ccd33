//! Libraries that could not be loaded.

use std::collections::BTreeMap;

use super::builder::Builder;
use super::model::{Mark, Requester, Row};
use super::placement::{
    CardKind, Column, LoadFailure, Placement, directory_of, normal_path, short_directory,
};
use imgcheck_base::lexical::name_of;
use imgcheck_model::process::facts::Missing;
use imgcheck_model::process::tree::FailedLoad;

/// How many missing libraries are drawn.
const MISSING: usize = 40;

/// Adds libraries that could not be loaded: as dashed cards beside the files that need them, or as dashed rows on the card of
/// the library that they belong to.
pub(super) fn missing(builder: &mut Builder) {
    let process = builder.process;
    let mut by_library: BTreeMap<&str, Vec<&FailedLoad>> = BTreeMap::new();
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
            && !known.is_some_and(|it| it.context.without.is_serious());
        if !is_optional && drawn >= MISSING {
            builder.graph.left_out += 1;
            continue;
        }
        drawn += usize::from(!is_optional);
        if !is_optional {
            failures
                .iter()
                .for_each(|failure| add_unloaded(builder, failure));
        }
        add_missing(builder, library, failures, is_optional);
    }
}

/// The facts about a missing library.
fn known<'a>(builder: &Builder<'a>, library: &str) -> Option<&'a Missing> {
    let mut missing = builder.own(|it| &it.missing, |it| &it.context.process);
    missing.find(|it| it.library == library)
}

fn add_missing(builder: &mut Builder, library: &str, failures: &[&FailedLoad], is_optional: bool) {
    let Some(failure) = failures.first() else {
        return;
    };
    let reason = load_failure(builder, library);
    if let Some(row) = builder.row(library) {
        // Mapped, and unmapped again.
        row.mark = Mark::Missing;
        row.failure = Some(reason);
        row.add_note(without_file_names(&failure.message));
        return;
    }
    let placement = placement(builder, failure, reason, is_optional);
    let is_part = matches!(placement.kind, CardKind::Set(_));
    let Some(card) = builder.card(placement) else {
        return;
    };
    let requesters = failures.iter().map(|failure| Requester {
        path: failure.needed_by.clone(),
        package: failure.package.clone(),
    });
    let mark = match is_optional {
        true => Mark::Ghost,
        false => Mark::Missing,
    };
    let mut row = Row {
        label: name_of(library).to_owned(),
        tooltip: tooltip(failure),
        mark,
        failure: Some(reason),
        requesters: requesters.collect(),
        ..Row::default()
    };
    if library.contains('/') {
        row.unloaded = library.to_owned();
        row.add_note(without_file_names(&failure.message));
    } else if is_part {
        row.add_note(reason.text());
    } else if is_optional {
        row.add_note(&needed_by(failure));
    }
    if let Some(other) = failure.others.first().filter(|_| !is_optional) {
        let directory = short_directory(directory_of(other));
        row.add_note(&format!("there is a copy in {directory}"));
    }
    let card = &mut builder.graph.cards[card];
    card.rows.push(row);
    card.mark = card.mark.max(mark);
}

/// The card of a missing library: that of the library it is a part of, or one for everything that a file lacks.
fn placement(
    builder: &Builder,
    failure: &FailedLoad,
    reason: LoadFailure,
    is_optional: bool,
) -> Placement {
    if is_optional {
        return Placement {
            kind: CardKind::Optional,
            column: Column::Packages,
            title: "missing, but optional".to_owned(),
            origin: String::new(),
        };
    }
    if let Some(set) = set_of(builder, name_of(&failure.library)) {
        return set;
    }
    Placement {
        kind: CardKind::Missing {
            reason,
            needed_by: failure.needed_by.clone(),
            package: failure.package.clone(),
        },
        column: column_beside(builder, &failure.needed_by),
        title: reason.text().to_owned(),
        origin: needed_by(failure),
    }
}

/// The file or import that needs the library.
fn needed_by(failure: &FailedLoad) -> String {
    match failure.needed_by.as_str() {
        "" if failure.package.is_empty() => "needed by the program".to_owned(),
        "" => format!("needed by import {}", failure.package),
        path => format!("needed by {}", name_of(path)),
    }
}

/// Shortens the loader's message for the picture, which shows the file names anyway.
fn without_file_names(message: &str) -> &str {
    let text = message.split_once(": ").map_or(message, |(_, text)| text);
    text.split(" (required by").next().unwrap_or(text)
}

/// Adds a file that cannot be loaded because of a missing library, to the card of its directory.
fn add_unloaded(builder: &mut Builder, failure: &FailedLoad) {
    let path = failure.needed_by.as_str();
    let is_shown = |row: &Row| row.unloaded == path;
    let cards = &builder.graph.cards;
    let is_known = cards.iter().flat_map(|card| &card.rows).any(is_shown);
    if path.is_empty() || is_known {
        return;
    }
    if let Some(object) = builder.object(path) {
        if builder.process.objects[object].unmapped {
            builder.mark(path, Mark::Error, "cannot be loaded");
        }
        return;
    }
    let finding = builder
        .image
        .findings
        .iter()
        .position(|finding| finding.path.as_deref() == Some(path));
    let directory = normal_path(path);
    let directory = directory_of(&directory);
    let mut cards = builder.graph.cards.iter_mut();
    if let Some(card) = cards.find(|card| card.placement.origin == directory) {
        card.rows.push(Row {
            label: name_of(path).to_owned(),
            note: "cannot be loaded".to_owned(),
            tooltip: format!("{path}\n{}", failure.message),
            mark: Mark::Error,
            unloaded: path.to_owned(),
            finding,
            ..Row::default()
        });
    }
}

/// Why a library could not be loaded.
fn load_failure(builder: &Builder, library: &str) -> LoadFailure {
    match known(builder, library) {
        Some(missing) if !missing.broken.is_empty() => LoadFailure::Unusable,
        Some(missing) if !missing.wrong_machine.is_empty() => LoadFailure::WrongArchitecture,
        _ if library.contains('/') => LoadFailure::Unloadable,
        _ => LoadFailure::NotFound,
    }
}

fn tooltip(failure: &FailedLoad) -> String {
    let mut text = failure.message.clone();
    for place in &failure.searched {
        text.push_str(&format!("\nnot in {} ({})", place.place, place.reason));
    }
    for other in &failure.others {
        text.push_str(&format!("\nother copy: {other}"));
    }
    text
}

/// The card of the library that a missing file is a part of, by its name.
fn set_of(builder: &Builder, name: &str) -> Option<Placement> {
    let cards = builder.graph.cards.iter();
    let mut sets = cards.filter_map(|card| match &card.placement.kind {
        CardKind::Set(library) => Some((library, &card.placement)),
        _ => None,
    });
    sets.find(|(library, _)| name.starts_with(&format!("lib{library}")))
        .map(|(_, place)| place.clone())
}

/// The column to the right of the file that needs the library.
fn column_beside(builder: &Builder, requester: &str) -> Column {
    let object = builder.object(requester);
    let end = object.and_then(|object| builder.row_of.get(&object));
    let mut cards = builder.graph.cards.iter();
    let unloaded = cards.find(|card| card.rows.iter().any(|row| row.unloaded == requester));
    let card = end.map(|end| &builder.graph.cards[end.card]);
    match card
        .or(unloaded.filter(|_| !requester.is_empty()))
        .map(|card| card.placement.column)
    {
        Some(Column::Packages | Column::Cuda) => Column::Cuda,
        _ => Column::Packages,
    }
}
