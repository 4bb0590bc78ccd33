//! The arrows of the picture.

use std::collections::{BTreeSet, HashMap};

use super::builder::Builder;
use super::model::{End, Link, LinkKind, Mark};
use super::placement::{CardKind, directory_of, normal_path};

/// How many arrows between single files are drawn.
const FILES: usize = 1500;

/// Adds all arrows.
pub(super) fn add(builder: &mut Builder) {
    let mut links: BTreeSet<(LinkKind, End, End)> = BTreeSet::new();
    let finder = Finder::of(builder);
    finder.imports(&mut links);
    finder.loads(&mut links);
    finder.needs(&mut links);
    finder.missing(&mut links);
    finder.shadowed(&mut links);
    finder.conflicts(&mut links);
    let links = links.into_iter().filter(|(_, from, to)| from != to);
    builder.graph.links = links
        .map(|(kind, from, to)| Link { from, to, kind })
        .collect();
}

type Links = BTreeSet<(LinkKind, End, End)>;

struct Finder<'b, 'a> {
    builder: &'b Builder<'a>,
    /// The rows of files that could not be loaded, by path.
    unloaded: HashMap<String, End>,
}

impl<'b, 'a> Finder<'b, 'a> {
    fn of(builder: &'b Builder<'a>) -> Self {
        let mut unloaded = HashMap::new();
        for (card, it) in builder.graph.cards.iter().enumerate() {
            for (row, shown) in it.rows.iter().enumerate() {
                if !shown.unloaded.is_empty() {
                    unloaded.insert(normal_path(&shown.unloaded), End::row(card, row));
                }
            }
        }
        Finder { builder, unloaded }
    }

    fn kind(&self, end: End) -> &CardKind {
        &self.builder.graph.cards[end.card].placement.kind
    }

    fn heading(&self, kind: &CardKind) -> Option<End> {
        self.builder.by_kind.get(kind).map(|card| End::title(*card))
    }

    fn row(&self, path: &str) -> Option<End> {
        let object = self.builder.object(path);
        let row = object.and_then(|object| self.builder.row_of.get(&object));
        row.or_else(|| self.unloaded.get(&normal_path(path)))
            .copied()
    }

    /// The card of an import, or of the program.
    fn opener(&self, package: &str) -> Option<End> {
        self.heading(&CardKind::Import(package.to_owned()))
            .or_else(|| self.heading(&CardKind::Program))
    }

    /// From the program to its imports.
    fn imports(&self, links: &mut Links) {
        let Some(program) = self.heading(&CardKind::Program) else {
            return;
        };
        for import in &self.builder.process.imports {
            if let Some(card) = self.heading(&CardKind::Import(import.package.clone())) {
                links.insert((LinkKind::Loads, program, card));
            }
        }
    }

    /// From the card that loaded a file first. System libraries are left out, because everything needs them.
    fn loads(&self, links: &mut Links) {
        for (id, object) in self.builder.process.objects.iter().enumerate() {
            let Some(&to) = self.builder.row_of.get(&id) else {
                continue;
            };
            if matches!(self.kind(to), CardKind::Program | CardKind::System) {
                continue;
            }
            let parent = object.parent.and_then(|it| self.builder.row_of.get(&it));
            let from = parent.filter(|it| !matches!(self.kind(**it), CardKind::Program));
            let from = from.copied().or_else(|| self.opener(&object.facts.package));
            if let Some(from) = from.filter(|from| from.card != to.card) {
                links.insert((LinkKind::Loads, End::title(from.card), End::title(to.card)));
            }
        }
    }

    /// Between cards and files that need each other.
    fn needs(&self, links: &mut Links) {
        let mut files = 0;
        for (id, object) in self.builder.process.objects.iter().enumerate() {
            let Some(&from) = self.builder.row_of.get(&id) else {
                continue;
            };
            for &need in object.needs.iter().chain(&object.parent) {
                let Some(&to) = self.builder.row_of.get(&need) else {
                    continue;
                };
                let (from, to) = match need == object.parent.unwrap_or(usize::MAX) {
                    true if !object.needs.contains(&need) => (to, from),
                    _ => (from, to),
                };
                if from.card == to.card || self.is_quiet(to) {
                    continue;
                }
                let cards = (End::title(from.card), End::title(to.card));
                if !links.contains(&(LinkKind::Loads, cards.0, cards.1)) {
                    links.insert((LinkKind::Needs, cards.0, cards.1));
                }
                if files < FILES && self.is_one_file(from) && self.is_one_file(to) {
                    files += usize::from(links.insert((LinkKind::File, from, to)));
                }
            }
        }
    }

    /// Whether arrows to a row are left out: everything needs it, and it has no fault.
    fn is_quiet(&self, end: End) -> bool {
        matches!(self.kind(end), CardKind::System | CardKind::Program)
            && self.mark(end) < Some(Mark::Warning)
    }

    fn mark(&self, end: End) -> Option<Mark> {
        let rows = &self.builder.graph.cards[end.card].rows;
        rows.get(end.row?).map(|row| row.mark)
    }

    fn is_one_file(&self, end: End) -> bool {
        let rows = &self.builder.graph.cards[end.card].rows;
        end.row
            .and_then(|row| rows.get(row))
            .is_some_and(|row| row.objects.len() == 1)
    }

    fn missing(&self, links: &mut Links) {
        for (card, it) in self.builder.graph.cards.iter().enumerate() {
            for (place, row) in it.rows.iter().enumerate() {
                let kind = match row.mark {
                    Mark::Ghost => LinkKind::Optional,
                    _ => LinkKind::Missing,
                };
                let to = End::row(card, place);
                for requester in &row.requesters {
                    let from = self.row(&requester.path);
                    let from = from.or_else(|| self.opener(&requester.package));
                    if let Some(from) = from.filter(|from| from.card != card) {
                        links.insert((kind, from, to));
                    }
                }
            }
        }
    }

    fn shadowed(&self, links: &mut Links) {
        for shadow in self.builder.own(|it| &it.shadowed, |it| &it.process) {
            let Some(requester) = self.row(&shadow.needed_by) else {
                continue;
            };
            if let Some(winner) = self.row(&shadow.loaded.path)
                && winner.card != requester.card
            {
                links.insert((LinkKind::Instead, requester, winner));
            }
            let directory = directory_of(&shadow.shadowed.path).to_owned();
            if let Some(ghost) = self.heading(&CardKind::Shadowed(directory))
                && ghost.card != requester.card
            {
                links.insert((LinkKind::Expected, requester, ghost));
            }
        }
    }

    fn conflicts(&self, links: &mut Links) {
        let versions = self
            .builder
            .own(|it| &it.unmet_versions, |it| &it.context.process);
        let versions = versions.map(|it| (&it.object, &it.provider));
        let symbols = self
            .builder
            .own(|it| &it.undefined_symbols, |it| &it.context.process);
        let symbols = symbols.filter_map(|it| Some((&it.object, it.provider.as_ref()?)));
        for (object, provider) in versions.chain(symbols) {
            if let (Some(from), Some(to)) = (self.row(&object.path), self.row(&provider.path))
                && from.card != to.card
            {
                links.insert((LinkKind::Conflict, from, to));
            }
        }
    }
}
