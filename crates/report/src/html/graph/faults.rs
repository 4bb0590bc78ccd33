//! Faults of files that exist: findings, parts that do not belong together, shadowed copies.

use super::builder::Builder;
use super::model::{Card, Mark, Mixture, Row};
use super::placement::{CardKind, Placement, directory_of, short_directory};
use imgcheck_base::lexical::name_of;
use imgcheck_model::process::tree::ProcessTree;

/// Marks the files that findings mention.
pub(super) fn findings(builder: &mut Builder) {
    for (place, finding) in builder.image.findings.iter().enumerate() {
        let Some(path) = &finding.path else { continue };
        let Some(row) = builder.row(path) else {
            continue;
        };
        // The worst finding comes first.
        row.finding.get_or_insert(place);
        row.mark = row.mark.max(finding.severity.into());
        row.tooltip
            .push_str(&format!("\n{}: {}", finding.rule, finding.message));
    }
}

/// Marks files that lack a required symbol version.
pub(super) fn versions(builder: &mut Builder) {
    let unmet = builder.own(|it| &it.unmet_versions, |it| &it.context.process);
    for unmet in unmet.filter(|it| !it.context.optional) {
        let note = format!("lacks {}", unmet.version);
        builder.mark(&unmet.provider.path, Mark::Error, &note);
    }
}

/// Names the rule on rows that have no other note.
pub(super) fn name_rules(builder: &mut Builder) {
    let findings = builder.image.findings;
    let cards = builder.graph.cards.iter_mut();
    for row in cards.flat_map(|card| &mut card.rows) {
        let finding = row.finding.and_then(|place| findings.get(place));
        if let Some(finding) = finding.filter(|_| row.note.is_empty()) {
            row.note = finding.rule.clone();
        }
    }
}

/// Versions of whole cards, and files that differ from them.
pub(super) fn headings(builder: &mut Builder) {
    let process = builder.process;
    for card in &mut builder.graph.cards {
        match &card.placement.kind {
            CardKind::Set(_) => set(process, card),
            CardKind::Cuda(_) => {
                let objects = card.rows.iter().flat_map(|row| &row.objects);
                let majors = objects.map(|&it| process.objects[it].facts.cuda.as_str());
                match distinct(majors.filter(|major| !major.is_empty())).as_slice() {
                    [major] => card.badge = format!("CUDA {major}"),
                    [] => {}
                    several => card.footer = format!("CUDA {}", several.join(" and ")),
                }
            }
            CardKind::Package(name) => {
                let imports = process.imports.iter();
                let mut own = imports
                    .filter(|it| it.package.replace('-', "_") == *name)
                    .map(|it| it.version.clone());
                card.badge = own.next_back().unwrap_or_default();
                let badge = card.badge.clone();
                let same = card.rows.iter_mut().filter(|row| row.version == badge);
                same.for_each(|row| row.version.clear());
            }
            _ => {}
        }
    }
}

