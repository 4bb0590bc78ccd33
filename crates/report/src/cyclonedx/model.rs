//! The subset of CycloneDX 1.6 that imgcheck writes, with the names of its JSON Schema
//! (<https://cyclonedx.org/docs/1.6/json/>).

use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Bom {
    #[serde(rename = "$schema")]
    pub schema: &'static str,
    pub bom_format: &'static str,
    pub spec_version: &'static str,
    pub serial_number: String,
    pub version: u32,
    pub metadata: Metadata,
    pub components: Vec<Component>,
    pub dependencies: Vec<Dependency>,
    pub compositions: Vec<Composition>,
}

#[derive(Serialize)]
pub(super) struct Metadata {
    pub tools: Tools,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component: Option<Component>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Property>,
}

#[derive(Serialize)]
pub(super) struct Tools {
    pub components: [Tool; 1],
}

#[derive(Serialize)]
pub(super) struct Tool {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub name: &'static str,
    pub version: &'static str,
}

#[derive(Default, Serialize)]
pub(super) struct Component {
    #[serde(rename = "type")]
    pub kind: &'static str,
    #[serde(rename = "bom-ref")]
    pub reference: String,
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hashes: Vec<Hash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purl: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Property>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<Component>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

#[derive(Serialize)]
pub(super) struct Hash {
    pub alg: &'static str,
    pub content: String,
}

#[derive(Serialize)]
pub(super) struct Property {
    pub name: String,
    pub value: String,
}

#[derive(Serialize)]
pub(super) struct Evidence {
    pub identity: Vec<Identity>,
    pub occurrences: Vec<Occurrence>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Identity {
    pub field: &'static str,
    pub confidence: f32,
    pub concluded_value: String,
    pub methods: Vec<Method>,
}

#[derive(Serialize)]
pub(super) struct Method {
    pub technique: &'static str,
    pub confidence: f32,
    pub value: String,
}

#[derive(Serialize)]
pub(super) struct Occurrence {
    pub location: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Dependency {
    #[serde(rename = "ref")]
    pub reference: String,
    pub depends_on: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Composition {
    pub aggregate: &'static str,
    pub assemblies: Vec<String>,
}
