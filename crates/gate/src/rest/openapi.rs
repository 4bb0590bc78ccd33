//! The description of the interface, OpenAPI 3.1, made from the types. Its schemas are JSON Schema (draft 2020-12), as those that imgcheck
//! publishes.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::types::{CheckRequest, Queued};
use crate::events::{BATCH, Received};
use crate::server::Problem;
use imgcheck_report as report;

/// Where OpenAPI keeps schemas.
const SCHEMAS: &str = "/components/schemas";

/// The description as a JSON document.
pub fn openapi() -> String {
    let settings =
        || SchemaSettings::draft2020_12().with(|it| it.definitions_path = SCHEMAS.into());
    let mut output = settings().for_serialize().into_generator();
    let mut input = settings().for_deserialize().into_generator();
    let request = content(input.subschema_for::<CheckRequest>());
    let report = content(report::json::report_schema(&mut output));
    let queued = content(output.subschema_for::<Queued>());
    let problem = content(output.subschema_for::<Problem>());
    let received = content(output.subschema_for::<Received>());
    let refused = |about: &str| json!({"description": about, "content": problem});
    let answers = json!({
        "200": {"description": "The report, as `imgcheck check -f json` writes it", "content": report},
        "202": {"description": "The image is read now: ask again", "content": queued, "headers": {
            "Location": {"description": "Where to ask", "schema": {"type": "string"}},
            "Retry-After": {"description": "Seconds to wait", "schema": {"type": "integer"}},
        }},
        "400": refused("The question is wrong"),
        "401": refused("A bearer token or a client certificate is required"),
        "403": refused("The registry denies access"),
        "404": refused("There is no such image, or nobody asked for it"),
        "408": refused("The request took too long"),
        "413": refused("The request is too large"),
        "422": refused("The image cannot be read or judged"),
        "502": refused("The registry does not answer"),
        "503": refused("The server cannot answer now"),
    });
    let parameter = |name: &str, place: &str, about: &str, schema: Value, required: bool| json!({"name": name, "in": place, "description": about, "schema": schema, "required": required});
    let text = || json!({"type": "string"});
    let digest = json!({"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"});
    let mut schemas = definitions(&mut output);
    schemas.extend(definitions(&mut input));
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "imgcheck serve",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Checks GPU container images in registries against what they promise.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "paths": {
            "/v1/check": {"post": {
                "operationId": "check",
                "summary": "Check an image",
                "requestBody": {"required": true, "content": request},
                "responses": answers.clone(),
            }},
            "/v1/verdicts/{digest}": {"get": {
                "operationId": "verdict",
                "summary": "The verdict on an image that was read",
                "parameters": [
                    parameter("digest", "path", "Digest of the manifest or index", digest, true),
                    parameter("reference", "query", "The reference whose promises count", text(), false),
                    parameter("architecture", "query", "The architecture of a multi-platform image", json!({"type": "string", "pattern": "^[a-z0-9]{0,20}$"}), false),
                ],
                "responses": answers,
            }},
            "/v1/events": {"post": {
                "operationId": "events",
                "summary": "Report pushed images",
                "description": "Events of distribution, Harbor and CloudEvents. What is unknown is accepted and ignored.",
                "parameters": [
                    parameter("ce-type", "header", "The type of a CloudEvent in binary mode", text(), false),
                ],
                "requestBody": {"required": true, "content": events()},
                "responses": {
                    "202": {"description": "What is known to be pushed is queued, and survives the end of the server", "content": received},
                    "400": refused("This is no event"),
                    "401": refused("A bearer token or a client certificate is required"),
                    "408": refused("The request took too long"),
                    "413": refused("The request is too large"),
                    "503": refused("The queue is full, or cannot be written: send it again"),
                },
            }},
        },
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

/// The media types of events.
fn events() -> Value {
    let object = json!({"schema": {"type": "object"}});
    json!({
        "application/vnd.docker.distribution.events.v2+json": object,
        "application/json": object,
        "application/cloudevents+json": object,
        BATCH: {"schema": {"type": "array", "items": {"type": "object"}}},
    })
}

fn content(schema: impl Into<Value>) -> Value {
    json!({"application/json": {"schema": schema.into()}})
}

fn definitions(generator: &mut SchemaGenerator) -> Map<String, Value> {
    generator.take_definitions(true)
}
