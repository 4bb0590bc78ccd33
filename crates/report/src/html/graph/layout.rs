//! The layout: columns from left to right, cards below each other, arrows around them.

use super::model::{Card, End, Graph, Link, LinkKind};
use super::placement::Column;

/// Width of a character of a file name, in a monospace font.
pub(super) const CHARACTER: f64 = 7.0;
/// Width of a character of a note or origin.
pub(super) const SMALL_CHARACTER: f64 = 6.1;
/// Average width of a character of a heading.
const TITLE_CHARACTER: f64 = 7.5;
/// Distance of a text from the edge of its card.
pub(super) const PADDING: f64 = 14.0;
/// Indentation of the text of a row, after its icon.
pub(super) const INDENT: f64 = 32.0;
/// Maximum length of a file name, in characters.
pub(super) const LABEL: usize = 42;
const NARROWEST: f64 = 176.0;
const WIDEST: f64 = 430.0;
/// Maximum width of a note; the tooltip has the full text.
const WIDEST_NOTE: f64 = 250.0;
const BETWEEN_COLUMNS: f64 = 78.0;
const BETWEEN_CARDS: f64 = 26.0;
/// Height of a row, and what a note adds.
const ROW: f64 = 22.0;
const NOTE: f64 = 15.0;
/// Height of a heading, and what the origin below it adds.
const TITLE: f64 = 34.0;
const ORIGIN: f64 = 15.0;
const FOOTER: f64 = 22.0;
const BOTTOM: f64 = 8.0;
/// Upper edge of the first cards, below the column headings.
const TOP: f64 = 46.0;
const MARGIN: f64 = 12.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rectangle {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Rectangle {
    pub fn right(self) -> f64 {
        self.x + self.width
    }

    pub fn bottom(self) -> f64 {
        self.y + self.height
    }
}

/// A card with its position.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub outline: Rectangle,
    /// Index of its column among the drawn ones.
    pub column: usize,
    /// The upper edge of each row.
    pub rows: Vec<f64>,
    /// The height of each row.
    pub heights: Vec<f64>,
}

/// One column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strip {
    pub column: Column,
    pub x: f64,
    pub width: f64,
}

/// All positions.
#[derive(Debug)]
pub(super) struct Layout {
    /// In the order of the cards.
    pub cards: Vec<Placed>,
    /// The columns that hold cards.
    pub columns: Vec<Strip>,
    pub width: f64,
    pub height: f64,
}

pub(super) fn layout(graph: &Graph) -> Layout {
    let mut columns: Vec<Strip> = Vec::new();
    let mut x = MARGIN;
    for column in Column::ALL {
        let cards = graph
            .cards
            .iter()
            .filter(|it| it.placement.column == column);
        let widths = cards.map(width);
        let Some(width) = widths.reduce(f64::max) else {
            continue;
        };
        columns.push(Strip { column, x, width });
        x += width + BETWEEN_COLUMNS;
    }
    let mut bottoms = vec![TOP; columns.len()];
    let mut cards = Vec::new();
    for card in &graph.cards {
        let column = columns
            .iter()
            .position(|strip| strip.column == card.placement.column)
            .unwrap_or_default();
        let strip = columns[column];
        let placed = place(card, strip, column, bottoms[column]);
        bottoms[column] = placed.outline.bottom() + BETWEEN_CARDS;
        cards.push(placed);
    }
    let lowest = bottoms.iter().copied().fold(TOP, f64::max);
    Layout {
        cards,
        columns,
        width: (x - BETWEEN_COLUMNS + beside(graph)).max(NARROWEST),
        height: lowest,
    }
}

/// The space to the right of the last column, for arrows between its cards.
fn beside(graph: &Graph) -> f64 {
    let column = |end: End| graph.cards[end.card].placement.column;
    let last = graph.cards.iter().map(|card| card.placement.column).max();
    let mut links = graph.links.iter();
    match links.any(|link| column(link.from) == column(link.to) && Some(column(link.to)) == last) {
        true => 40.0,
        false => MARGIN,
    }
}

fn place(card: &Card, strip: Strip, column: usize, y: f64) -> Placed {
    let mut below = y + title_height(card);
    let mut rows = Vec::new();
    let mut heights = Vec::new();
    for row in &card.rows {
        let height = if row.note.is_empty() { ROW } else { ROW + NOTE };
        rows.push(below);
        heights.push(height);
        below += height;
    }
    if !card.footer.is_empty() {
        below += FOOTER;
    }
    if !card.rows.is_empty() || !card.footer.is_empty() {
        below += BOTTOM;
    }
    let outline = Rectangle {
        x: strip.x,
        y,
        width: strip.width,
        height: below - y,
    };
    Placed {
        outline,
        column,
        rows,
        heights,
    }
}

