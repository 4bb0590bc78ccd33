//! The shape of the loader model, for checking expressions and tests of rules.

use super::super::schema::{DETAILS, LIBRARIES, Shape};

/// The `loader` of expressions: its facts, and what the module around this one adds to them.
pub fn of_expressions() -> Shape {
    let set = Shape::record(&["process", "role", "library", "number"], Shape::Text)
        .with("objects", Shape::list(object()));
    let mapped = object()
        .with("process", Shape::Text)
        .with("role", Shape::Text);
    let mut shape = of_facts()
        .with("sets", Shape::list(set))
        .with("mapped", Shape::list(mapped));
    let processes = process().with(
        "libraries",
        Shape::Keys(LIBRARIES, Box::new(Shape::list(object()))),
    );
    for (list, element) in [
        ("missing", missing()),
        ("unmet_versions", unmet_version()),
        ("undefined_symbols", undefined_symbols()),
        ("executable_stacks", executable_stack()),
    ] {
        let located = element
            .with("outcome", Shape::Text)
            .with("role", Shape::Text);
        shape = shape.with(list, Shape::list(located));
    }
    shape
        .with(
            "shadowed",
            Shape::list(shadowed().with("role", Shape::Text)),
        )
        .with(
            "processes",
            Shape::list(processes.with("role", Shape::Text)),
        )
}

/// The loader model as an image gives it and as a test of a rule may give it: [`crate::process::LoaderFacts`].
pub fn of_facts() -> Shape {
    Shape::record(&["objects"], Shape::Number)
        .with("missing", Shape::list(missing()))
        .with("unmet_versions", Shape::list(unmet_version()))
        .with("undefined_symbols", Shape::list(undefined_symbols()))
        .with("shadowed", Shape::list(shadowed()))
        .with("executable_stacks", Shape::list(executable_stack()))
        .with(
            "processes",
            Shape::list(process().with("objects", Shape::list(object()))),
        )
        .with("cache", cache())
}

fn place(texts: &[&str]) -> Shape {
    let own = ["process", "package", "when", "message", "shown", "without"];
    Shape::record(&[&own[..], texts].concat(), Shape::Text)
        .with("main", Shape::Bool)
        .with("optional", Shape::Bool)
        .with("first", Shape::Bool)
}

fn missing() -> Shape {
    let texts = || Shape::list(Shape::Text);
    place(&["library", "needed_by", "broken", "after_ldconfig"])
        .with("layer", Shape::Number)
        .with("opened", Shape::Bool)
        .with("host_provided", Shape::Bool)
        .with("alternatives", texts())
        .with("wrong_machine", texts())
        .with("elsewhere", texts())
        .with("searched", texts())
}

fn unmet_version() -> Shape {
    place(&["version", "newest"])
        .with("object", object())
        .with("provider", object())
}

fn undefined_symbols() -> Shape {
    let symbol = Shape::record(&["name", "demangled", "version"], Shape::Text);
    place(&[])
        .with("object", object())
        .with("called", Shape::Bool)
        .with("count", Shape::Number)
        .with("symbols", Shape::list(symbol))
        .with("provider", object())
}

fn shadowed() -> Shape {
    Shape::record(&["process", "library", "needed_by", "reason"], Shape::Text)
        .with("main", Shape::Bool)
        .with("loaded", object())
        .with("shadowed", object())
}

fn executable_stack() -> Shape {
    place(&["glibc"]).with("object", object())
}

fn process() -> Shape {
    let texts = [
        "name",
        "executable",
        "environment",
        "glibc",
        "library_path_from",
    ];
    let import = Shape::record(&["package", "version"], Shape::Text).with("succeeds", Shape::Bool);
    let driver = ["library", "needed_by", "package", "when", "without"];
    let driver = Shape::record(&driver, Shape::Text)
        .with("layer", Shape::Number)
        .with("opened", Shape::Bool)
        .with("optional", Shape::Bool);
    Shape::record(&texts, Shape::Text)
        .with("main", Shape::Bool)
        .with("imports", Shape::list(import))
        .with("driver_libraries", Shape::list(driver))
}

fn object() -> Shape {
    let texts = [
        "path",
        "soname",
        "request",
        "requested_by",
        "reason",
        "found_by",
        "package",
        "when",
        "library",
        "part",
        "directory",
        "cuda",
    ];
    Shape::record(&texts, Shape::Text)
        .with("layer", Shape::Number)
        .with("global", Shape::Bool)
        .with("readings", Shape::Keys(DETAILS, Box::new(Shape::Text)))
}

fn cache() -> Shape {
    Shape::record(&["state"], Shape::Text)
        .with("layer", Shape::Number)
        .with("unlisted", Shape::list(Shape::Text))
        .with("dangling", Shape::list(Shape::Text))
        .with("dropped", Shape::list(Shape::Text))
}
