//! Where the bytes of images are, for a terminal.

use super::heading::heading;
use super::style::{BOLD, field, line, separate, show, table};
use crate::details::count;
use crate::size::{SizeReport, percent, title};
use crate::{ImageReport, one_line};
use imgcheck_base::decimal_bytes::decimal_bytes as bytes;

/// The packages that are shown, and the files of each cause.
const PACKAGES: usize = 15;
const FILES: usize = 5;
/// The longest build step that a table shows, in characters.
const STEP: usize = 60;

/// The sizes of every image.
pub fn sizes(images: &[ImageReport], width: Option<u16>) -> String {
    let mut out = String::new();
    for image in images {
        separate(&mut out);
        heading(&mut out, &image.facts, None, width);
        write(&mut out, image, &SizeReport::of(image), width);
    }
    out
}

fn write(out: &mut String, image: &ImageReport, report: &SizeReport, width: Option<u16>) {
    let (size, gpu) = (&report.size, &report.gpu_code);
    let files = usize::try_from(size.files).unwrap_or(usize::MAX);
    let (all, of_gpu) = (bytes(size.bytes), bytes(gpu.bytes));
    line(
        out,
        &format!(
            "{BOLD}{all}{BOLD:#} in {}, not compressed; {of_gpu} of it is GPU code\n",
            count(files, "file")
        ),
    );
    let others = size
        .bytes
        .saturating_sub(size.causes.iter().map(|it| it.bytes).sum());
    let share = |it: u64| format!("{} %", percent(it, size.bytes));
    let mut causes = table(width, &["PROBABLY NOT NEEDED", "SIZE", "SHARE"]);
    for cause in &size.causes {
        causes.add_row([
            title(cause, &gpu.gpus),
            bytes(cause.bytes),
            share(cause.bytes),
        ]);
    }
    causes.add_row([
        "needed, as far as is known".to_owned(),
        bytes(others),
        share(others),
    ]);
    line(out, &show(causes));
    for cause in size.causes.iter() {
        line(out, &format!("\n{}", title(cause, &gpu.gpus)));
        for it in cause.largest.iter().take(FILES) {
            let detail = if it.detail.is_empty() {
                String::new()
            } else {
                format!(" ({})", it.detail)
            };
            field(
                out,
                &bytes(it.bytes),
                &format!("{}{detail}", it.path),
                width,
            );
        }
        if let more @ 1.. = cause.largest.len().saturating_sub(FILES) {
            field(
                out,
                "",
                &format!("and {more} more (see --format json)"),
                width,
            );
        }
    }
    out.push('\n');
    layers(out, image, report, width);
    out.push('\n');
    packages(out, report, width);
    if gpu.gpus.is_empty() && gpu.bytes > 0 {
        line(
            out,
            "\nGive --gpu to see how much of the GPU code your GPUs cannot select.",
        );
    }
}

fn layers(out: &mut String, image: &ImageReport, report: &SizeReport, width: Option<u16>) {
    let mut layers = table(width, &["LAYER", "SIZE", "REPLACED LATER", "BUILD STEP"]);
    for (index, layer) in report.size.layers.iter().enumerate() {
        let step = image
            .facts
            .layers
            .get(index)
            .map(|it| one_line(&it.created_by));
        let step: String = step.unwrap_or_default().chars().take(STEP).collect();
        let replaced = if layer.replaced > 0 {
            bytes(layer.replaced)
        } else {
            "-".to_owned()
        };
        layers.add_row([index.to_string(), bytes(layer.bytes), replaced, step]);
    }
    line(out, &show(layers));
}

fn packages(out: &mut String, report: &SizeReport, width: Option<u16>) {
    let mut packages = table(width, &["PACKAGE OR DIRECTORY", "SIZE", "SHARE"]);
    let all = report.size.bytes;
    for it in report.size.packages.iter().take(PACKAGES) {
        let share = format!("{} %", percent(it.bytes, all));
        packages.add_row([one_line(&it.name), bytes(it.bytes), share]);
    }
    let others = report
        .size
        .packages
        .iter()
        .skip(PACKAGES)
        .map(|it| it.bytes);
    let others = others.sum::<u64>() + report.size.rest;
    if others > 0 {
        packages.add_row([
            "others".to_owned(),
            bytes(others),
            format!("{} %", percent(others, all)),
        ]);
    }
    line(out, &show(packages));
}