/// Height of a card's heading.
pub(super) fn title_height(card: &Card) -> f64 {
    let origin = if card.placement.origin.is_empty() {
        0.0
    } else {
        ORIGIN
    };
    TITLE + origin
}

/// The preferred width of a card.
fn width(card: &Card) -> f64 {
    let characters = |text: &str| text.chars().count() as f64;
    let badge = characters(&card.badge) * CHARACTER + 14.0;
    let title = PADDING * 2.0 + 10.0 + characters(&card.placement.title) * TITLE_CHARACTER + badge;
    let rows = card.rows.iter().map(|row| {
        let label = characters(&row.label).min(LABEL as f64) * CHARACTER;
        let version = match row.version.is_empty() {
            true => 0.0,
            false => characters(&row.version) * CHARACTER + 14.0,
        };
        let note = (characters(&row.note) * SMALL_CHARACTER).min(WIDEST_NOTE);
        INDENT + (label + version).max(note) + PADDING
    });
    let footer = (characters(&card.footer) * SMALL_CHARACTER).min(WIDEST_NOTE);
    // A path may be truncated, other text should not.
    let origin = match card.placement.origin.starts_with('/') {
        true => 0.0,
        false => characters(&card.placement.origin) * SMALL_CHARACTER,
    };
    rows.chain([title, PADDING * 2.0 + footer, PADDING * 2.0 + origin])
        .fold(NARROWEST, f64::max)
        .min(WIDEST)
}

/// Coordinates x and y.
pub(super) type Point = (f64, f64);

impl Layout {
    /// The route of an arrow as points: curves between columns alternate with straight lines across them. It never crosses a
    /// card.
    pub fn route(&self, link: &Link) -> Vec<Point> {
        let (from, to) = (&self.cards[link.from.card], &self.cards[link.to.card]);
        let (start, end) = (self.height_of(link.from), self.height_of(link.to));
        if from.column == to.column {
            // Out on the right and back in.
            return vec![(from.outline.right(), start), (to.outline.right(), end)];
        }
        let is_forward = from.column < to.column;
        let between: Vec<usize> = match is_forward {
            true => (from.column + 1..to.column).collect(),
            false => (to.column + 1..from.column).rev().collect(),
        };
        let side = |it: &Placed, right: bool| {
            if right {
                it.outline.right()
            } else {
                it.outline.x
            }
        };
        let mut route = vec![(side(from, is_forward), start)];
        let steps = between.len() as f64 + 1.0;
        for (step, &column) in between.iter().enumerate() {
            let target = start + (end - start) * (step as f64 + 1.0) / steps;
            let y = self.gap(column, target);
            let strip = self.columns[column];
            let edges = [strip.x, strip.x + strip.width];
            let (first, second) = match is_forward {
                true => (edges[0], edges[1]),
                false => (edges[1], edges[0]),
            };
            route.extend([(first, y), (second, y)]);
        }
        route.push((side(to, !is_forward), end));
        route
    }

    /// The height at which an arrow meets a card.
    fn height_of(&self, end: End) -> f64 {
        let card = &self.cards[end.card];
        match end.row {
            Some(row) if row < card.rows.len() => card.rows[row] + ROW / 2.0,
            _ => card.outline.y + TITLE / 2.0,
        }
    }

    /// The gap between cards of a column, or above or below all of them, that is nearest to `target`.
    fn gap(&self, column: usize, target: f64) -> f64 {
        let cards = self.cards.iter().filter(|card| card.column == column);
        let below = cards.map(|card| card.outline.bottom() + BETWEEN_CARDS / 2.0);
        below
            .chain([TOP - BETWEEN_CARDS / 3.0])
            .min_by(|a, b| (a - target).abs().total_cmp(&(b - target).abs()))
            .unwrap_or(target)
    }
}

/// The drawing order of arrows; later ones cover earlier ones.
pub(super) fn drawing_order(kind: LinkKind) -> usize {
    match kind {
        LinkKind::Needs => 0,
        LinkKind::Loads => 1,
        LinkKind::File => 2,
        LinkKind::Optional => 3,
        LinkKind::Expected => 4,
        LinkKind::Instead => 5,
        LinkKind::Conflict => 6,
        LinkKind::Missing => 7,
    }
}