/// The files of one library: marks those whose version or directory differs from that of the first.
fn set(process: &ProcessTree, card: &mut Card) {
    let facts = |row: &Row| row.objects.first().map(|&it| &process.objects[it].facts);
    let from = |row: &Row| {
        facts(row)
            .map_or("", |it| directory_of(&it.path))
            .to_owned()
    };
    let origin = card.rows.first().map(from).unwrap_or_default();
    let versions = card.rows.iter().map(|row| row.version.clone());
    let versions: Vec<String> = versions.filter(|version| !version.is_empty()).collect();
    let usual = versions.first().cloned().unwrap_or_default();
    let are_mixed = versions.iter().any(|version| *version != usual);
    let worst = card
        .rows
        .iter()
        .map(|row| row.mark)
        .max()
        .unwrap_or_default();
    let mark = worst.max(Mark::Warning);
    for row in &mut card.rows {
        let reason = facts(row).map_or("", |it| it.reason.as_str()).to_owned();
        if row.version != usual && !row.version.is_empty() {
            row.mark = row.mark.max(mark);
            // For a different directory the note says that instead.
            if from(row) == origin {
                row.add_note(&format!("not {usual}"));
            }
        }
        if from(row) != origin {
            row.mark = row.mark.max(Mark::Warning);
            row.add_note(&format!("from {}: {reason}", short_directory(&from(row))));
        }
        if !are_mixed {
            row.version.clear();
        }
    }
    let several = card.rows.iter().any(|row| from(row) != origin);
    card.mixture = if are_mixed {
        card.mark = mark;
        let versions = distinct(versions.iter().map(String::as_str));
        Some(Mixture::Versions(
            versions.into_iter().map(str::to_owned).collect(),
        ))
    } else if several {
        card.mark = Mark::Warning;
        Some(Mixture::Directories)
    } else {
        None
    };
    card.badge = match card.mixture {
        Some(_) => "mixed".to_owned(),
        None => usual,
    };
    card.footer = match &card.mixture {
        Some(versions @ Mixture::Versions(_)) => format!("mixed: {versions}"),
        Some(Mixture::Directories) => Mixture::Directories.to_string(),
        None => String::new(),
    };
    card.placement.origin = origin;
}

/// Distinct texts, the most frequent first, otherwise in their order.
fn distinct<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for text in texts {
        match counted.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => counted.push((text, 1)),
        }
    }
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counted.into_iter().map(|(text, _)| text).collect()
}

/// Shadowed copies, as cards beside the cards of the loaded ones.
pub(super) fn shadowed(builder: &mut Builder) {
    for shadow in builder.own(|it| &it.shadowed, |it| &it.process) {
        let winner = builder.object(&shadow.loaded.path);
        let Some(winner) = winner.and_then(|object| builder.row_of.get(&object)) else {
            continue;
        };
        let winner = winner.card;
        let note = format!("loaded because of {}", shadow.reason);
        builder.mark(&shadow.loaded.path, Mark::Warning, &note);
        let version = shadow.shadowed.readings.get("version");
        let version = version.cloned().unwrap_or_default();
        add_ghost(
            builder,
            winner,
            &shadow.shadowed.path,
            version,
            &shadow.reason,
        );
    }
    for card in 0..builder.graph.cards.len() {
        parts_of_home(builder, card);
    }
}

/// Files of a mixed library that are in the directory of the first one and are not loaded.
fn parts_of_home(builder: &mut Builder, card: usize) {
    let process = builder.process;
    let of = &builder.graph.cards[card];
    if !matches!(of.placement.kind, CardKind::Set(_)) || of.mixture.is_none() {
        return;
    }
    let home = of.placement.origin.clone();
    let objects = of.rows.iter().flat_map(|row| &row.objects);
    let objects: Vec<usize> = objects.copied().collect();
    for object in objects {
        let object = &process.objects[object];
        let others = object.others.iter();
        for other in others.filter(|path| directory_of(path) == home) {
            add_ghost(builder, card, other, String::new(), &object.facts.reason);
        }
    }
}

/// A shadowed copy; `winner` is the card of the loaded one.
fn add_ghost(builder: &mut Builder, winner: usize, path: &str, version: String, reason: &str) {
    let directory = directory_of(path);
    let place = Placement {
        kind: CardKind::Shadowed(directory.to_owned()),
        column: builder.graph.cards[winner].placement.column,
        title: "shadowed: not loaded".to_owned(),
        origin: directory.to_owned(),
    };
    let Some(ghost) = builder.card(place) else {
        return;
    };
    builder.beside.entry(ghost).or_insert(winner);
    let card = &mut builder.graph.cards[ghost];
    card.mark = Mark::Ghost;
    if card.footer.is_empty() {
        card.footer = format!("because of {reason}");
    }
    let label = name_of(path).to_owned();
    if card.rows.iter().all(|row| row.label != label) {
        card.rows.push(Row {
            label,
            version,
            tooltip: format!("{path}\nnot loaded: another copy was found first by {reason}"),
            mark: Mark::Ghost,
            ..Row::default()
        });
    }
}
