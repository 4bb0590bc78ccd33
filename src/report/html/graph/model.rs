//! What the picture shows, before any coordinate: cards with rows, and links between them.

use std::collections::{BTreeMap, HashMap};

use super::place::{self, Column, Kind, Place, file_name, normal_path};
use super::{faults, fold, missing};
use crate::finding::{Finding, Severity};
use crate::process::LoaderFacts;
use crate::process::facts::Import;
use crate::process::tree::ProcessTree;

/// So many objects are looked at; real processes have about 130.
pub(super) const OBJECTS: usize = 800;
/// So many cards are drawn.
pub(super) const CARDS: usize = 48;
/// The content of the picture.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// The cards, in the order in which they stand in their columns.
    pub cards: Vec<Card>,
    /// The links between them.
    pub links: Vec<Link>,
    /// Objects and faults that are not drawn, because there are too many.
    pub left_out: usize,
}

/// A box with files of one origin.
#[derive(Debug, Clone)]
pub(super) struct Card {
    /// Where it stands, and what it is called.
    pub place: Place,
    /// What stands at the right of its heading: a version.
    pub badge: String,
    /// A line below the rows.
    pub footer: String,
    /// The worst of its heading; the rows have marks of their own.
    pub mark: Mark,
    /// Its files.
    pub rows: Vec<Row>,
}

/// A file on a card, or several that matter little.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    /// Name of the file, or how many there are.
    pub label: String,
    /// Its version, if it is not that of the card.
    pub version: String,
    /// What is to be said of it.
    pub note: String,
    /// What a pointer shows.
    pub tooltip: String,
    /// Whether something is wrong.
    pub mark: Mark,
    /// Place of the finding about it.
    pub finding: Option<usize>,
    /// Places of its objects in the process.
    pub objects: Vec<usize>,
    /// Path of a file that is not mapped, since it cannot be loaded.
    pub unloaded: String,
    /// Who asks for it, where it is not there.
    pub askers: Vec<Asker>,
}

/// Who asks for what is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asker {
    /// Path of the file; empty where Python or the program asks.
    pub path: String,
    /// The package whose import leads there; empty where the program starts.
    pub package: String,
}

/// How something is marked, the least first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// Nothing is wrong.
    #[default]
    None,
    /// Of no use: another copy was loaded, or the program goes on without it.
    Ghost,
    /// A note speaks of it.
    Note,
    /// A warning speaks of it, or it is loaded in place of another copy.
    Warning,
    /// An error speaks of it, or it is of another release than its partners.
    Error,
    /// It is not there.
    Missing,
}

impl From<Severity> for Mark {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Note => Mark::Note,
            Severity::Warning => Mark::Warning,
            Severity::Error => Mark::Error,
        }
    }
}

/// An arrow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    /// Where it begins.
    pub from: End,
    /// Where it ends.
    pub to: End,
    /// What it stands for.
    pub meaning: Meaning,
}

/// One end of a link: a card, or one of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct End {
    /// Place of the card.
    pub card: usize,
    /// Place of the row on it; the heading without one.
    pub row: Option<usize>,
}

/// What a link stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Meaning {
    /// Some file of the one was the first to ask for some file of the other.
    Loads,
    /// Some file needs some file of the other, which was there already.
    Needs,
    /// One file needs or opens the other; shown when a pointer is on one of them.
    File,
    /// The copy that is used in place of the expected one.
    Instead,
    /// The copy that would be expected.
    Expected,
    /// The file that answers does not have what is needed of it.
    Conflict,
    /// What is not there.
    Missing,
    /// What is not there and not needed.
    Optional,
}

/// What is known of a process beside its tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct About<'a> {
    /// The loader model, for what is shadowed and missing.
    pub loader: Option<&'a LoaderFacts>,
    /// The findings of the image.
    pub findings: &'a [Finding],
}

/// Builds the content of the picture of one process.
pub(super) fn build(process: &ProcessTree, about: About) -> Graph {
    let mut builder = Builder {
        process,
        about,
        graph: Graph::default(),
        by_kind: HashMap::new(),
        by_path: HashMap::new(),
        row_of: HashMap::new(),
        beside: HashMap::new(),
    };
    builder.imports();
    let prefix = builder.environment();
    let shown = process.objects.len().min(OBJECTS);
    builder.graph.left_out = process.objects.len() - shown;
    for object in 0..shown {
        builder.add(object, &prefix);
    }
    faults::findings(&mut builder);
    faults::headings(&mut builder);
    missing::missing(&mut builder);
    faults::shadowed(&mut builder);
    faults::versions(&mut builder);
    faults::name_rules(&mut builder);
    fold::fold(&mut builder);
    builder.order();
    super::links::add(&mut builder);
    builder.graph
}

