//! Reports that have one text in every place.

use imgcheck_model::process::cause::When;
use std::sync::{Arc, LazyLock};

use imgcheck_elf::Depth;
use imgcheck_launch::{Change, LaunchFacts, Step};
use imgcheck_model::claims::Claim;
use imgcheck_model::finding::{
    Confidence, Finding, IgnoreReason, IgnoredFinding, Location, Severity,
};
use imgcheck_model::knowledge::Knowledge;
use imgcheck_model::process::facts::{DriverLibrary, Import, ObjectFacts};
use imgcheck_model::process::tree::{FailedLoad, MappedObject, ProcessTree, Searched, Tree};
use imgcheck_model::size::{Cause, CauseSize, ImageSize, LayerSize, PackageSize, SizedPath};
use imgcheck_model::stack::{Component, Evidence, EvidenceKind};
use imgcheck_model::targets::{DriverFacts, GpuFacts, PackageCode, TargetFacts};
use imgcheck_report::{FileReport, ImageReport, Inspection, Layer, ReferenceReport, Verdict};
use imgcheck_source::source::SourceKind;

/// The built-in tables.
pub static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| Knowledge::read().unwrap());

fn evidence(text: &str) -> Evidence {
    Evidence {
        kind: EvidenceKind::PythonMetadata,
        value: text.to_owned(),
        path: format!("/{text}"),
        detail: format!("torch {text}"),
    }
}

/// A finding with the text in every place.
pub fn finding(text: &str, location: Option<Location>) -> Finding {
    Finding {
        rule: "claim-torch-version".to_owned(),
        severity: Severity::Error,
        confidence: Confidence::High,
        message: format!("wrong: {text}"),
        claim: Some(claim(text)),
        // The lines of help are those of a rule; see `rules::expression`.
        help: Some(format!("do {}", text.replace('\n', "\\n"))),
        path: location.is_none().then(|| format!("/{text}")),
        layer: location.is_none().then_some(0),
        location,
        evidence: vec![evidence(text)],
        fingerprint: "f".to_owned(),
        docs: "https://docs.example/rule.md".to_owned(),
    }
}

fn claim(text: &str) -> Claim {
    Claim {
        subject: "torch".to_owned(),
        version: text.to_owned(),
        origin: "env".to_owned(),
        text: text.to_owned(),
        document: None,
    }
}

fn target(text: &str) -> TargetFacts {
    TargetFacts {
        name: text.to_owned(),
        gpus: vec![GpuFacts {
            name: text.to_owned(),
            sm: "sm_90".to_owned(),
            packages: vec![PackageCode {
                name: text.to_owned(),
                ..PackageCode::default()
            }],
            ..GpuFacts::default()
        }],
        driver: Some(DriverFacts {
            version: text.to_owned(),
            how: "unknown".to_owned(),
            reason: text.to_owned(),
            ..DriverFacts::default()
        }),
        architecture: "amd64".to_owned(),
    }
}

/// An image with the text in every place.
pub fn image(text: &str) -> ImageReport {
    let part = |name: &str| Component {
        name: name.to_owned(),
        version: text.to_owned(),
        path: format!("/{text}"),
        layer: Some(0),
        loaded: true,
        details: [("build".to_owned(), text.to_owned())].into(),
        evidence: vec![evidence(text)],
    };
    ImageReport {
        gaps: Vec::new(),
        acknowledged: Vec::new(),
        skipped: Default::default(),
        imports: Default::default(),
        facts: Inspection {
            title: None,
            gaps: Vec::new(),
            reference: Some(text.to_owned()),
            named: text.to_owned(),
            source: SourceKind::DockerArchive,
            access: None,
            platform: "linux/amd64".to_owned(),
            depth: Depth::Default,
            digest: None,
            config_digest: None,
            layers: vec![Layer {
                index: 0,
                diff_id: "sha256:0".to_owned(),
                digest: None,
                size: 1,
                created_by: text.to_owned(),
                cached: false,
                is_lazy: false,
            }],
            claims: vec![claim(text)],
            stack: [part("torch"), part("os"), part("torch")].into(),
            gpu: Arc::default(),
            driver: None,
            loader: None,
            launch: launch(text),
            files: 1,
            size: size(text).into(),
        },
        unselectable: None,
        tree: tree(text).into(),
        targets: vec![target(text)],
        verdict: Verdict::Fail,
        // The second has no path, and the same fingerprint as if it were another image's.
        findings: vec![
            finding(text, None),
            Finding {
                path: None,
                layer: None,
                ..finding(text, None)
            },
        ],
        muted: [text.to_owned()].into(),
        ignored: vec![IgnoredFinding {
            finding: finding(text, None),
            ignore: IgnoreReason {
                reason: text.to_owned(),
                expires: Some("2027-03-01".to_owned()),
            },
        }],
        questions: Default::default(),
        elapsed_ms: 1,
    }
}

