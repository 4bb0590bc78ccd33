//! The picture as SVG without scripts: colors come from the page, and hover effects from its style sheet.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::layout::{
    INDENT, LABEL, Layout, PADDING, Placed, Point, SMALL_CHARACTER, drawing_order, title_height,
};
use super::model::{Card, End, Graph, Link, LinkKind, Mark, Row};
use super::placement::CardKind;
use crate::html::markup::escape;

/// How far the picture shrinks to fit the page; then it scrolls, because its text would be too small.
const LEAST_SCALE: f64 = 0.8;
/// The room for the picture in a window of 1280 pixels: there even the widest does not scroll.
const ROOM: f64 = 1130.0;

/// Draws the picture. `name` is the prefix of its ids, `finding` that of the findings it links to; screen readers read `title`
/// and `description`.
pub(super) fn draw(
    graph: &Graph,
    layout: &Layout,
    name: &str,
    title: &str,
    description: &str,
    finding: &str,
) -> String {
    let mut svg = String::new();
    let (width, height) = (layout.width.ceil(), layout.height.ceil());
    let least = (width * LEAST_SCALE).floor().min(ROOM);
    // Writing to a text cannot fail.
    let _ = write!(
        svg,
        r#"<svg id="{name}" class="graph" role="img" aria-labelledby="{name}-t {name}-d" width="{width}" height="{height}" style="min-width:{least}px" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg"><title id="{name}-t">{}</title><desc id="{name}-d">{}</desc>"#,
        escape(title),
        escape(description)
    );
    style(&mut svg, graph, name);
    columns(&mut svg, layout);
    let mut links: Vec<&Link> = graph.links.iter().collect();
    links.sort_by_key(|link| drawing_order(link.kind));
    for link in links {
        arrow(&mut svg, layout, link);
    }
    for (place, card) in graph.cards.iter().enumerate() {
        draw_card(&mut svg, card, &layout.cards[place], place, finding);
    }
    svg.push_str("</svg>");
    svg
}

/// Styles that show the arrows of a row or card while the pointer is on it.
fn style(svg: &mut String, graph: &Graph, name: &str) {
    let ends = graph.links.iter().flat_map(|link| match link.kind {
        LinkKind::File => vec![link.from, link.to],
        _ => vec![],
    });
    let ends: BTreeSet<End> = ends.collect();
    svg.push_str("<style>");
    for end in ends {
        let class = class(end);
        let _ = write!(
            svg,
            "#{name}:has(.row.{class}:hover) .file.{class}{{display:inline}}"
        );
    }
    for card in 0..graph.cards.len() {
        let _ = write!(
            svg,
            "#{name}:has(.head.c{card}:hover) .between.c{card}{{display:inline;opacity:1}}"
        );
    }
    svg.push_str("</style>");
}

fn class(end: End) -> String {
    match end.row {
        Some(row) => format!("r{}-{row}", end.card),
        None => format!("c{}", end.card),
    }
}

fn columns(svg: &mut String, layout: &Layout) {
    for strip in &layout.columns {
        let _ = write!(
            svg,
            r#"<text class="column" x="{}" y="20">{}</text><path class="rule" d="M{} 29h{}"/>"#,
            strip.x,
            strip.column.heading(),
            strip.x,
            strip.width
        );
    }
}

fn arrow(svg: &mut String, layout: &Layout, link: &Link) {
    let kind = match link.kind {
        LinkKind::Loads => "between loads",
        LinkKind::Needs => "between needs",
        LinkKind::File => "file",
        LinkKind::Instead => "instead",
        LinkKind::Expected => "expected",
        LinkKind::Conflict => "conflict",
        LinkKind::Missing => "absent",
        LinkKind::Optional => "optional",
    };
    let route = layout.route(link);
    let is_beside = layout.cards[link.from.card].column == layout.cards[link.to.card].column;
    let path = match is_beside {
        true => around(&route),
        false => through(&route),
    };
    let _ = write!(
        svg,
        r#"<g class="{kind} {} {}"><path class="line" d="{path}"/>{}</g>"#,
        class(link.from),
        class(link.to),
        head(&route, is_beside)
    );
}

