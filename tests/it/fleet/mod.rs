//! What a sweep writes: each format, from records and from real images.

mod formats;
mod page;
#[cfg(feature = "parquet")]
mod parquet;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use imgcheck::{
    Checker, Error, FleetComparison, FleetFinding, FleetFormat, FleetLayer, FleetRecord, FleetRuns,
    FleetStatus, FleetTarget, FleetTotals, Severity, Verdict,
};
use imgcheck_base::gap::GapCode;

/// Names that a registry may have, and messages that an image may cause.
const HOSTILE: &str =
    "=cmd()|'<script>alert(1)</script></pre>\u{202e}\u{1b}[31m\n::error::x\t{0} ](javascript:1)";

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a format makes of records.
fn written<'r>(
    format: FleetFormat,
    records: impl IntoIterator<Item = &'r FleetRecord>,
    totals: &FleetTotals,
) -> Vec<u8> {
    let memory = Memory::default();
    let checker = Checker::builder().build().unwrap();
    let mut output = checker
        .fleet_output(format, Box::new(memory.clone()))
        .unwrap();
    for record in records {
        output.write(record).unwrap();
    }
    output.finish(totals).unwrap();
    memory.0.lock().unwrap().split_off(0)
}

fn text(format: FleetFormat, records: &[FleetRecord], totals: &FleetTotals) -> String {
    String::from_utf8(written(format, records, totals)).unwrap()
}

fn finding(rule: &str, severity: Severity, message: &str) -> FleetFinding {
    FleetFinding {
        rule: rule.to_owned(),
        severity,
        message: message.to_owned(),
        component: Some("torch".to_owned()),
    }
}

fn layers(names: &[(&str, u64)]) -> Vec<FleetLayer> {
    let layers = names.iter().map(|(name, size)| FleetLayer {
        diff_id: format!("sha256:{name}"),
        digest: None,
        size: *size,
    });
    layers.collect()
}

/// An image that was judged.
fn judged(reference: &str, verdict: Verdict) -> FleetRecord {
    let stack = [
        ("torch", "2.9.1+cu128"),
        ("cuda", "12.8.90"),
        ("python", "3.12.3"),
    ];
    FleetRecord {
        reference: reference.to_owned(),
        source: reference.to_owned(),
        digest: Some(format!("sha256:{reference}")),
        platform: "linux/amd64".to_owned(),
        status: FleetStatus::Judged,
        verdict: Some(verdict),
        stack: stack
            .map(|(name, version)| (name.to_owned(), version.to_owned()))
            .into(),
        minimum_driver: Some("525.60.13".to_owned()),
        architectures: vec![
            "sm_80".to_owned(),
            "sm_90".to_owned(),
            "compute_90".to_owned(),
        ],
        targets: vec![FleetTarget {
            name: "h100".to_owned(),
            runs: FleetRuns::Yes,
        }],
        layers: layers(&[("os", 30_000_000), (reference, 1_000_000)]),
        ..FleetRecord::default()
    }
}

/// A fleet with one of everything, and what a hostile registry has.
fn fleet() -> (Vec<FleetRecord>, FleetTotals) {
    let lie = finding(
        "claim-torch-version",
        Severity::Error,
        "the tag claims PyTorch 2.9, the image contains 2.8.0",
    );
    let lying = |reference: &str, pods| FleetRecord {
        findings: vec![
            lie.clone(),
            finding("gpu-ptx-only", Severity::Warning, "only PTX"),
        ],
        pods: Some(pods),
        ..judged(reference, Verdict::Fail)
    };
    let records = vec![
        judged("registry.example/good:1", Verdict::Pass),
        lying("registry.example/few:2.9", 2),
        lying("registry.example/many:2.9", 40),
        FleetRecord {
            gaps: vec![GapCode::FrameworkNotReached],
            minimum_driver: Some("580.65.06".to_owned()),
            stack: BTreeMap::from([("cuda".to_owned(), "13.0".to_owned())]),
            targets: vec![FleetTarget {
                name: "h100".to_owned(),
                runs: FleetRuns::No,
            }],
            against: Some(FleetComparison {
                verdict: Verdict::Fail,
                new: vec![finding(
                    "driver-too-old",
                    Severity::Error,
                    "the driver is too old",
                )],
                gone: vec![],
            }),
            ..judged("registry.example/unreached:1", Verdict::Incomplete)
        },
        FleetRecord {
            findings: vec![finding("claim-cuda-version", Severity::Error, HOSTILE)],
            targets: vec![FleetTarget {
                name: HOSTILE.to_owned(),
                runs: FleetRuns::Unknown,
            }],
            ..judged(HOSTILE, Verdict::Fail)
        },
        FleetRecord::failed(
            "registry.example/gone:1",
            "registry.example/gone:1",
            &Error::not_found("registry.example/gone:1", "repository not found"),
        ),
        FleetRecord::skipped(
            "registry.example/chart:1",
            "registry.example/chart:1",
            "not-an-image",
            "it is a Helm chart",
        ),
    ];
    let totals = FleetTotals {
        listed: 7,
        judged: 5,
        failed: 1,
        skipped: 1,
        complete: false,
        unread: vec!["page 3 of the catalog of registry.example could not be read".to_owned()],
        against: "driver 550".to_owned(),
    };
    (records, totals)
}