/// A file with the text in every place.
pub fn lint(text: &str) -> FileReport {
    let location = Location {
        file: format!("./{text}"),
        line: 3,
        column: 2,
        end_column: 5,
        text: text.to_owned(),
    };
    FileReport {
        file: format!("./{text}"),
        kind: "dockerfile".to_owned(),
        verdict: Verdict::Fail,
        ignored: Vec::new(),
        findings: vec![finding(text, Some(location))],
        gaps: Vec::new(),
    }
}
/// A reference and what it promises.
pub fn reference(text: &str) -> ReferenceReport {
    ReferenceReport {
        reference: text.to_owned(),
        claims: vec![claim(text)],
        findings: vec![Finding {
            path: None,
            ..finding(text, None)
        }],
        ignored: Vec::new(),
        error: None,
    }
}

fn launch(text: &str) -> LaunchFacts {
    LaunchFacts {
        command: vec![text.to_owned()],
        chain: vec![Step {
            path: text.to_owned(),
            reason: text.to_owned(),
        }],
        program: Some(text.to_owned()),
        arguments: vec![text.to_owned(); 2],
        working_directory: text.to_owned(),
        user: text.to_owned(),
        changes: vec![Change {
            variable: text.to_owned(),
            before: Some(text.to_owned()),
            after: Some(text.to_owned()),
            from: text.to_owned(),
        }],
    }
}

fn tree(text: &str) -> Tree {
    let searched = || {
        vec![Searched {
            place: format!("/{text}"),
            reason: text.to_owned(),
            wrong_machine: false,
        }]
    };
    let object = |parent| MappedObject {
        facts: ObjectFacts {
            path: format!("/{text}"),
            soname: text.to_owned(),
            request: text.to_owned(),
            reason: text.to_owned(),
            package: "torch".to_owned(),
            when: When::Import,
            readings: [("version".to_owned(), text.to_owned())].into(),
            ..ObjectFacts::default()
        },
        parent,
        needs: Vec::new(),
        searched: searched(),
        others: vec![format!("/{text}")],
        unmapped: false,
    };
    Tree {
        processes: vec![ProcessTree {
            name: text.to_owned(),
            main: true,
            library_path: text.to_owned(),
            library_path_from: text.to_owned(),
            imports: vec![Import {
                package: "torch".to_owned(),
                version: text.to_owned(),
                succeeds: true,
            }],
            objects: vec![object(None), object(Some(0))],
            failures: vec![FailedLoad {
                package: "torch".to_owned(),
                when: When::Import,
                optional: false,
                library: text.to_owned(),
                needed_by: format!("/{text}"),
                message: text.to_owned(),
                searched: searched(),
                others: vec![format!("/{text}")],
            }],
            driver_libraries: vec![DriverLibrary {
                library: format!("{text}.so.1"),
                needed_by: format!("/{text}"),
                after_ldconfig: Some(ObjectFacts {
                    path: format!("/{text}"),
                    reason: text.to_owned(),
                    ..ObjectFacts::default()
                }),
                ..DriverLibrary::default()
            }],
        }],
        programs_left_out: 3,
    }
}

fn size(text: &str) -> ImageSize {
    let path = SizedPath {
        path: text.to_owned(),
        bytes: 1_000_000,
        detail: text.to_owned(),
    };
    ImageSize {
        bytes: 2_000_000,
        files: 2,
        layers: vec![LayerSize {
            bytes: 2_000_000,
            ..LayerSize::default()
        }],
        causes: vec![CauseSize {
            cause: Cause::Duplicate,
            bytes: 1_000_000,
            largest: vec![path],
        }],
        packages: vec![PackageSize {
            name: text.to_owned(),
            path: text.to_owned(),
            bytes: 2_000_000,
        }],
        rest: 0,
    }
}
