//! What matters little becomes one row, so that what matters is seen.

use super::model::{Builder, Card, End, Mark, Row};
use super::place::Kind;
use crate::process::tree::ProcessTree;

/// So many rows without a mark a card has; the others are one row.
const ROWS: usize = 24;
/// The same where the rows are only for completeness.
const FEW_ROWS: usize = 5;

/// Rows that matter little become one.
pub(super) fn fold(builder: &mut Builder) {
    for (place, card) in builder.graph.cards.iter_mut().enumerate() {
        if card.place.kind == Kind::OtherPackages {
            card.rows = by_package(builder.process, std::mem::take(&mut card.rows));
        }
        let limit = match card.place.kind {
            Kind::Program => 3,
            Kind::System | Kind::OtherPackages | Kind::Import(_) => FEW_ROWS,
            _ => ROWS,
        };
        fold_card(card, limit);
        for (row, shown) in card.rows.iter().enumerate() {
            for &object in &shown.objects {
                let end = End {
                    card: place,
                    row: Some(row),
                };
                builder.row_of.insert(object, end);
            }
        }
    }
}

/// One row a package.
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

/// Keeps what has a mark or a meaning of its own, and the first of the others.
fn fold_card(card: &mut Card, limit: usize) {
    let is_vendored = |row: &Row| {
        row.tooltip
            .lines()
            .next()
            .is_some_and(|it| it.contains(".libs/"))
    };
    let matters = |row: &Row| {
        row.mark != Mark::None
            || match card.place.kind {
                Kind::System => ["libc.so", "libstdc++", "libc.musl", "libgcc_s"]
                    .iter()
                    .any(|name| row.label.starts_with(name)),
                Kind::Program => {
                    !row.label.starts_with('_') && row.tooltip.contains("libpython")
                        || row.tooltip.contains("found by the program")
                }
                Kind::Package(_) => !is_vendored(row),
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
    // One row takes the place of one row.
    if folded.len() == 1 {
        kept.append(&mut folded);
    }
    if !folded.is_empty() {
        let name = match card.place.kind {
            Kind::Program => "own modules",
            Kind::Package(_) if folded.iter().all(is_vendored) => "bundled libraries",
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
