//! How many images run with a driver, as a curve and a table.

use std::fmt::Write;

use super::views::grouped;
use crate::fleet::counts::Counts;
use crate::html::markup::escape;

/// Minimum drivers in the table.
const ROWS: usize = 24;
const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 260.0;
/// Room for labels.
const LEFT: f64 = 48.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 34.0;
/// Least distance of two labels of the horizontal axis.
const APART: f64 = 52.0;

/// The minimum drivers of a fleet.
pub(super) struct Drivers {
    /// References whose minimum is known.
    pub known: String,
    /// The remaining references.
    pub others: String,
    pub svg: String,
    /// Driver, the share that runs with it, and how many have this minimum.
    pub rows: Vec<(String, String, String)>,
    pub left_out: usize,
}

/// A step of the curve.
struct Step {
    /// The branch, with the rest as a fraction: 535.183.
    at: f64,
    name: String,
    /// The share that runs, from 0 to 1.
    share: f64,
    count: u64,
}

/// The curve; `None` if no minimum driver is known.
pub(super) fn drivers(counts: &Counts) -> Option<Drivers> {
    let all: u64 = counts.drivers.iter().map(|(_, count)| count).sum();
    if all == 0 {
        return None;
    }
    let judged: u64 = counts.verdicts.iter().map(|(_, count)| count).sum();
    let mut run = 0;
    let steps = counts.drivers.iter().map(|((numbers, name), count)| {
        run += count;
        let part = |place: usize| f64::from(numbers.get(place).copied().unwrap_or_default());
        Step {
            at: part(0).min(10_000.0) + part(1).min(999.0) / 1000.0,
            name: name.clone(),
            share: run as f64 / all as f64,
            count,
        }
    });
    let steps: Vec<Step> = steps.collect();
    let mut common: Vec<&Step> = steps.iter().collect();
    common.sort_by_key(|step| std::cmp::Reverse(step.count));
    let least = common.get(ROWS - 1).map_or(0, |step| step.count);
    let rows = steps.iter().filter(|step| step.count >= least).take(ROWS);
    let rows: Vec<(String, String, String)> = rows
        .map(|step| (step.name.clone(), percent(step.share), grouped(step.count)))
        .collect();
    Some(Drivers {
        known: grouped(all),
        others: grouped(judged.saturating_sub(all) + counts.drivers.left_out),
        svg: draw(&steps),
        left_out: steps.len() - rows.len(),
        rows,
    })
}

/// `82 %`; only all of them are `100 %`, and only none `0 %`.
fn percent(share: f64) -> String {
    match share {
        share if share >= 1.0 => "100 %".to_owned(),
        share if share > 0.99 => "> 99 %".to_owned(),
        share if share > 0.0 && share < 0.01 => "< 1 %".to_owned(),
        share => format!("{:.0} %", share * 100.0),
    }
}

fn draw(steps: &[Step]) -> String {
    let first = steps.first().map_or(0.0, |step| step.at);
    let last = steps.last().map_or(0.0, |step| step.at);
    // The curve begins and ends outside of the minimums.
    let (from, to) = (first - 20.0, last + 30.0);
    let x = |at: f64| LEFT + (at - from) / (to - from) * (WIDTH - LEFT - RIGHT);
    let y = |share: f64| HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
    let mut svg = String::new();
    // Writing to a text cannot fail.
    let _ = write!(
        svg,
        r#"<svg class="curve" role="img" aria-labelledby="curve-t" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"><title id="curve-t">Share of the images that run, by driver</title>"#
    );
    for quarter in 0..=4 {
        let share = f64::from(quarter) / 4.0;
        let _ = write!(
            svg,
            r#"<path class="grid" d="M{LEFT} {height:.1}H{right:.1}"/><text x="{label:.1}" y="{base:.1}" text-anchor="end">{percent:.0} %</text>"#,
            height = y(share),
            right = WIDTH - RIGHT,
            label = LEFT - 8.0,
            base = y(share) + 4.0,
            percent = share * 100.0
        );
    }
    let _ = write!(svg, r#"<path class="line" d="M{LEFT} {:.1}"#, y(0.0));
    for step in steps {
        let _ = write!(svg, "H{:.1}V{:.1}", x(step.at), y(step.share));
    }
    let _ = write!(svg, r#"H{:.1}"/>"#, WIDTH - RIGHT);
    let mut free = 0.0;
    for step in steps {
        let (at, height) = (x(step.at), y(step.share));
        let _ = write!(
            svg,
            r#"<circle class="point" cx="{at:.1}" cy="{height:.1}" r="3.5"><title>driver {}: {}</title></circle>"#,
            escape(&step.name),
            percent(step.share)
        );
        if at >= free {
            let _ = write!(
                svg,
                r#"<text x="{at:.1}" y="{:.1}" text-anchor="middle">{:.0}</text><text class="share-text" x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"#,
                HEIGHT - 12.0,
                step.at.floor(),
                at - 6.0,
                (height - 6.0).max(TOP - 4.0),
                escape(&percent(step.share))
            );
            free = at + APART;
        }
    }
    svg.push_str("</svg>");
    svg
}
