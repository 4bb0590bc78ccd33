//! The oldest driver that can run the image.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Stack;
use super::evidence::{first_numbers, is_version, split_release};

/// One release of the CUDA toolkit, from `rules/knowledge/cuda.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolkitRow {
    /// Version of the toolkit: `12.8.1`.
    pub toolkit: String,
    /// The driver that ships with it: this driver and later ones support everything.
    pub driver_native_min: String,
    /// The oldest driver that minor-version compatibility allows; text that is not a version means that there is none.
    pub driver_minor_compat_min: String,
}

/// The oldest drivers that support a CUDA version, with the keys of the JSON report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DriverFloor {
    /// The CUDA version, major and minor.
    pub cuda: String,
    /// The oldest driver that supports everything.
    pub native: Option<String>,
    /// The oldest driver that minor-version compatibility allows: it runs machine code for the GPU, but not PTX.
    pub compatible: Option<String>,
}

impl DriverFloor {
    /// The oldest driver that runs machine code for the GPU, or that also compiles PTX.
    pub fn oldest(&self, with_ptx: bool) -> Option<&str> {
        let native = self.native.as_deref();
        match with_ptx {
            true => native,
            false => self.compatible.as_deref().or(native),
        }
    }
}

/// The driver floor of a CUDA version: the lowest among the updates of its minor release. A minor release that is not in the
/// table gets the minor-version compatibility floor of its major release.
///
/// Source of the table: CUDA Toolkit Release Notes, "CUDA Toolkit and Corresponding Driver Versions".
/// `None` if the table does not contain the major release.
pub fn driver_floor(cuda: &str, table: &[ToolkitRow]) -> Option<DriverFloor> {
    let cuda = first_numbers(cuda, 2);
    let least = |count: usize, column: fn(&ToolkitRow) -> &str| {
        table
            .iter()
            .filter(|row| first_numbers(&row.toolkit, count) == first_numbers(cuda, count))
            .filter_map(|row| leading_version(column(row)))
            .min_by_key(|version| numbers(version))
            .map(str::to_owned)
    };
    let floor = DriverFloor {
        cuda: cuda.to_owned(),
        native: least(2, |row| &row.driver_native_min),
        compatible: least(1, |row| &row.driver_minor_compat_min),
    };
    (floor.native.is_some() || floor.compatible.is_some()).then_some(floor)
}

impl Stack {
    /// The driver floor of the loaded CUDA runtime; without one, of the CUDA release that PyTorch was built with, or of the runtime that is
    /// linked statically into what the main process maps.
    pub fn driver_floor(&self, linked: Option<&str>, table: &[ToolkitRow]) -> Option<DriverFloor> {
        let loaded = |name: &str| {
            self.components
                .iter()
                .find(|component| component.name == name && component.loaded)
        };
        let runtime = loaded("cuda-runtime").map(|component| &component.version);
        let cuda = runtime
            .filter(|version| version.contains('.'))
            .or_else(|| loaded("torch")?.details.get("cuda"))
            .map(String::as_str);
        driver_floor(cuda.or(linked)?, table)
    }
}

/// The version at the start of a table cell; a remark may follow it.
fn leading_version(cell: &str) -> Option<&str> {
    let (version, _) = split_release(cell);
    is_version(version).then_some(version)
}

fn numbers(version: &str) -> Vec<u32> {
    version
        .split('.')
        .map(|number| number.parse().unwrap_or(0))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn row(toolkit: &str, native: &str, compatible: &str) -> ToolkitRow {
        ToolkitRow {
            toolkit: toolkit.to_owned(),
            driver_native_min: native.to_owned(),
            driver_minor_compat_min: compatible.to_owned(),
        }
    }

    #[test]
    fn the_lowest_floor_of_a_minor_release_counts() {
        let table = [
            row("12.8.1", "570.124.06", "525.60.13"),
            row("12.8.0", "570.26", "525.60.13"),
            row("10.2.89", "440.33", "none (it starts with 11.0)"),
        ];
        let floor = driver_floor("12.8.90", &table).unwrap();
        assert_eq!(floor.cuda, "12.8");
        assert_eq!(floor.native.as_deref(), Some("570.26"));
        assert_eq!(floor.compatible.as_deref(), Some("525.60.13"));
        assert_eq!(driver_floor("10.2", &table).unwrap().compatible, None);
        assert_eq!(driver_floor("13.0", &table), None);
        assert_eq!(driver_floor("", &table), None);
    }

    #[test]
    fn an_unknown_minor_release_gets_the_floor_of_its_major_release() {
        let floor = driver_floor("13.99", &crate::knowledge::toolkits().unwrap()).unwrap();
        assert_eq!(floor.cuda, "13.99");
        assert_eq!(floor.native, None);
        assert_eq!(floor.compatible.as_deref(), Some("580"));
        assert_eq!(
            driver_floor("10.99", &crate::knowledge::toolkits().unwrap()),
            None
        );
    }
}
