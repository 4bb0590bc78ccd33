//! What a container starts, for reports.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::process::Environment;
use super::step::Step;
use super::value::Value;

/// What a container of the image starts, and what changes on the way to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchFacts {
    /// ENTRYPOINT and CMD, or what the caller replaces them with.
    pub command: Vec<String>,
    /// The programs and scripts on the way, in order.
    pub chain: Vec<Step>,
    /// The path that the program is executed by. Absent if the image starts none, or if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The arguments of the program, its name first. An argument that is unknown is left out.
    pub arguments: Vec<String>,
    /// The working directory of the program.
    pub working_directory: String,
    /// User and group of the program, as they were written; empty for root.
    pub user: String,
    /// The variables that decide which code is loaded, and that the program gets differently than the image configuration sets them.
    pub changes: Vec<Change>,
}

/// A variable that a script, a wrapper or the caller changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Its name, such as LD_LIBRARY_PATH.
    pub variable: String,
    /// The value in the image configuration; null if it is not set there.
    pub before: Option<String>,
    /// The value that the program gets; null if it is not set, or unknown (then there is a gap).
    pub after: Option<String>,
    /// Who sets it: `overlay`, or the path of the script or wrapper; empty if it is removed.
    pub from: String,
}

/// What differs between two environments, of the variables that `matters` names.
pub(crate) fn changes(
    before: &BTreeMap<String, String>,
    after: &Environment,
    matters: impl Fn(&str) -> bool,
) -> Vec<Change> {
    let names = before.keys().map(String::as_str);
    let names = names.chain(after.keys().map(|name| &**name));
    let mut names: Vec<&str> = names.filter(|name| matters(name)).collect();
    names.sort_unstable();
    names.dedup();
    let change = |name: &str| {
        let setting = after.get(name);
        let old = before.get(name).cloned();
        let new = setting.map(|it| &it.value);
        // HOME and PATH that the image does not set come from the container engine.
        let is_same = match new {
            None => old.is_none(),
            Some(Value::Known(new)) => {
                old.as_deref().is_none_or(|old| old == &**new)
                    && (old.is_some() || setting.is_some_and(|it| &*it.from == "image"))
            }
            Some(_) => false,
        };
        (!is_same).then(|| Change {
            variable: name.to_owned(),
            before: old,
            after: new.and_then(Value::known).map(str::to_owned),
            from: setting.map(|it| it.from.to_string()).unwrap_or_default(),
        })
    };
    names.into_iter().filter_map(change).collect()
}
