//! Where the bytes of an image are, as a picture: a rectangle for each package, with an area like its size.

use std::fmt::Write;

use super::markup::{Html, escape};
use crate::ImageReport;
use crate::size::{SizeReport, title};
use imgcheck_base::decimal_bytes::decimal_bytes as bytes;
use imgcheck_base::lexical::is_below;
use imgcheck_model::size::Cause;

/// Size of the picture.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 420.0;
/// Packages with a rectangle of their own.
const SHOWN: usize = 40;
/// Width of a character of a label.
const CHARACTER: f64 = 7.2;

/// The sizes of an image.
pub(super) struct SizeView {
    pub all: String,
    /// Name and size of each cause.
    pub causes: Vec<(String, String)>,
    pub picture: Html,
}

/// A rectangle of the picture.
struct Tile {
    name: String,
    bytes: u64,
    /// How much of it a container probably does not need.
    spare: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Rectangle {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// The view of an image; `None` if it has no bytes.
pub(super) fn view(image: &ImageReport) -> Option<SizeView> {
    let report = SizeReport::of(image);
    let (size, gpus) = (&report.size, &report.gpu_code.gpus);
    (size.bytes > 0).then(|| SizeView {
        all: bytes(size.bytes),
        causes: size
            .causes
            .iter()
            .map(|it| (title(it, gpus), bytes(it.bytes)))
            .collect(),
        picture: Html::of_picture(draw(&tiles(&report))),
    })
}

/// The largest packages, what a later layer replaces, and the rest; largest first.
fn tiles(report: &SizeReport) -> Vec<Tile> {
    let size = &report.size;
    let causes = size.causes.iter().filter(|it| it.cause != Cause::Replaced);
    let spare: Vec<_> = causes.flat_map(|it| &it.largest).collect();
    let mut tiles: Vec<Tile> = size
        .packages
        .iter()
        .take(SHOWN)
        .map(|package| Tile {
            name: package.name.clone(),
            bytes: package.bytes,
            spare: spare
                .iter()
                .filter(|it| is_below(&it.path, &package.path))
                .map(|it| it.bytes)
                .sum(),
        })
        .collect();
    let whole = |name: &str, bytes, spare| Tile {
        name: name.to_owned(),
        bytes,
        spare,
    };
    let replaced = size.of_cause(Cause::Replaced);
    tiles.push(whole(
        "replaced or removed by a later layer",
        replaced,
        replaced,
    ));
    let others = size
        .packages
        .iter()
        .skip(SHOWN)
        .map(|it| it.bytes)
        .sum::<u64>()
        + size.rest;
    tiles.push(whole("others", others, 0));
    tiles.retain(|it| it.bytes > 0);
    tiles.sort_by_key(|it| std::cmp::Reverse(it.bytes));
    tiles
}

fn draw(tiles: &[Tile]) -> String {
    let mut svg = String::new();
    // Writing to a text cannot fail.
    let _ = write!(
        svg,
        r#"<svg class="treemap" role="img" aria-label="Sizes of packages" viewBox="0 0 {WIDTH} {HEIGHT}" xmlns="http://www.w3.org/2000/svg">"#
    );
    let sizes: Vec<f64> = tiles.iter().map(|it| it.bytes as f64).collect();
    for (tile, place) in tiles.iter().zip(squarified(&sizes)) {
        let Rectangle {
            x,
            y,
            width,
            height,
        } = place;
        let (name, of) = (escape(&tile.name), bytes(tile.bytes));
        let spare = match tile.spare {
            0 => String::new(),
            spare => format!(", {} of it probably not needed", bytes(spare)),
        };
        let _ = write!(
            svg,
            r#"<g><title>{name}: {of}{spare}</title><rect class="tile" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#
        );
        if tile.spare > 0 {
            let part = height * (tile.spare as f64 / tile.bytes as f64).min(1.0);
            let _ = write!(
                svg,
                r#"<rect class="spare" x="{x:.1}" y="{:.1}" width="{width:.1}" height="{part:.1}"/>"#,
                y + height - part
            );
        }
        let room = ((width - 8.0) / CHARACTER).max(0.0) as usize;
        if height > 34.0 && room >= 6 {
            let short: String = tile.name.chars().take(room).collect();
            let (x, first, second) = (x + 5.0, y + 16.0, y + 31.0);
            let _ = write!(
                svg,
                r#"<text x="{x:.1}" y="{first:.1}">{}</text><text class="dim" x="{x:.1}" y="{second:.1}">{of}</text>"#,
                escape(&short)
            );
        }
        svg.push_str("</g>");
    }
    svg.push_str("</svg>");
    svg
}

/// Places areas in the picture, largest first, so that rectangles are near squares (Bruls, Huizing and van Wijk, "Squarified Treemaps",
/// 2000).
fn squarified(sizes: &[f64]) -> Vec<Rectangle> {
    let all: f64 = sizes.iter().sum();
    let scale = WIDTH * HEIGHT / all.max(1.0);
    let areas: Vec<f64> = sizes.iter().map(|it| it * scale).collect();
    let mut left = Rectangle {
        x: 0.0,
        y: 0.0,
        width: WIDTH,
        height: HEIGHT,
    };
    let mut placed = Vec::new();
    let mut rest = &areas[..];
    while !rest.is_empty() {
        let side = left.width.min(left.height);
        let mut count = 1;
        while count < rest.len() && worst(&rest[..=count], side) <= worst(&rest[..count], side) {
            count += 1;
        }
        left = row(&rest[..count], left, &mut placed);
        rest = &rest[count..];
    }
    placed
}

/// The worst ratio of sides in a row along a side.
fn worst(row: &[f64], side: f64) -> f64 {
    let depth = row.iter().sum::<f64>() / side.max(f64::MIN_POSITIVE);
    let ratio = |area: &f64| {
        let length = area / depth.max(f64::MIN_POSITIVE);
        (length / depth).max(depth / length)
    };
    row.iter().map(ratio).fold(0.0, f64::max)
}

/// Places a row along the shorter side, and returns what is left.
fn row(areas: &[f64], left: Rectangle, placed: &mut Vec<Rectangle>) -> Rectangle {
    let is_wide = left.width >= left.height;
    let side = if is_wide { left.height } else { left.width };
    let depth = areas.iter().sum::<f64>() / side.max(f64::MIN_POSITIVE);
    let mut along = 0.0;
    for area in areas {
        let length = area / depth.max(f64::MIN_POSITIVE);
        placed.push(match is_wide {
            true => Rectangle {
                x: left.x,
                y: left.y + along,
                width: depth,
                height: length,
            },
            false => Rectangle {
                x: left.x + along,
                y: left.y,
                width: length,
                height: depth,
            },
        });
        along += length;
    }
    match is_wide {
        true => Rectangle {
            x: left.x + depth,
            width: (left.width - depth).max(0.0),
            ..left
        },
        false => Rectangle {
            y: left.y + depth,
            height: (left.height - depth).max(0.0),
            ..left
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_like_the_sizes_and_fill_the_picture() {
        let sizes = [60.0, 30.0, 20.0, 5.0, 5.0, 1.0];
        let placed = squarified(&sizes);
        let all: f64 = sizes.iter().sum();
        for (size, place) in sizes.iter().zip(&placed) {
            let share = place.width * place.height / (WIDTH * HEIGHT);
            assert!((share - size / all).abs() < 1e-9, "{place:?}");
            assert!(
                place.x >= 0.0 && place.x + place.width <= WIDTH + 1e-6,
                "{place:?}"
            );
            assert!(
                place.y >= 0.0 && place.y + place.height <= HEIGHT + 1e-6,
                "{place:?}"
            );
            let ratio = (place.width / place.height).max(place.height / place.width);
            assert!(ratio < 8.0, "{place:?}");
        }
        for (index, one) in placed.iter().enumerate() {
            for other in &placed[index + 1..] {
                let apart = one.x + one.width <= other.x + 1e-6
                    || other.x + other.width <= one.x + 1e-6
                    || one.y + one.height <= other.y + 1e-6
                    || other.y + other.height <= one.y + 1e-6;
                assert!(apart, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn nothing_and_one_are_places_too() {
        assert_eq!(squarified(&[]), []);
        let whole = Rectangle {
            x: 0.0,
            y: 0.0,
            width: WIDTH,
            height: HEIGHT,
        };
        assert_eq!(squarified(&[7.0]), [whole]);
    }
}
