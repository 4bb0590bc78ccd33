//! The facts of files that an image is built from: an example that has all of them, which is also their shape.

use super::schema::Shape;
use crate::claims::Claim;
use crate::finding::{Location, Severity};
use crate::lint::{Base, BaseFinding, Pin, SearchDirectory, Sources, Stage, Variable};

/// A file that asks for one of everything.
pub fn sample() -> Sources {
    let text = || "1.2.3".to_owned();
    let location = Location {
        file: "Dockerfile".to_owned(),
        line: 1,
        column: 1,
        end_column: 2,
        text: text(),
    };
    let directory = SearchDirectory {
        text: "/opt/lib".to_owned(),
        location: location.clone(),
    };
    let base = Base {
        stage: 0,
        written: text(),
        reference: Some(text()),
        repository: "team/image".to_owned(),
        claims: vec![Claim {
            subject: "cuda".to_owned(),
            version: text(),
            origin: "tag".to_owned(),
            text: text(),
        }],
        findings: vec![BaseFinding {
            rule: "claim-impossible".to_owned(),
            severity: Severity::Error,
            message: text(),
            help: text(),
            location: location.clone(),
        }],
        location: location.clone(),
    };
    let pin = Pin {
        name: "torch".to_owned(),
        component: "torch".to_owned(),
        manager: "pip".to_owned(),
        specifier: "==1.2.3".to_owned(),
        version: Some(text()),
        local: Some("cu118".to_owned()),
        cuda: Some("11.8".to_owned()),
        index: Some("https://index.example".to_owned()),
        extras: vec![text()],
        text: text(),
        location: location.clone(),
        ..Pin::default()
    };
    let variable = Variable {
        name: "NAME".to_owned(),
        value: text(),
        replaced: false,
        parts: vec![directory.clone()],
        location,
    };
    Sources {
        file: "Dockerfile".to_owned(),
        kind: "dockerfile".to_owned(),
        stages: vec![Stage {
            index: 0,
            name: "builder".to_owned(),
            shipped: true,
            base: Some(base),
            pins: vec![pin],
            env: vec![variable],
            search_directories: vec![directory],
        }],
    }
}

/// What `lint` may hold.
pub fn shape() -> Shape {
    let sample = serde_json::to_value(sample());
    sample.map_or(Shape::Any, |sample| Shape::of(&sample))
}

/// The facts of a test: what is not given is empty, and a fact that no file has is a mistake.
pub fn given(value: &serde_json::Value) -> Result<Sources, String> {
    shape().check("lint", value)?;
    serde_json::from_value(value.clone()).map_err(|error| format!("lint: {error}"))
}
