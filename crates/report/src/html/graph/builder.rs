//! A picture in the making.

use std::collections::{BTreeMap, HashMap};

use super::model::{Card, End, Graph, Mark, Row};
use super::placement::{self, CardKind, Column, Placement, normal_path};
use imgcheck_base::lexical::name_of;
use imgcheck_model::finding::Finding;
use imgcheck_model::process::LoaderFacts;
use imgcheck_model::process::facts::Import;
use imgcheck_model::process::tree::ProcessTree;

/// How many objects are drawn; real processes have about 130.
pub(super) const OBJECTS: usize = 800;
/// How many cards are drawn.
pub(super) const CARDS: usize = 48;

/// What is known about the image of a process.
#[derive(Debug, Clone, Copy)]
pub(super) struct ImageContext<'a> {
    /// The loader model, for shadowed and missing libraries.
    pub loader: Option<&'a LoaderFacts>,
    /// The findings of the image.
    pub findings: &'a [Finding],
}

/// A picture in the making.
pub(super) struct Builder<'a> {
    pub process: &'a ProcessTree,
    pub image: ImageContext<'a>,
    pub graph: Graph,
    /// The card of each kind.
    pub by_kind: HashMap<CardKind, usize>,
    /// The object of each path without `..`.
    pub by_path: HashMap<String, usize>,
    /// The row of each object.
    pub row_of: HashMap<usize, End>,
    /// For each card of shadowed copies, the card of the loaded ones.
    pub beside: HashMap<usize, usize>,
}

impl<'a> Builder<'a> {
    /// Starts with a card for every import and a row for every object.
    pub fn new(process: &'a ProcessTree, image: ImageContext<'a>) -> Self {
        let mut builder = Builder {
            process,
            image,
            graph: Graph::default(),
            by_kind: HashMap::new(),
            by_path: HashMap::new(),
            row_of: HashMap::new(),
            beside: HashMap::new(),
        };
        builder.add_imports();
        let prefix = builder.environment();
        let shown = process.objects.len().min(OBJECTS);
        builder.graph.left_out = process.objects.len() - shown;
        for object in 0..shown {
            builder.add_object(object, &prefix);
        }
        builder
    }

    /// Those of some facts of the loader model that are about this process, which `process` names.
    pub fn own<T: 'a>(
        &self,
        facts: fn(&LoaderFacts) -> &Vec<T>,
        process: fn(&T) -> &String,
    ) -> impl Iterator<Item = &'a T> + use<'a, T> {
        let all = self.image.loader.map(facts).into_iter().flatten();
        let name = &self.process.name;
        all.filter(move |it| process(it) == name)
    }

    /// The card of a placement, created if needed; `None` if there are too many.
    pub fn card(&mut self, placement: Placement) -> Option<usize> {
        if let Some(&known) = self.by_kind.get(&placement.kind) {
            return Some(known);
        }
        if self.graph.cards.len() >= CARDS {
            self.graph.left_out += 1;
            return None;
        }
        let card = self.graph.cards.len();
        self.by_kind.insert(placement.kind.clone(), card);
        self.graph.cards.push(Card {
            placement,
            badge: String::new(),
            footer: String::new(),
            mark: Mark::None,
            mixture: None,
            rows: Vec::new(),
        });
        Some(card)
    }

    /// The object at a path.
    pub fn object(&self, path: &str) -> Option<usize> {
        self.by_path.get(&normal_path(path)).copied()
    }

    /// The row of the object at a path.
    pub fn row(&mut self, path: &str) -> Option<&mut Row> {
        let end = self.row_of.get(&self.object(path)?)?;
        self.graph.cards.get_mut(end.card)?.rows.get_mut(end.row?)
    }

    /// Marks the row of the object at a path.
    pub fn mark(&mut self, path: &str, mark: Mark, note: &str) {
        if let Some(row) = self.row(path) {
            row.mark = row.mark.max(mark);
            row.add_note(note);
        }
    }

    /// Sorts the cards of each column: missing and faulty ones first, shadowed copies after the loaded ones.
    pub fn sort(&mut self) {
        let rank = |card: &Card| {
            let worst = card.rows.iter().map(|row| row.mark).max();
            match card.placement.kind {
                CardKind::Missing { .. } | CardKind::Program => 0,
                CardKind::Optional => 5,
                // Imports keep the order in which they happen.
                CardKind::Import(_) => 1,
                _ if card.mark.max(worst.unwrap_or_default()) >= Mark::Warning => 1,
                CardKind::System | CardKind::OtherPackages => 3,
                _ => 2,
            }
        };
        let key = |index: usize| {
            let leader = self.beside.get(&index).copied().unwrap_or(index);
            let card = &self.graph.cards[leader];
            (card.placement.column, rank(card), leader, index)
        };
        let mut order: Vec<usize> = (0..self.graph.cards.len()).collect();
        order.sort_by_key(|&index| key(index));
        let new: BTreeMap<usize, usize> = order
            .iter()
            .enumerate()
            .map(|(new, &old)| (old, new))
            .collect();
        self.graph.cards = order
            .iter()
            .map(|&old| self.graph.cards[old].clone())
            .collect();
        for end in self.row_of.values_mut() {
            end.card = new[&end.card];
        }
        for card in self.by_kind.values_mut() {
            *card = new[card];
        }
    }

    /// The prefix of the Python environment; empty for other programs.
    fn environment(&self) -> String {
        let mut own = self.own(|it| &it.processes, |it| &it.name);
        own.next()
            .map(|it| it.environment.clone())
            .unwrap_or_default()
    }

    /// A card for every import, so that one that fails immediately is visible too.
    fn add_imports(&mut self) {
        for Import {
            package,
            version,
            succeeds,
        } in &self.process.imports
        {
            let card = self.card(Placement {
                kind: CardKind::Import(package.clone()),
                column: Column::Imports,
                title: format!("import {package}"),
                origin: String::new(),
            });
            let Some(card) = card.and_then(|card| self.graph.cards.get_mut(card)) else {
                continue;
            };
            card.badge = version.clone();
            if !succeeds {
                card.mark = Mark::Error;
                card.footer = "this import fails".to_owned();
            }
        }
    }

    fn add_object(&mut self, object: usize, prefix: &str) {
        let process = self.process;
        let facts = &process.objects[object].facts;
        let Some(card) = self.card(placement::of(process, facts, prefix)) else {
            return;
        };
        let mut tooltip = format!("{}\nfound by {}", facts.path, facts.reason);
        if !facts.requested_by.is_empty() {
            tooltip.push_str(&format!("\nloaded by {}", facts.requested_by));
        }
        if process.objects[object].unmapped {
            tooltip.push_str("\nunmapped again, because the load fails");
        }
        for other in &process.objects[object].others {
            tooltip.push_str(&format!("\nother copy, not loaded: {other}"));
        }
        self.by_path
            .entry(normal_path(&facts.path))
            .or_insert(object);
        let row = self.graph.cards[card].rows.len();
        self.row_of.insert(object, End::row(card, row));
        self.graph.cards[card].rows.push(Row {
            label: short_name(name_of(&facts.path)),
            version: facts.readings.get("version").cloned().unwrap_or_default(),
            tooltip,
            objects: vec![object],
            ..Row::default()
        });
    }
}

/// A file name without the ABI tag of Python modules: `_C.so` for `_C.cpython-311-x86_64-linux-gnu.so`.
fn short_name(name: &str) -> String {
    match (name.find(".cpython-"), name.ends_with(".so")) {
        (Some(at), true) => format!("{}.so", &name[..at]),
        _ => name.to_owned(),
    }
}
