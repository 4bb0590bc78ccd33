//! The JSON Schemas that are published, so that editors complete and check configuration and rule files, and programs know
//! what a report contains.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};

/// Where the published schemas are.
const BASE: &str = "https://raw.githubusercontent.com/imgcheck/imgcheck/main/docs/src/schema";

/// The schema (draft 2020-12) of what is read, such as a configuration file. `name` is that of the published file.
pub fn of_input<T: JsonSchema>(name: &str) -> Schema {
    generate::<T>(name, SchemaSettings::draft2020_12().for_deserialize())
}

/// The schema of what is written, such as a report: keys that are always written are required.
pub fn of_output<T: JsonSchema>(name: &str) -> Schema {
    generate::<T>(name, SchemaSettings::draft2020_12().for_serialize())
}

fn generate<T: JsonSchema>(name: &str, settings: SchemaSettings) -> Schema {
    let settings = settings.with_transform(RecursiveTransform(without_example));
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("$id".to_owned(), format!("{BASE}/{name}").into());
    schema
}

/// Cuts the Rust example from the description of a type.
fn without_example(schema: &mut Schema) {
    if let Some(serde_json::Value::String(text)) = schema.get_mut("description")
        && let Some(end) = text.find("\n\n```")
    {
        text.truncate(end);
    }
}
