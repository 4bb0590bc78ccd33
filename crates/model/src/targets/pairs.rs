//! Which drivers support a GPU at all.
//!
//! A driver branch brings the chips of a new generation, and a later one drops the oldest: Blackwell starts at 570, and 580 is the last
//! branch for Maxwell, Pascal and Volta.

use super::driver_version::DriverVersion;
use super::gpu::Gpu;
use super::tables::Tables;
use imgcheck_base::spelling::InvalidInput;

impl Tables {
    /// Checks that one machine can have these GPUs and this driver.
    ///
    /// # Errors
    /// No release of the driver's branch supports one of the GPUs. An unknown combination is not an error.
    pub fn check_pairs(&self, gpus: &[Gpu], driver: &DriverVersion) -> Result<(), InvalidInput> {
        match contradictions(gpus, driver, self) {
            None => Ok(()),
            Some(problem) => Err(InvalidInput {
                problem,
                help: "give the GPUs and the driver of one machine, as `nvidia-smi` prints them"
                    .to_owned(),
            }),
        }
    }
}

/// Why no machine has these GPUs with this driver, one sentence for each GPU; `None` if one may have them.
pub(super) fn contradictions(
    gpus: &[Gpu],
    driver: &DriverVersion,
    tables: &Tables,
) -> Option<String> {
    let all = gpus.iter().filter_map(|gpu| of_gpu(gpu, driver, tables));
    let sentences: Vec<String> = all.collect();
    (!sentences.is_empty()).then(|| sentences.join("; "))
}

fn of_gpu(gpu: &Gpu, driver: &DriverVersion, tables: &Tables) -> Option<String> {
    // Tegra drivers have their own version numbers, and no table has a capability that is not listed.
    if gpu.is_tegra || !gpu.is_listed {
        return None;
    }
    let (name, branch) = (&gpu.name, driver.branch()?);
    if let Some(first) = gpu.first_branch.filter(|first| branch < *first) {
        return Some(format!(
            "driver {driver} is too old for {name}: no driver before branch {first} supports it"
        ));
    }
    let is_dropped = |architecture: &str| {
        let oldest = tables.gpus.oldest_of(architecture);
        oldest.is_some_and(|oldest| gpu.capability < oldest)
    };
    if !is_dropped(tables.drivers.oldest_architecture(branch)?) {
        return None;
    }
    let last = tables.drivers.last_branch(|oldest| !is_dropped(oldest))?;
    let generation = tables.gpus.generation(gpu.capability)?;
    Some(format!(
        "driver {driver} is too new for {name}: branch {last} is the last that supports {generation}"
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn tables() -> Tables {
        crate::knowledge::targets().unwrap()
    }

    /// The message about GPUs, separated by commas, with a driver.
    fn said(gpus: &str, driver: &str) -> Option<String> {
        let tables = tables();
        let gpus: Vec<Gpu> = gpus
            .split(',')
            .map(|gpu| tables.gpus.parse(gpu).unwrap())
            .collect();
        contradictions(&gpus, &DriverVersion::parse(driver).unwrap(), &tables)
    }

    #[test]
    fn no_driver_before_its_first_branch_supports_a_gpu() {
        for (gpu, first) in [
            ("B200", 570),
            ("GeForce RTX 5090", 570),
            ("GeForce RTX 5060", 570),
            ("RTX PRO 6000 Blackwell", 570),
            ("B300", 580),
            ("GB10 (DGX Spark)", 580),
            ("H100", 520),
            ("L4", 520),
            ("A10", 455),
            ("A100", 450),
            ("T4", 410),
            ("sm_120", 570),
            ("sm_90", 520),
        ] {
            let older = format!("{}.999.99", first - 1);
            let expected = format!(
                "driver {older} is too old for {gpu}: no driver before branch {first} supports it"
            );
            assert_eq!(said(gpu, &older), Some(expected));
            assert_eq!(said(gpu, &format!("{first}.10")), None, "{gpu}");
            assert_eq!(said(gpu, "615.71.09"), None, "{gpu}");
        }
    }

    #[test]
    fn a_branch_that_dropped_a_generation_supports_none_of_its_gpus() {
        for (gpu, last, generation) in [
            ("GeForce GTX 1080 Ti", 580, "Pascal"),
            ("V100", 580, "Volta"),
            ("M60", 580, "Maxwell"),
            ("sm_61", 580, "Pascal"),
            ("K80", 470, "Kepler"),
        ] {
            for newer in ["590.44.01", "591.44", "595.71.05", "700.1"] {
                let expected = format!(
                    "driver {newer} is too new for {gpu}: branch {last} is the last that supports {generation}"
                );
                assert_eq!(said(gpu, newer), Some(expected));
            }
            assert_eq!(said(gpu, &format!("{last}.250.02")), None, "{gpu}");
        }
        assert!(said("K80", "495.29.05").is_some());
        assert_eq!(said("T4,A100,H100", "615.71.09"), None);
    }

    #[test]
    fn each_gpu_has_a_sentence_of_its_own() {
        assert_eq!(
            said("gtx 1080 ti,v100,h100", "595.71.05").unwrap(),
            "driver 595.71.05 is too new for GeForce GTX 1080 Ti: branch 580 is the last that supports Pascal; \
             driver 595.71.05 is too new for V100: branch 580 is the last that supports Volta"
        );
    }

    #[test]
    fn what_nobody_has_established_is_no_contradiction() {
        // Drivers of a Jetson have their own numbers, the table says nothing of old branches, and no table has sm_107.
        for (gpu, driver) in [
            ("jetson agx orin", "35.4.1"),
            ("jetson agx xavier", "595.71.05"),
            ("jetson tx2", "32.7.1"),
            ("thor", "540.4.0"),
            ("v100", "375.26"),
            ("p100", "384.81"),
            ("sm_107", "535.183.06"),
            ("sm_107", "615.71.09"),
            ("sm_87", "35.4.1"),
        ] {
            assert_eq!(said(gpu, driver), None, "{gpu} with {driver}");
        }
    }

    /// A name that no GPU has would silently allow every pair.
    #[test]
    fn every_architecture_of_the_driver_table_is_one_of_the_gpu_table() {
        let tables = tables();
        for branch in [410, 470, 495, 580, 590, 615] {
            let oldest = tables.drivers.oldest_architecture(branch).unwrap();
            assert!(tables.gpus.oldest_of(oldest).is_some(), "{oldest}");
        }
        assert_eq!(tables.drivers.oldest_architecture(396), None);
    }
}
