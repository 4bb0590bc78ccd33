//! Folds less important rows into one, so that the important ones are visible.

use super::builder::Builder;
use super::model::{Card, End, Mark, Row};
use super::placement::CardKind;
use imgcheck_base::lexical::name_of;
use imgcheck_model::process::cause::FoundBy;
use imgcheck_model::process::tree::ProcessTree;

/// How many rows without a mark a card shows; the rest is folded into one.
const ROWS: usize = 24;
/// [`ROWS`] of cards that are shown only for completeness.
const FEW_ROWS: usize = 5;

/// Folds less important rows.
pub(super) fn fold(builder: &mut Builder) {
    for (place, card) in builder.graph.cards.iter_mut().enumerate() {
        if card.placement.kind == CardKind::OtherPackages {
            card.rows = by_package(builder.process, std::mem::take(&mut card.rows));
        }
        let limit = match card.placement.kind {
            CardKind::Program => 3,
            CardKind::System | CardKind::OtherPackages | CardKind::Import(_) => FEW_ROWS,
            _ => ROWS,
        };
        fold_card(builder.process, card, limit);
        for (row, shown) in card.rows.iter().enumerate() {
            for &object in &shown.objects {
                builder.row_of.insert(object, End::row(place, row));
            }
        }
    }
}

/// One row for each package.
fn by_package(process: &ProcessTree, rows: Vec<Row>) -> Vec<Row> {
    let mut packages: Vec<(String, Vec<Row>)> = Vec::new();
    for row in rows {
        let object = row.objects.first().and_then(|&it| process.objects.get(it));
        let name = object.map_or("", |it| it.facts.directory.as_str());
        let name = name.split('/').next().unwrap_or_default().to_owned();
        match packages.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rows)) => rows.push(row),
            None => packages.push((name, vec![row])),
        }
    }
    let folded = packages.into_iter().flat_map(|(name, rows)| {
        let (marked, plain): (Vec<Row>, Vec<Row>) =
            rows.into_iter().partition(|row| row.mark != Mark::None);
        let row = (!plain.is_empty()).then(|| together(name, &plain));
        marked.into_iter().chain(row)
    });
    folded.collect()
}

/// Keeps marked and important rows up to the limit, and folds the others into one.
fn fold_card(process: &ProcessTree, card: &mut Card, limit: usize) {
    let facts = |row: &Row| Some(&process.objects.get(*row.objects.first()?)?.facts);
    let is_vendored = |row: &Row| facts(row).is_some_and(|facts| facts.path.contains(".libs/"));
    let is_program = |row: &Row| {
        facts(row).is_some_and(|facts| {
            facts.found_by == FoundBy::Executable || name_of(&facts.path).starts_with("libpython")
        })
    };
    let matters = |row: &Row| {
        row.mark != Mark::None
            || match card.placement.kind {
                CardKind::System => ["libc.so", "libstdc++", "libc.musl", "libgcc_s"]
                    .iter()
                    .any(|name| row.label.starts_with(name)),
                CardKind::Program => is_program(row),
                CardKind::Package(_) => !is_vendored(row),
                _ => true,
            }
    };
    let mut kept = Vec::new();
    let mut folded = Vec::new();
    for row in std::mem::take(&mut card.rows) {
        let has_room = kept.len() < limit || row.mark != Mark::None;
        match matters(&row) && has_room {
            true => kept.push(row),
            false => folded.push(row),
        }
    }
    // Folding a single row saves nothing.
    if folded.len() == 1 {
        kept.append(&mut folded);
    }
    if !folded.is_empty() {
        let name = match card.placement.kind {
            CardKind::Program => "own modules",
            CardKind::Package(_) if folded.iter().all(is_vendored) => "bundled libraries",
            _ if kept.is_empty() => "files",
            _ => "more",
        };
        kept.push(together(name.to_owned(), &folded));
    }
    card.rows = kept;
}

/// One row for many files.
fn together(name: String, rows: &[Row]) -> Row {
    let first = |row: &Row| row.tooltip.lines().next().unwrap_or_default().to_owned();
    let files = match rows.len() {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    Row {
        label: name,
        version: files,
        tooltip: rows.iter().map(first).collect::<Vec<_>>().join("\n"),
        objects: rows.iter().flat_map(|row| row.objects.clone()).collect(),
        ..Row::default()
    }
}
