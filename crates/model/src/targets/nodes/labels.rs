//! Which labels of a node say what GPUs and driver it has: `rules/knowledge/node-labels.yaml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::driver_version::DriverVersion;
use super::super::gpu::Capability;
use super::super::gpu_table::GpuTable;

/// The labels, each list in the order in which they are tried.
#[derive(Debug, Deserialize)]
pub struct NodeLabels {
    product: Vec<Row>,
    capability: Vec<Row>,
    driver: Vec<Row>,
    present: Vec<Row>,
    resources: Vec<String>,
    /// Drivers of ResourceSlices.
    pub(super) slices: SliceAttributes,
}

#[derive(Debug, Deserialize)]
struct Row {
    /// Labels whose values are joined with dots.
    labels: Vec<String>,
}

/// Names in a ResourceSlice.
#[derive(Debug, Deserialize)]
pub(super) struct SliceAttributes {
    pub driver: String,
    pub product: String,
    pub capability: String,
    pub version: String,
}

/// What the labels of a node say.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GpuLabels {
    pub product: Option<String>,
    pub capability: Option<String>,
    pub driver: Option<String>,
}

impl NodeLabels {
    pub(super) fn read(&self, labels: &BTreeMap<String, String>) -> GpuLabels {
        let first = |rows: &[Row]| {
            let value = |row: &Row| {
                let values: Option<Vec<&str>> = row
                    .labels
                    .iter()
                    .map(|label| labels.get(label).map(String::as_str))
                    .collect();
                let joined = values?.join(".");
                Some(joined.trim_end_matches('.').to_owned()).filter(|it| !it.is_empty())
            };
            rows.iter().find_map(value)
        };
        GpuLabels {
            product: first(&self.product),
            capability: first(&self.capability),
            driver: first(&self.driver),
        }
    }

    /// The GPU of nodes with these labels, if one of them says it.
    pub fn gpu(&self, labels: &BTreeMap<String, String>, table: &GpuTable) -> Option<String> {
        self.read(labels).gpu(table)
    }

    /// Whether a node has a GPU, by its labels and resources.
    pub(super) fn has_gpu(
        &self,
        labels: &BTreeMap<String, String>,
        resources: &BTreeMap<String, u64>,
    ) -> bool {
        let is_gpu = |name: &String| self.is_gpu_resource(name);
        let held = resources
            .iter()
            .any(|(name, count)| *count > 0 && is_gpu(name));
        let is_present = |row: &Row| {
            let mut labels = row.labels.iter().filter_map(|label| labels.get(label));
            labels.any(|value| value == "true")
        };
        held || self.present.iter().any(is_present)
    }

    /// Whether an extended resource is a GPU of NVIDIA: `nvidia.com/gpu`, `nvidia.com/mig-1g.5gb`.
    pub fn is_gpu_resource(&self, name: &str) -> bool {
        self.resources
            .iter()
            .any(|known| match known.strip_suffix('*') {
                Some(prefix) => name.starts_with(prefix),
                None => name == known,
            })
    }
}

impl GpuLabels {
    /// The GPU as a target names it: the product if it is known, else the architecture.
    pub fn gpu(&self, table: &GpuTable) -> Option<String> {
        let capability = self.capability.as_deref().and_then(|text| {
            let mut numbers = text.split('.').map(str::parse);
            Some(Capability {
                major: numbers.next()?.ok()?,
                minor: numbers.next().map_or(Some(0), Result::ok)?,
            })
        });
        let product = self.product.as_ref().filter(|product| {
            // MIG and time slicing change the name of the product, never the capability.
            let known = table.parse(product);
            known.is_ok_and(|gpu| capability.is_none_or(|it| it == gpu.capability))
        });
        product.cloned().or_else(|| {
            let sm = capability?.sm();
            table.parse(&sm).is_ok().then_some(sm)
        })
    }

    /// The driver, if it is a whole version.
    pub fn driver(&self) -> Option<String> {
        let driver = self.driver.clone()?;
        DriverVersion::parse(&driver).is_ok().then_some(driver)
    }
}