/// A path from column to column: straight across columns, curved between them.
fn through(route: &[Point]) -> String {
    let mut path = String::new();
    let Some(&(x, y)) = route.first() else {
        return path;
    };
    let _ = write!(path, "M{x:.1} {y:.1}");
    for pair in route.windows(2).enumerate() {
        let (step, [(x, y), (to_x, to_y)]) = (pair.0, [pair.1[0], pair.1[1]]);
        let _ = match step % 2 {
            0 => {
                let bend = (to_x - x) * 0.5;
                write!(
                    path,
                    "C{:.1} {y:.1} {:.1} {to_y:.1} {to_x:.1} {to_y:.1}",
                    x + bend,
                    to_x - bend
                )
            }
            _ => write!(path, "H{to_x:.1}"),
        };
    }
    path
}

/// A path out on the right of a column and back in.
fn around(route: &[Point]) -> String {
    let [(x, y), (to_x, to_y)] = [route[0], route[route.len() - 1]];
    let bend = x.max(to_x) + 34.0;
    format!("M{x:.1} {y:.1}C{bend:.1} {y:.1} {bend:.1} {to_y:.1} {to_x:.1} {to_y:.1}")
}

fn head(route: &[Point], is_beside: bool) -> String {
    let Some(&(x, y)) = route.last() else {
        return String::new();
    };
    let before = route
        .get(route.len().wrapping_sub(2))
        .map_or(x, |point| point.0);
    let back = if is_beside || before > x { 7.0 } else { -7.0 };
    format!(r#"<path class="head-of" d="M{x:.1} {y:.1}l{back:.1} -4v8z"/>"#)
}

fn draw_card(svg: &mut String, card: &Card, placed: &Placed, place: usize, finding: &str) {
    let at = placed.outline;
    let family = match card.placement.kind {
        CardKind::Program | CardKind::System => "system",
        CardKind::Import(_) => "import",
        CardKind::Package(_) | CardKind::OtherPackages | CardKind::Directory(_) => "package",
        CardKind::Set(_) | CardKind::Cuda(_) => "cuda",
        CardKind::Shadowed(_) => "ghost",
        CardKind::Missing { .. } => "missing",
        CardKind::Optional => "ghost",
    };
    let _ = write!(
        svg,
        r#"<g class="card {family} {}"><rect class="box" x="{}" y="{}" width="{}" height="{}" rx="9"/>"#,
        mark_class(card.mark),
        at.x,
        at.y,
        at.width,
        at.height
    );
    heading(svg, card, placed, place);
    for (number, row) in card.rows.iter().enumerate() {
        draw_row(svg, row, placed, End::row(place, number), finding);
    }
    if !card.footer.is_empty() {
        let y = at.bottom() - 13.0;
        let _ = write!(
            svg,
            r#"<text class="footer" x="{}" y="{y}">{}</text>"#,
            at.x + PADDING,
            escape(&shortened(&card.footer, at.width - PADDING * 2.0))
        );
    }
    svg.push_str("</g>");
}

fn heading(svg: &mut String, card: &Card, placed: &Placed, place: usize) {
    let at = placed.outline;
    let height = title_height(card).min(at.height);
    let tooltip = match card.placement.origin.is_empty() {
        true => card.placement.title.clone(),
        false => format!("{}\n{}", card.placement.title, card.placement.origin),
    };
    let _ = write!(
        svg,
        r#"<g class="head c{place}"><title>{}</title><rect class="cover" x="{}" y="{}" width="{}" height="{height}" rx="9"/><rect class="stripe" x="{}" y="{}" width="4" height="15" rx="2"/><text class="title" x="{}" y="{}">{}</text>"#,
        escape(&tooltip),
        at.x,
        at.y,
        at.width,
        at.x + PADDING - 1.0,
        at.y + 11.0,
        at.x + PADDING + 10.0,
        at.y + 23.0,
        escape(&middle(&card.placement.title, 40))
    );
    if !card.badge.is_empty() {
        let _ = write!(
            svg,
            r#"<text class="badge" x="{}" y="{}">{}</text>"#,
            at.right() - PADDING,
            at.y + 23.0,
            escape(&middle(&card.badge, 22))
        );
    }
    if !card.placement.origin.is_empty() {
        let _ = write!(
            svg,
            r#"<text class="origin" x="{}" y="{}">{}</text>"#,
            at.x + PADDING,
            at.y + 40.0,
            escape(&tail(&card.placement.origin, at.width - PADDING * 2.0))
        );
    }
    svg.push_str("</g>");
}

fn draw_row(svg: &mut String, row: &Row, placed: &Placed, end: End, finding: &str) {
    let number = end.row.unwrap_or_default();
    let (x, y) = (placed.outline.x, placed.rows[number]);
    let (width, height) = (placed.outline.width, placed.heights[number]);
    if let Some(place) = row.finding {
        let _ = write!(svg, r##"<a href="#{finding}{place}" tabindex="-1">"##);
    }
    let _ = write!(
        svg,
        r#"<g class="row {} {}"><title>{}</title><rect class="cover" x="{}" y="{y}" width="{}" height="{height}" rx="5"/>{}<text class="label" x="{}" y="{}">{}</text>"#,
        class(end),
        mark_class(row.mark),
        escape(&row.tooltip),
        x + 6.0,
        width - 12.0,
        icon(row, x + PADDING + 5.0, y + 11.0),
        x + INDENT,
        y + 15.0,
        escape(&middle(&row.label, LABEL))
    );
    if !row.version.is_empty() {
        let _ = write!(
            svg,
            r#"<text class="version" x="{}" y="{}">{}</text>"#,
            x + width - PADDING,
            y + 15.0,
            escape(&middle(&row.version, 18))
        );
    }
    if !row.note.is_empty() {
        let _ = write!(
            svg,
            r#"<text class="note" x="{}" y="{}">{}</text>"#,
            x + INDENT,
            y + 29.0,
            escape(&shortened(&row.note, width - INDENT - PADDING))
        );
    }
    svg.push_str("</g>");
    if row.finding.is_some() {
        svg.push_str("</a>");
    }
}

/// The icon of a row; its shape alone shows the severity.
fn icon(row: &Row, x: f64, y: f64) -> String {
    let (left, top) = (x - 6.0, y - 6.0);
    let glyph = match row.mark {
        Mark::None if row.objects.len() > 1 => r#"<path class="line" d="M3 4h6M3 8h6"/>"#,
        Mark::None => r#"<circle class="dot" cx="6" cy="6" r="2.5"/>"#,
        Mark::Ghost => r#"<circle class="ring" cx="6" cy="6" r="3.5"/>"#,
        Mark::Note => {
            r#"<circle class="disc" cx="6" cy="6" r="6"/><path class="glyph" d="M6 5.4v3.4M6 3.1v.4"/>"#
        }
        Mark::Warning => {
            r#"<path class="disc" d="M6 .2 12 11.4H0z"/><path class="glyph" d="M6 4.2v3.4M6 9.3v.3"/>"#
        }
        Mark::Error => {
            r#"<circle class="disc" cx="6" cy="6" r="6"/><path class="glyph" d="M3.7 3.7l4.6 4.6M8.3 3.7l-4.6 4.6"/>"#
        }
        Mark::Missing => {
            r#"<circle class="hole" cx="6" cy="6" r="5.2"/><path class="cross" d="M3.9 3.9l4.2 4.2M8.1 3.9l-4.2 4.2"/>"#
        }
    };
    format!(r#"<g class="sign" transform="translate({left} {top})">{glyph}</g>"#)
}

fn mark_class(mark: Mark) -> &'static str {
    match mark {
        Mark::None => "plain",
        Mark::Ghost => "unused",
        Mark::Note => "note-mark",
        Mark::Warning => "warning-mark",
        Mark::Error => "error-mark",
        Mark::Missing => "missing-mark",
    }
}

/// Shortens a text to `limit` characters by removing its middle.
pub(super) fn middle(text: &str, limit: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= limit {
        return text.to_owned();
    }
    let kept = limit.saturating_sub(1);
    let front: String = characters[..kept.div_ceil(2)].iter().collect();
    let back: String = characters[characters.len() - kept / 2..].iter().collect();
    format!("{front}…{back}")
}

/// Shortens a small text to a width by removing its end.
fn shortened(text: &str, width: f64) -> String {
    let limit = (width / SMALL_CHARACTER) as usize;
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let kept: String = text.chars().take(limit.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Shortens a path to a width by removing its start, whole components if possible.
fn tail(text: &str, width: f64) -> String {
    let limit = (width / SMALL_CHARACTER) as usize;
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    let kept: String = text.chars().skip(count - limit.saturating_sub(1)).collect();
    match kept.find('/') {
        Some(at) if at + 1 < kept.len() => format!("…{}", &kept[at..]),
        _ => format!("…{kept}"),
    }
}
