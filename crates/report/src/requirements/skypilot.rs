//! Requirements as the resources of a SkyPilot task (<https://docs.skypilot.co/en/stable/reference/yaml-spec.html>).

use super::needs::{Requirements, comments, each, least_driver};
use crate::ImageReport;
use imgcheck_model::knowledge::Knowledge;

/// The `resources` of a task with each image: it runs on the first accelerator of a set that can be had at the lowest price.
pub fn skypilot(images: &[ImageReport], known: &Knowledge) -> String {
    each(images, known, "---\n", |needs| of_one(needs, known))
}

fn of_one(needs: &Requirements<'_>, known: &Knowledge) -> String {
    let mut out = String::new();
    if let Some(reference) = needs.reference {
        out.push_str(&format!(
            "  image_id: {:?}\n",
            format!("docker:{reference}")
        ));
    }
    let names = &known.gpu_names;
    let models = [false, true].into_iter().flat_map(|it| needs.models(it));
    let names = models.flat_map(|it| names.skypilot(it));
    let names: Vec<String> = names.map(|it| format!("    {it}: 1\n")).collect();
    if !names.is_empty() {
        out.push_str(&format!("  accelerators:\n{}", names.concat()));
    }
    let resources = match out.is_empty() {
        true => "resources: {}\n".to_owned(),
        false => format!("resources:\n{out}"),
    };
    comments(needs) + &least_driver(needs) + &resources
}
