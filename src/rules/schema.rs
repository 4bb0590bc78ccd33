//! The shape of the facts: which names and fields an expression may use. A name or field that no report could ever
//! have is an error when a rule is loaded, so that a typing mistake never silences a rule.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::{loader, shapes};
pub use crate::stack::NAMES as PARTS;

/// What is known of a value before there is one.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Element of an empty list.
    Never,
    /// Anything.
    Any,
    /// Null.
    Null,
    /// True or false.
    Bool,
    /// A number.
    Number,
    /// Text.
    Text,
    /// A list of one shape.
    List(Box<Shape>),
    /// A map with keys that an image chooses, such as its environment.
    Map(Box<Shape>),
    /// A map whose keys are among the fixed ones.
    Keys(&'static [&'static str], Box<Shape>),
    /// Fields by name.
    Record(BTreeMap<String, Shape>),
}

/// Names that `details` of a part may have.
pub const DETAILS: &[&str] = &[
    "api",
    "arch-list",
    "build",
    "built-with-cuda",
    "compat-cuda",
    "compat-drivers",
    "compiled-cuda",
    "compiled-cudnn",
    "compiled-nccl",
    "cuda",
    "cuda-level",
    "cudnn-headers",
    "environment",
    "gcc",
    "git",
    "headers",
    "hip",
    "id",
    "kind",
    "max-device",
    "mixed",
    "nvcc",
    "part",
    "rocm",
    "set",
    "static-cudart",
    "stub",
    "version",
];

/// Names that a library of the knowledge table `libraries` may have.
pub const LIBRARIES: &[&str] = &[
    "cublas",
    "cublaslt",
    "cuda-runtime",
    "cudnn",
    "cufft",
    "cufile",
    "cupti",
    "curand",
    "cusolver",
    "cusparse",
    "cusparselt",
    "driver",
    "glibc",
    "nccl",
    "nvjitlink",
    "nvml",
    "nvrtc",
    "nvtx",
    "python",
    "torch-c10-cuda",
    "torch-cpu",
    "torch-cuda",
    "torch-nvrtc",
    "torch-python",
];

/// The roots of expressions, and their shapes. `it` and `known` are not among them.
pub fn roots() -> BTreeMap<&'static str, Shape> {
    let part = part();
    BTreeMap::from([
        ("claims", Shape::list(claim())),
        ("stack", Shape::Keys(PARTS, Box::new(part.clone()))),
        ("copies", Shape::list(part)),
        ("gpu", gpu()),
        (
            "driver",
            Shape::record(&["cuda", "native", "compatible"], Shape::Text),
        ),
        ("container_toolkit", shapes::container_toolkit()),
        ("python", shapes::python()),
        ("loader", loader::shape::of_expressions()),
        ("image", image()),
        ("targets", targets()),
        ("policy", policy()),
        ("versions", Shape::Keys(versions(), Box::new(Shape::Text))),
    ])
}

/// Names that `versions` may have.
fn versions() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| crate::policy::subjects().collect());
    &NAMES
}

/// What the team asked for: [`crate::policy::PolicyFacts`].
pub fn policy() -> Shape {
    let requirement = || Shape::record(&["name", "specifier"], Shape::Text);
    let expectation = requirement()
        .with("text", Shape::Text)
        .with("origin", Shape::Text);
    let versions = Shape::Keys(versions(), Box::new(Shape::Text));
    let mut ignore = Shape::record(
        &["rule", "image", "path", "reason", "expires", "file", "text"],
        Shape::Text,
    );
    for flag in ["expired", "concerned", "used"] {
        ignore = ignore.with(flag, Shape::Bool);
    }
    for number in ["line", "column", "end_column"] {
        ignore = ignore.with(number, Shape::Number);
    }
    let stack = Shape::record(&["name"], Shape::Text).with("parts", Shape::list(requirement()));
    let member = Shape::record(&["image"], Shape::Text).with("versions", versions);
    Shape::record(&["consistent"], Shape::list(Shape::Text))
        .with("expect", Shape::list(expectation))
        .with("stacks", Shape::list(stack))
        .with("fleet", Shape::list(member))
        .with("ignores", Shape::list(ignore))
}

fn claim() -> Shape {
    Shape::record(&["subject", "version", "origin", "text"], Shape::Text)
}

fn part() -> Shape {
    Shape::record(&["name", "version", "path"], Shape::Text)
        .with("layer", Shape::Number)
        .with("details", Shape::Keys(DETAILS, Box::new(Shape::Text)))
        .with(
            "evidence",
            Shape::list(Shape::record(
                &["kind", "value", "path", "detail"],
                Shape::Text,
            )),
        )
}

fn gpu() -> Shape {
    let coverage = Shape::record(&["sass", "ptx"], Shape::list(Shape::Text));
    Shape::Record(BTreeMap::new())
        .with(
            "libraries",
            Shape::list(coverage.clone().with("path", Shape::Text)),
        )
        .with("torch", coverage)
        .with("sampled", Shape::Bool)
}

