//! The `ptxas` that a package calls, and the GPUs that it knows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_knowledge::{Assembled, Tools};
use super::tools::Process;
use imgcheck_base::version::{is_since, is_until};

/// The `ptxas` that a package of the image's process calls for some GPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GpuAssembler {
    /// The package: `Triton`.
    pub package: String,
    /// Its version.
    pub version: String,
    /// The program.
    pub path: String,
    /// The CUDA release that it is of.
    pub cuda: String,
    /// The variable with which the package takes another one.
    pub variable: String,
    /// It is for GPUs of this compute capability and newer; absent without a lower end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// It is for GPUs below this compute capability; absent without an upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
    /// The compute capabilities that it knows.
    pub gpus: Vec<String>,
}

/// Those that are known by their size: no two releases have the same.
pub(super) fn all(process: &Process<'_>, knowledge: &Tools) -> Vec<GpuAssembler> {
    let rows = knowledge.assembled.iter();
    rows.filter_map(|row| of_row(row, process, knowledge))
        .collect()
}

fn of_row(row: &Assembled, process: &Process<'_>, knowledge: &Tools) -> Option<GpuAssembler> {
    let mut names = row.distributions.iter();
    let version = names.find_map(|name| process.version(name))?;
    if !is_since(version, &row.since) || !row.until.iter().all(|it| is_until(version, it)) {
        return None;
    }
    let named = process.launch.variable(&row.variable);
    let sites = process.environment.sites.iter();
    let mut paths: Vec<String> = sites.map(|site| format!("{site}/{}", row.file)).collect();
    if !named.is_empty() {
        paths = vec![named.to_owned()];
    }
    let file = paths.iter().find_map(|it| process.root.resolve(it).ok())?;
    let mut assemblers = knowledge.assemblers.iter();
    let assembler = assemblers.find(|it| it.sizes.contains(&file.size()))?;
    Some(GpuAssembler {
        package: row.package.clone(),
        version: version.clone(),
        path: file.path(),
        cuda: assembler.cuda.clone(),
        variable: row.variable.clone(),
        from: row.from.clone(),
        below: row.below.clone(),
        gpus: assembler.gpus.clone(),
    })
}
