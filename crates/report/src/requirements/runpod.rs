//! Requirements as a filter of RunPod's API (<https://docs.runpod.io/api-reference/pods/POST/pods>).

use serde::Serialize;

use super::needs::Requirements;
use crate::{ImageReport, to_json};
use imgcheck_model::knowledge::Knowledge;

/// A part of the body of `POST /pods`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Pod<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    image_name: Option<&'r str>,
    /// One of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gpu_type_ids: Vec<&'r str>,
    /// What the driver of the machine has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allowed_cuda_versions: Vec<&'r str>,
}

/// A part of the request for a Pod with an image; a list of them for several.
pub fn runpod(images: &[ImageReport], known: &Knowledge) -> String {
    let needs: Vec<_> = images
        .iter()
        .map(|it| Requirements::of(it, known))
        .collect();
    let pods: Vec<Pod> = needs.iter().map(|it| of_one(it, known)).collect();
    let body = match pods.as_slice() {
        [only] => to_json(only),
        all => to_json(&all),
    };
    body.unwrap_or_default()
}

/// GPUs with machine code count, or those that only PTX runs on if there are no others: for these the driver must be newer.
fn of_one<'r>(needs: &'r Requirements<'_>, known: &'r Knowledge) -> Pod<'r> {
    let ids = |ptx_only: bool| {
        let models = needs.models(ptx_only);
        models
            .flat_map(|it| known.gpu_names.runpod(it))
            .map(String::as_str)
    };
    let ptx_only = ids(false).next().is_none() && ids(true).next().is_some();
    let floor = needs.driver.and_then(|it| it.oldest(ptx_only));
    let versions = known.gpu_names.runpod_cuda.iter().map(String::as_str);
    let drivers = &known.targets.drivers;
    Pod {
        image_name: needs.reference,
        gpu_type_ids: ids(ptx_only).collect(),
        allowed_cuda_versions: floor.map_or_else(Vec::new, |floor| {
            versions
                .filter(|it| drivers.all_are_since(it, floor))
                .collect()
        }),
    }
}
