//! The shapes of the facts about the container toolkit and about Python environments.

use std::collections::BTreeMap;

use super::schema::Shape;

/// [`crate::stack::ContainerToolkit`].
pub fn container_toolkit() -> Shape {
    let texts = || Shape::list(Shape::Text);
    let constraint = Shape::record(&["property", "operator", "value"], Shape::Text);
    let alternative = Shape::Record(BTreeMap::new()).with("constraints", Shape::list(constraint));
    let invalid = Shape::record(&["text", "problem"], Shape::Text);
    let requirement = Shape::record(&["variable", "text"], Shape::Text)
        .with("alternatives", Shape::list(alternative))
        .with("invalid", Shape::list(invalid));
    let capabilities = Shape::record(&["text"], Shape::Text)
        .with("enabled", texts())
        .with("unknown", texts());
    let devices = Shape::record(&["text"], Shape::Text).with("visible", Shape::Bool);
    let file = ["path", "name", "capability", "state", "version"];
    let need = ["library", "capability", "path", "environment", "directory"];
    let flags = [
        "legacy",
        "requirements_disabled",
        "contradictory",
        "newer_than_known",
    ];
    Shape::record(&flags, Shape::Bool)
        .with("requirements", Shape::list(requirement))
        .with(
            "oldest",
            Shape::record(&["branch", "cuda", "driver"], Shape::Text),
        )
        .with("capabilities", capabilities)
        .with("devices", devices)
        .with(
            "driver_files",
            Shape::list(Shape::record(&file, Shape::Text).with("layer", Shape::Number)),
        )
        .with(
            "needs",
            Shape::list(
                Shape::record(&need, Shape::Text)
                    .with("layer", Shape::Number)
                    .with("main", Shape::Bool),
            ),
        )
}

/// [`super::facts::PythonFacts`].
pub fn python() -> Shape {
    let texts = [
        "distribution",
        "version",
        "requirement",
        "name",
        "specifiers",
        "pin",
        "found",
        "path",
        "found_path",
        "environment",
    ];
    let unmet = Shape::record(&texts, Shape::Text)
        .with("of_stack", Shape::Bool)
        .with("layer", Shape::Number)
        .with("found_layer", Shape::Number)
        .with("main", Shape::Bool);
    Shape::Record(BTreeMap::new()).with("unmet_requirements", Shape::list(unmet))
}
