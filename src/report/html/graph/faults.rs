//! What is wrong with files that are there: findings, parts that do not belong together, what is shadowed.

use super::model::{Builder, Card, Mark, Row};
use super::place::{Kind, Place, directory_of, file_name, short_directory};
use crate::process::tree::ProcessTree;

impl Builder<'_> {
    /// The row of an object.
    fn row(&mut self, object: usize) -> Option<&mut Row> {
        let end = self.row_of.get(&object)?;
        self.graph.cards.get_mut(end.card)?.rows.get_mut(end.row?)
    }

    /// Marks the row of a file.
    fn mark(&mut self, path: &str, mark: Mark, note: &str) {
        if let Some(row) = self.object(path).and_then(|object| self.row(object)) {
            row.mark = row.mark.max(mark);
            add_note(row, note);
        }
    }
}

pub(super) fn add_note(row: &mut Row, note: &str) {
    if row.note.is_empty() {
        row.note = note.to_owned();
    } else if !row.note.contains(note) {
        row.note = format!("{} · {note}", row.note);
    }
}

/// Files that findings speak of.
pub(super) fn findings(builder: &mut Builder) {
    for (place, finding) in builder.about.findings.iter().enumerate() {
        let Some(path) = &finding.path else { continue };
        let object = builder.object(path);
        let Some(row) = object.and_then(|object| builder.row(object)) else {
            continue;
        };
        // The worst finding comes first.
        row.finding.get_or_insert(place);
        row.mark = row.mark.max(finding.severity.into());
        row.tooltip
            .push_str(&format!("\n{}: {}", finding.rule, finding.message));
    }
}

/// Files that answer and do not have the version that is needed of them.
pub(super) fn versions(builder: &mut Builder) {
    let loader = builder.about.loader;
    let all = loader.map(|loader| &loader.unmet_versions);
    let own = all
        .into_iter()
        .flatten()
        .filter(|unmet| unmet.place.process == builder.process.name && !unmet.place.optional);
    let lacks: Vec<(&str, &str)> = own
        .map(|unmet| (unmet.provider.path.as_str(), unmet.version.as_str()))
        .collect();
    for (provider, version) in lacks {
        builder.mark(provider, Mark::Error, &format!("lacks {version}"));
    }
}

/// Names the rule where nothing else is said of a file.
pub(super) fn name_rules(builder: &mut Builder) {
    let findings = builder.about.findings;
    let cards = builder.graph.cards.iter_mut();
    for row in cards.flat_map(|card| &mut card.rows) {
        let finding = row.finding.and_then(|place| findings.get(place));
        if let Some(finding) = finding.filter(|_| row.note.is_empty()) {
            row.note = finding.rule.clone();
        }
    }
}

/// Versions that belong to a whole card, and parts that are of another one.
pub(super) fn headings(builder: &mut Builder) {
    let process = builder.process;
    for card in &mut builder.graph.cards {
        match &card.place.kind {
            Kind::Set(_) => set(process, card),
            Kind::Cuda(_) => {
                let objects = card.rows.iter().flat_map(|row| &row.objects);
                let majors = objects.map(|&it| process.objects[it].facts.cuda.as_str());
                let majors = counted(majors.filter(|major| !major.is_empty()));
                match majors.as_slice() {
                    [(major, _)] => card.badge = format!("CUDA {major}"),
                    [] => {}
                    several => {
                        let several: Vec<&str> = several.iter().map(|(major, _)| *major).collect();
                        card.footer = format!("of CUDA {}", several.join(" and "));
                    }
                }
            }
            Kind::Package(name) => {
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

/// The parts of one library: all of one release and from one place, or it is said which are not those of the first.
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
            add_note(row, &format!("not {usual}"));
        }
        if from(row) != origin {
            row.mark = row.mark.max(Mark::Warning);
            add_note(
                row,
                &format!("from {}: {reason}", short_directory(&from(row))),
            );
        }
        if !are_mixed {
            row.version.clear();
        }
    }
    let several = card.rows.iter().any(|row| from(row) != origin);
    card.badge = match are_mixed || several {
        true => "mixed".to_owned(),
        false => usual,
    };
    if are_mixed {
        card.mark = mark;
        let distinct = counted(versions.iter().map(String::as_str));
        let distinct: Vec<&str> = distinct.iter().map(|(version, _)| *version).collect();
        card.footer = format!("mixed: {}", distinct.join(" and "));
    } else if several {
        card.mark = Mark::Warning;
        card.footer = "files from several places".to_owned();
    }
    card.place.origin = origin;
}

/// Texts with how often they occur, the most frequent first, then in their order.
fn counted<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<(&'t str, usize)> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for text in texts {
        match counted.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => counted.push((text, 1)),
        }
    }
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counted
}

/// Copies that are not loaded, as cards beside the cards of those that are.
pub(super) fn shadowed(builder: &mut Builder) {
    let loader = builder.about.loader;
    let all = loader.map(|loader| &loader.shadowed).into_iter().flatten();
    for shadow in all.filter(|it| it.process == builder.process.name) {
        let winner = builder.object(&shadow.loaded.path);
        let Some(winner) = winner.and_then(|object| builder.row_of.get(&object)) else {
            continue;
        };
        let winner = winner.card;
        let note = format!("wins by {}", shadow.reason);
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

/// Of a mixed library, the parts that lie beside its first one and are not loaded.
fn parts_of_home(builder: &mut Builder, card: usize) {
    let process = builder.process;
    let of = &builder.graph.cards[card];
    if !matches!(of.place.kind, Kind::Set(_)) || of.badge != "mixed" {
        return;
    }
    let home = of.place.origin.clone();
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

/// A copy that is not loaded; `winner` is the card of the one that is.
fn add_ghost(builder: &mut Builder, winner: usize, path: &str, version: String, reason: &str) {
    let directory = directory_of(path);
    let place = Place {
        kind: Kind::Shadowed(directory.to_owned()),
        column: builder.graph.cards[winner].place.column,
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
    let label = file_name(path).to_owned();
    if card.rows.iter().all(|row| row.label != label) {
        card.rows.push(Row {
            label,
            version,
            tooltip: format!("{path}\nnot loaded: another copy answers, found by {reason}"),
            mark: Mark::Ghost,
            ..Row::default()
        });
    }
}
