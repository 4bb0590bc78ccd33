//! Requirements as an image compatibility specification of Node Feature Discovery
//! (<https://kubernetes-sigs.github.io/node-feature-discovery/v0.20/usage/image-compatibility.html>).
//!
//! `nfd compat validate-node` compares it with what it sees of the node itself: PCI devices and kernel modules, but no version of the driver.

use super::needs::{Requirements, comments, each, least_driver};
use crate::ImageReport;
use imgcheck_model::knowledge::Knowledge;

/// A specification for each image. One without GPU code is compatible with every node.
pub fn nfd(images: &[ImageReport], known: &Knowledge) -> String {
    each(images, known, "---\n", |needs| of_one(needs, known))
}

fn of_one(needs: &Requirements<'_>, known: &Knowledge) -> String {
    let capabilities = needs.gpus.iter().map(|it| it.capability.as_str());
    let devices = capabilities.flat_map(|it| known.gpu_names.pci(it));
    let devices: Vec<String> = devices.map(|it| format!("\"{it}\"")).collect();
    let rules = match devices.is_empty() {
        true => String::new(),
        false => RULES.replace("DEVICES", &devices.join(", ")),
    };
    format!(
        "{}{}version: v1alpha1\ncompatibilities:{}\n{rules}",
        comments(needs),
        least_driver(needs),
        if rules.is_empty() { " []" } else { "" }
    )
}

/// 10de is NVIDIA, 0300 and 0302 are the classes of displays and of 3D controllers.
const RULES: &str = "\
- description: NVIDIA GPU that runs the code of the image
  rules:
  - name: gpu
    matchFeatures:
    - feature: pci.device
      matchExpressions:
        vendor: {op: In, value: [\"10de\"]}
        class: {op: In, value: [\"0300\", \"0302\"]}
        device: {op: InRegexp, value: [DEVICES]}
  - name: driver
    matchFeatures:
    - feature: kernel.loadedmodule
      matchExpressions:
        nvidia: {op: Exists}
";
