//! Requirements for a terminal.

use super::needs::Requirements;
use crate::ImageReport;
use crate::text::style::{BOLD, field, line, separate};
use imgcheck_model::knowledge::Knowledge;
use imgcheck_model::stack::DriverFloor;

/// Models of one compute capability that are named.
const MODELS: usize = 3;

/// What every image needs.
pub fn text(images: &[ImageReport], known: &Knowledge, width: Option<u16>) -> String {
    let mut out = String::new();
    for image in images {
        separate(&mut out);
        let needs = Requirements::of(image, known);
        line(
            &mut out,
            &format!("{BOLD}{}{BOLD:#} needs", crate::one_line(needs.name)),
        );
        for (label, text) in fields(&needs) {
            field(&mut out, label, &text, width);
        }
    }
    out
}

fn fields(needs: &Requirements) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    if !needs.platform.is_empty() {
        fields.push(("platform", needs.platform.to_owned()));
    }
    let with = |ptx_only: bool| {
        let of_kind = needs.gpus.iter().filter(|it| it.ptx_only == ptx_only);
        let named = of_kind.map(|it| match it.models.len() {
            0 => it.capability.clone(),
            count => {
                let models = it.models[..count.min(MODELS)].join(", ");
                let more = if count > MODELS { " …" } else { "" };
                format!("{} ({models}{more})", it.capability)
            }
        });
        named.collect::<Vec<_>>().join(", ")
    };
    match (needs.gpus.is_empty(), needs.has_gpu_code) {
        (true, false) => fields.push(("GPU", "none: no file has GPU code".to_owned())),
        (true, true) => {
            let unknown = "not known: its main process has no GPU code of its own, or none that certainly runs";
            fields.push(("GPU", unknown.to_owned()));
        }
        (false, _) => {
            let capabilities = with(false);
            fields.push((
                "GPU",
                format!("one with the compute capability {capabilities}"),
            ));
            let by_ptx = with(true);
            if !by_ptx.is_empty() {
                let text =
                    format!("or, by PTX that the driver compiles at the first start: {by_ptx}");
                fields.push(("", text));
            }
        }
    }
    if let Some(floor) = needs.driver {
        fields.push(("driver", driver(floor, needs.has_gpu_code)));
    }
    if let Some(compat) = needs.cuda_compat {
        fields.push((
            "",
            format!("or an older one of a data-center GPU, by the image's cuda-compat {compat}"),
        ));
    }
    if !needs.driver_capabilities.is_empty() {
        let words: Vec<&str> = needs.driver_capabilities.iter().copied().collect();
        let text = format!(
            "with the libraries of NVIDIA_DRIVER_CAPABILITIES={}",
            words.join(",")
        );
        fields.push(("", text));
    }
    if needs.shared_memory {
        let text =
            "/dev/shm of more than 64 MB with several GPUs or DataLoader workers: --shm-size";
        fields.push(("memory", text.to_owned()));
    }
    if let Some(network) = needs.network {
        fields.push(("network", format!("{network} between machines")));
    }
    if needs.rdma {
        let text = "for InfiniBand and RoCE: --ulimit memlock=-1";
        fields.push(("", text.to_owned()));
    }
    if !needs.devices.is_empty() {
        fields.push(("devices", needs.devices.join(", ")));
    }
    fields
}

fn driver(floor: &DriverFloor, has_gpu_code: bool) -> String {
    let cuda = &floor.cuda;
    match (&floor.compatible, &floor.native) {
        (Some(compatible), Some(native)) if has_gpu_code => {
            format!("{compatible} or newer for CUDA {cuda}; for PTX, {native} or newer")
        }
        (Some(only), _) | (None, Some(only)) => format!("{only} or newer for CUDA {cuda}"),
        (None, None) => format!("one for CUDA {cuda}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_matters_only_where_there_is_gpu_code() {
        let floor = DriverFloor {
            cuda: "12.8".to_owned(),
            compatible: Some("525.60.13".to_owned()),
            native: Some("570.26".to_owned()),
        };
        let alone = "525.60.13 or newer for CUDA 12.8";
        assert_eq!(driver(&floor, false), alone);
        assert_eq!(
            driver(&floor, true),
            format!("{alone}; for PTX, 570.26 or newer")
        );
    }
}
