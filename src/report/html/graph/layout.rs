//! Where everything stands: columns from left to right, cards below each other, arrows around them.

use super::model::{Card, End, Graph, Link, Meaning};
use super::place::Column;

/// Width of a character of a file name; the font has one width.
pub(super) const CHARACTER: f64 = 7.0;
/// Width of a character of a note or origin.
pub(super) const SMALL_CHARACTER: f64 = 6.1;
/// Average width of a character of a heading.
const TITLE_CHARACTER: f64 = 7.5;
/// Distance of a text from the edge of its card.
pub(super) const PADDING: f64 = 14.0;
/// Where the texts of rows begin, behind their signs.
pub(super) const INDENT: f64 = 32.0;
/// So many characters of a name are written.
pub(super) const LABEL: usize = 42;
const NARROWEST: f64 = 176.0;
const WIDEST: f64 = 430.0;
/// So much room a note is given; what a pointer shows is whole.
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
/// Where the first cards begin, below the headings of the columns.
const TOP: f64 = 46.0;
const MARGIN: f64 = 12.0;

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rectangle {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Rectangle {
    /// Its right edge.
    pub fn right(self) -> f64 {
        self.x + self.width
    }

    /// Its lower edge.
    pub fn bottom(self) -> f64 {
        self.y + self.height
    }
}

/// A card with its place.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    /// Its outline.
    pub outline: Rectangle,
    /// Its column among those that are drawn.
    pub column: usize,
    /// The upper edge of each row.
    pub rows: Vec<f64>,
    /// The height of each row.
    pub heights: Vec<f64>,
}

/// One column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strip {
    /// Which it is.
    pub column: Column,
    /// Its left edge.
    pub x: f64,
    /// Its width.
    pub width: f64,
}

/// All places.
#[derive(Debug)]
pub(super) struct Layout {
    /// By card.
    pub cards: Vec<Placed>,
    /// The columns that hold cards.
    pub columns: Vec<Strip>,
    /// Width of the picture.
    pub width: f64,
    /// Height of the picture.
    pub height: f64,
}

/// Gives everything its place.
pub(super) fn layout(graph: &Graph) -> Layout {
    let mut columns: Vec<Strip> = Vec::new();
    let mut x = MARGIN;
    for column in Column::ALL {
        let cards = graph.cards.iter().filter(|it| it.place.column == column);
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
            .position(|strip| strip.column == card.place.column)
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

/// The room right of the last column: arrows between its cards bend out of it.
fn beside(graph: &Graph) -> f64 {
    let column = |end: End| graph.cards[end.card].place.column;
    let last = graph.cards.iter().map(|card| card.place.column).max();
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
    let origin = if card.place.origin.is_empty() {
        0.0
    } else {
        ORIGIN
    };
    TITLE + origin
}

/// The width that a card wants.
fn width(card: &Card) -> f64 {
    let characters = |text: &str| text.chars().count() as f64;
    let badge = characters(&card.badge) * CHARACTER + 14.0;
    let title = PADDING * 2.0 + 10.0 + characters(&card.place.title) * TITLE_CHARACTER + badge;
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
    // A path can be cut, words not so well.
    let origin = match card.place.origin.starts_with('/') {
        true => 0.0,
        false => characters(&card.place.origin) * SMALL_CHARACTER,
    };
    rows.chain([title, PADDING * 2.0 + footer, PADDING * 2.0 + origin])
        .fold(NARROWEST, f64::max)
        .min(WIDEST)
}

/// A point.
pub(super) type Point = (f64, f64);

impl Layout {
    /// The way of an arrow: points between which it bends, at alternate ends of straight pieces. It never crosses a card.
    pub fn way(&self, link: &Link) -> Vec<Point> {
        let (from, to) = (&self.cards[link.from.card], &self.cards[link.to.card]);
        let (start, end) = (self.height_of(link.from), self.height_of(link.to));
        if from.column == to.column {
            // Out of the right side and in again.
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
        let mut way = vec![(side(from, is_forward), start)];
        let steps = between.len() as f64 + 1.0;
        for (step, &column) in between.iter().enumerate() {
            let wish = start + (end - start) * (step as f64 + 1.0) / steps;
            let y = self.gap(column, wish);
            let strip = self.columns[column];
            let edges = [strip.x, strip.x + strip.width];
            let (first, second) = match is_forward {
                true => (edges[0], edges[1]),
                false => (edges[1], edges[0]),
            };
            way.extend([(first, y), (second, y)]);
        }
        way.push((side(to, !is_forward), end));
        way
    }

    /// The height at which an arrow meets a card.
    fn height_of(&self, end: End) -> f64 {
        let card = &self.cards[end.card];
        match end.row {
            Some(row) if row < card.rows.len() => card.rows[row] + ROW / 2.0,
            _ => card.outline.y + TITLE / 2.0,
        }
    }

    /// The height between two cards of a column, above the first or below the last, that is nearest to the wish.
    fn gap(&self, column: usize, wish: f64) -> f64 {
        let cards = self.cards.iter().filter(|card| card.column == column);
        let below = cards.map(|card| card.outline.bottom() + BETWEEN_CARDS / 2.0);
        below
            .chain([TOP - BETWEEN_CARDS / 3.0])
            .min_by(|a, b| (a - wish).abs().total_cmp(&(b - wish).abs()))
            .unwrap_or(wish)
    }
}

/// Which arrows are drawn above others: the later ones.
pub(super) fn drawing_order(meaning: Meaning) -> usize {
    match meaning {
        Meaning::Needs => 0,
        Meaning::Loads => 1,
        Meaning::File => 2,
        Meaning::Optional => 3,
        Meaning::Expected => 4,
        Meaning::Instead => 5,
        Meaning::Conflict => 6,
        Meaning::Missing => 7,
    }
}