/// The judged targets: [`crate::targets::TargetFacts`].
pub(super) fn targets() -> Shape {
    let support = || {
        Shape::record(&["how", "by", "isa", "needs_cuda"], Shape::Text)
            .with("whole", Shape::Bool)
            .with("compiles", Shape::Bool)
    };
    let with_texts = |names: &[&str]| {
        let add = |shape: Shape, name: &&str| shape.with(name, Shape::Text);
        names.iter().fold(support(), add)
    };
    let package = with_texts(&["name", "path", "from"]).with("specific", Shape::Bool);
    let library = with_texts(&["path", "library", "package"]);
    let gpu = ["target", "name", "sm", "capability", "segment"];
    let driver = [
        "target",
        "version",
        "cuda",
        "how",
        "reason",
        "needs_cuda",
        "native",
        "compatible",
        "compat",
    ];
    let target = Shape::record(&["name"], Shape::Text)
        .with(
            "gpus",
            Shape::list(
                Shape::record(&gpu, Shape::Text)
                    .with("torch", support())
                    .with("packages", Shape::list(package))
                    .with("libraries", Shape::list(library)),
            ),
        )
        .with(
            "driver",
            Shape::record(&driver, Shape::Text).with("compiles_ptx", Shape::Bool),
        );
    Shape::list(target)
}

fn image() -> Shape {
    let texts = [
        "reference",
        "registry",
        "repository",
        "tag",
        "digest",
        "platform",
        "os",
        "architecture",
    ];
    Shape::record(&texts, Shape::Text)
        .with("env", Shape::Map(Box::new(Shape::Text)))
        .with("labels", Shape::Map(Box::new(Shape::Text)))
        .with("machines", Shape::Map(Box::new(Shape::Number)))
        .with("scanned", Shape::Bool)
}

impl Shape {
    /// A list of one shape.
    pub fn list(element: Shape) -> Self {
        Shape::List(Box::new(element))
    }

    /// A record whose fields are all of one shape.
    pub fn record(names: &[&str], field: Shape) -> Self {
        Shape::Record(
            names
                .iter()
                .map(|name| ((*name).to_owned(), field.clone()))
                .collect(),
        )
    }

    /// The record with one more field.
    pub fn with(mut self, name: &str, field: Shape) -> Self {
        if let Shape::Record(fields) = &mut self {
            fields.insert(name.to_owned(), field);
        }
        self
    }

    /// The shape of a data value: the rows of a knowledge table.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Shape::Null,
            Value::Bool(_) => Shape::Bool,
            Value::Number(_) => Shape::Number,
            Value::String(_) => Shape::Text,
            Value::Array(items) => {
                Shape::list(items.iter().map(Shape::of).fold(Shape::Never, Shape::join))
            }
            Value::Object(fields) => Shape::Record(
                fields
                    .iter()
                    .map(|(name, value)| (name.clone(), Shape::of(value)))
                    .collect(),
            ),
        }
    }

    /// What fits a value that has either shape; a record has the fields of both, for any of them may be missing.
    pub fn join(self, other: Shape) -> Shape {
        match (self, other) {
            (Shape::Never, shape) | (shape, Shape::Never) => shape,
            (Shape::Null, shape) | (shape, Shape::Null) => shape,
            (Shape::List(a), Shape::List(b)) => Shape::list(a.join(*b)),
            (Shape::Map(a), Shape::Map(b)) => Shape::Map(Box::new(a.join(*b))),
            (Shape::Record(mut a), Shape::Record(b)) => {
                for (name, shape) in b {
                    let joined = match a.remove(&name) {
                        Some(first) => first.join(shape),
                        None => shape,
                    };
                    a.insert(name, joined);
                }
                Shape::Record(a)
            }
            (a, b) if a == b => a,
            _ => Shape::Any,
        }
    }

    /// Whether a value has this shape; any of its fields may be missing.
    ///
    /// # Errors
    ///
    /// What is wrong, with the place inside the value.
    pub fn check(&self, place: &str, value: &Value) -> Result<(), String> {
        match (self, value) {
            (Shape::List(element), Value::Array(items)) => {
                let mut items = items.iter().enumerate();
                items
                    .try_for_each(|(index, item)| element.check(&format!("{place}[{index}]"), item))
            }
            (Shape::Record(_) | Shape::Keys(..) | Shape::Map(_), Value::Object(fields)) => {
                fields.iter().try_for_each(|(name, value)| {
                    let inner = format!("{place}.{name}");
                    match self.field(name) {
                        Some(shape) => shape.check(&inner, value),
                        None => Err(format!("there is no fact `{inner}`")),
                    }
                })
            }
            _ if Shape::of(value).fits(self) || *self == Shape::Any => Ok(()),
            _ => Err(format!(
                "`{place}` must be {}, it is {}",
                self.name(),
                Shape::of(value).name()
            )),
        }
    }

    /// The shape of a field or key that a value of this shape may have.
    fn field(&self, name: &str) -> Option<&Shape> {
        match self {
            Shape::Record(fields) => fields.get(name),
            Shape::Keys(keys, value) => keys.contains(&name).then_some(&**value),
            Shape::Map(value) => Some(value),
            _ => None,
        }
    }

    /// How to call it in a message.
    pub fn name(&self) -> &'static str {
        match self {
            Shape::Never | Shape::Any => "a value",
            Shape::Null => "null",
            Shape::Bool => "true or false",
            Shape::Number => "a number",
            Shape::Text => "a text",
            Shape::List(_) => "a list",
            Shape::Map(_) | Shape::Keys(..) | Shape::Record(_) => "a map",
        }
    }

    /// Whether a value of this shape may be used where the other is wanted.
    pub fn fits(&self, wanted: &Shape) -> bool {
        matches!(self, Shape::Never | Shape::Any) || self.name() == wanted.name()
    }
}