/// A picture that is being made.
pub(super) struct Builder<'a> {
    pub process: &'a ProcessTree,
    pub about: About<'a>,
    pub graph: Graph,
    pub by_kind: HashMap<Kind, usize>,
    /// By path without `..`, the object.
    pub by_path: HashMap<String, usize>,
    /// By object, the row that shows it.
    pub row_of: HashMap<usize, End>,
    /// By card of copies that are not loaded, the card of those that are.
    pub beside: HashMap<usize, usize>,
}

impl Builder<'_> {
    /// Prefix of the Python environment.
    fn environment(&self) -> String {
        let processes = self.about.loader.map(|loader| &loader.processes);
        let own = processes
            .into_iter()
            .flatten()
            .find(|it| it.name == self.process.name);
        own.map(|it| it.environment.clone()).unwrap_or_default()
    }

    /// A card for every import, so that one which fails at once is seen, too.
    fn imports(&mut self) {
        for Import {
            package,
            version,
            succeeds,
        } in &self.process.imports
        {
            let card = self.card(Place {
                kind: Kind::Import(package.clone()),
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

    /// The card of a place, made if it is new; `None` if there are too many.
    pub fn card(&mut self, place: Place) -> Option<usize> {
        if let Some(&known) = self.by_kind.get(&place.kind) {
            return Some(known);
        }
        if self.graph.cards.len() >= CARDS {
            self.graph.left_out += 1;
            return None;
        }
        let card = self.graph.cards.len();
        self.by_kind.insert(place.kind.clone(), card);
        self.graph.cards.push(Card {
            place,
            badge: String::new(),
            footer: String::new(),
            mark: Mark::None,
            rows: Vec::new(),
        });
        Some(card)
    }

    /// The object of a path.
    pub fn object(&self, path: &str) -> Option<usize> {
        self.by_path.get(&normal_path(path)).copied()
    }

    fn add(&mut self, object: usize, prefix: &str) {
        let process = self.process;
        let facts = &process.objects[object].facts;
        let Some(card) = self.card(place::of(self.process, facts, prefix)) else {
            return;
        };
        let mut tooltip = format!("{}\nfound by {}", facts.path, facts.reason);
        if !facts.requested_by.is_empty() {
            tooltip.push_str(&format!("\nasked for by {}", facts.requested_by));
        }
        for other in &self.process.objects[object].others {
            tooltip.push_str(&format!("\nanother copy, not loaded: {other}"));
        }
        self.by_path
            .entry(normal_path(&facts.path))
            .or_insert(object);
        let row = Some(self.graph.cards[card].rows.len());
        self.row_of.insert(object, End { card, row });
        self.graph.cards[card].rows.push(Row {
            label: short_name(file_name(&facts.path)),
            version: facts.readings.get("version").cloned().unwrap_or_default(),
            tooltip,
            objects: vec![object],
            ..Row::default()
        });
    }

    /// Puts the cards in their order: what is missing or wrong first in its column, copies that are not loaded behind those that are.
    fn order(&mut self) {
        let rank = |card: &Card| {
            let worst = card.rows.iter().map(|row| row.mark).max();
            match card.place.kind {
                Kind::Missing(_) | Kind::Program => 0,
                Kind::Optional => 5,
                // These stay in the order in which they happen.
                Kind::Import(_) => 1,
                _ if card.mark.max(worst.unwrap_or_default()) >= Mark::Warning => 1,
                Kind::System | Kind::OtherPackages => 3,
                _ => 2,
            }
        };
        let key = |place: usize| {
            let leader = self.beside.get(&place).copied().unwrap_or(place);
            let card = &self.graph.cards[leader];
            (card.place.column, rank(card), leader, place)
        };
        let mut order: Vec<usize> = (0..self.graph.cards.len()).collect();
        order.sort_by_key(|&place| key(place));
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
}

/// A file's name without what every module's name has: `_C.so` for `_C.cpython-311-x86_64-linux-gnu.so`.
fn short_name(name: &str) -> String {
    match (name.find(".cpython-"), name.ends_with(".so")) {
        (Some(at), true) => format!("{}.so", &name[..at]),
        _ => name.to_owned(),
    }
}
