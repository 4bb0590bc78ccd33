//! What is counted and measured, for Prometheus. Names have units; no label has a value that strangers choose.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Bounds of histograms of requests, in seconds.
const REQUESTS: [f64; 12] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0, 30.0,
];
/// Bounds of histograms of scans, in seconds.
const SCANS: [f64; 9] = [0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0];

/// What an admission request is answered with; 499 if the API server did not wait for the answer.
const STATUSES: [u32; 5] = [200, 400, 413, 499, 500];

/// Files that are read again after a change.
const FILES: [&str; 3] = ["configuration", "certificate", "tokens"];

/// Why objects are let through, other than by their verdict.
const REASONS: [&str; 13] = [
    "break-glass",
    "exemption",
    "grace",
    "mirror-pod",
    "mode",
    "no-containers",
    "no-gpu",
    "not-pinned",
    "not-understood",
    "on-miss",
    "operation",
    "subresource",
    "unchanged",
];

/// All metrics.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    request_seconds: Family<PathLabels, Histogram>,
    admissions: Family<AdmissionLabels, Counter>,
    passes: Family<ReasonLabels, Counter>,
    lookups: Family<LookupLabels, Counter>,
    scans: Family<OutcomeLabels, Counter>,
    scan_seconds: Histogram,
    reloads: Family<ReloadLabels, Counter>,
    outdated: Family<FileLabels, Gauge>,
    events: Family<EventLabels, Counter>,
    forwards: Family<OutcomeLabels, Counter>,
    /// Scans of Harbor without an answer.
    pub harbor_scans: Gauge,
    /// Jobs that wait or run.
    pub jobs: Gauge,
    /// Jobs that could not be stored.
    pub queue_errors: Counter,
    /// Bytes of facts in memory.
    pub facts_bytes: Gauge,
    /// When the certificate expires.
    pub certificate: Gauge<f64, AtomicU64>,
    /// For how long what is known of the cluster may have been out of date.
    pub out_of_date: Gauge<f64, AtomicU64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    path: String,
    status: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PathLabels {
    path: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AdmissionLabels {
    verdict: &'static str,
    mode: &'static str,
    allowed: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LookupLabels {
    of: &'static str,
    found: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EventLabels {
    from: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FileLabels {
    file: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReloadLabels {
    file: &'static str,
    outcome: &'static str,
}

fn request_histogram() -> Histogram {
    Histogram::new(REQUESTS)
}

fn word(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Metrics {
            registry: Registry::with_prefix("imgcheck"),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(request_histogram),
            admissions: Family::default(),
            passes: Family::default(),
            lookups: Family::default(),
            scans: Family::default(),
            scan_seconds: Histogram::new(SCANS),
            reloads: Family::default(),
            outdated: Family::default(),
            events: Family::default(),
            forwards: Family::default(),
            harbor_scans: Gauge::default(),
            jobs: Gauge::default(),
            queue_errors: Counter::default(),
            facts_bytes: Gauge::default(),
            certificate: Gauge::default(),
            out_of_date: Gauge::default(),
        };
        metrics.register();
        metrics.start_at_zero();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "http_requests",
            "Requests by path and status",
            self.requests.clone(),
        );
        registry.register_with_unit(
            "http_request_duration",
            "Time to answer a request",
            Unit::Seconds,
            self.request_seconds.clone(),
        );
        registry.register(
            "admissions",
            "Objects by verdict, by the mode of their namespace, and by whether they were allowed",
            self.admissions.clone(),
        );
        registry.register(
            "admissions_unjudged",
            "Objects that were let through for a reason other than their verdict",
            self.passes.clone(),
        );
        registry.register(
            "lookups",
            "Lookups of verdicts, facts and tags, by whether memory had them",
            self.lookups.clone(),
        );
        registry.register(
            "scans",
            "Images that were read, by outcome",
            self.scans.clone(),
        );
        registry.register_with_unit(
            "scan_duration",
            "Time to read an image",
            Unit::Seconds,
            self.scan_seconds.clone(),
        );
        registry.register(
            "reloads",
            "Files that were read again after a change, by outcome",
            self.reloads.clone(),
        );
        registry.register(
            "reload_failed",
            "Whether a file could not be read after its last change, so that the one before is in use",
            self.outdated.clone(),
        );
        registry.register(
            "events",
            "Events of registries, by format and by whether an image was queued",
            self.events.clone(),
        );
        registry.register(
            "forwards",
            "Reports of the scanner under `forward`, by outcome",
            self.forwards.clone(),
        );
        registry.register(
            "harbor_scans",
            "Scans of Harbor that have no report yet, or whose report was not fetched",
            self.harbor_scans.clone(),
        );
        registry.register(
            "queue_jobs",
            "Images that wait to be read, or are being read",
            self.jobs.clone(),
        );
        registry.register(
            "queue_errors",
            "Images that could not be queued, because the store could not be written",
            self.queue_errors.clone(),
        );
        registry.register_with_unit(
            "facts_memory",
            "Facts of images in memory, estimated",
            Unit::Bytes,
            self.facts_bytes.clone(),
        );
        registry.register_with_unit(
            "certificate_expiry_timestamp",
            "When the certificate in use expires",
            Unit::Seconds,
            self.certificate.clone(),
        );
        registry.register_with_unit(
            "cluster_out_of_date",
            "For how long what is known of the cluster may have been out of date",
            Unit::Seconds,
            self.out_of_date.clone(),
        );
    }

    /// Counters exist before their first event: `increase()` does not see the first one of a counter that appears with it.
    fn start_at_zero(&self) {
        for path in ["/admission/validate", "/admission/mutate"].map(str::to_owned) {
            for status in STATUSES {
                let path = path.clone();
                drop(self.requests.get_or_create(&RequestLabels { path, status }));
            }
            drop(self.request_seconds.get_or_create(&PathLabels { path }));
        }
        for from in ["cloudevents", "distribution", "harbor", "other"] {
            for outcome in ["queued", "ignored"] {
                drop(self.events.get_or_create(&EventLabels { from, outcome }));
            }
        }
        for verdict in ["pass", "incomplete", "fail", "unknown"] {
            for mode in ["audit", "warn", "enforce"] {
                for allowed in ["true", "false"] {
                    let labels = AdmissionLabels {
                        verdict,
                        mode,
                        allowed,
                    };
                    drop(self.admissions.get_or_create(&labels));
                }
            }
        }
        for reason in REASONS {
            drop(self.passes.get_or_create(&ReasonLabels { reason }));
        }
        for file in FILES {
            drop(self.outdated.get_or_create(&FileLabels { file }));
        }
        for outcome in ["success", "failure"] {
            drop(self.scans.get_or_create(&OutcomeLabels { outcome }));
            drop(self.forwards.get_or_create(&OutcomeLabels { outcome }));
            for file in FILES {
                drop(self.reloads.get_or_create(&ReloadLabels { file, outcome }));
            }
        }
        for of in ["verdict", "facts", "digest"] {
            for found in ["true", "false"] {
                drop(self.lookups.get_or_create(&LookupLabels { of, found }));
            }
        }
    }

    /// A request was answered.
    pub fn request(&self, path: &str, status: u16, seconds: f64) {
        let path = path.to_owned();
        let labels = RequestLabels {
            path: path.clone(),
            status: u32::from(status),
        };
        self.requests.get_or_create(&labels).inc();
        let labels = PathLabels { path };
        self.request_seconds.get_or_create(&labels).observe(seconds);
    }

    /// An object was judged.
    pub fn admission(&self, verdict: &'static str, mode: &'static str, allowed: bool) {
        let allowed = word(allowed);
        let labels = AdmissionLabels {
            verdict,
            mode,
            allowed,
        };
        self.admissions.get_or_create(&labels).inc();
    }

    /// An object was let through for a reason other than its verdict.
    pub fn unjudged(&self, reason: &'static str) {
        self.passes.get_or_create(&ReasonLabels { reason }).inc();
    }

    /// Something was looked up in memory.
    pub fn lookup(&self, of: &'static str, found: bool) {
        let found = word(found);
        self.lookups
            .get_or_create(&LookupLabels { of, found })
            .inc();
    }

    /// An image was read, or was not.
    pub fn scan(&self, outcome: &'static str, seconds: f64) {
        self.scans.get_or_create(&OutcomeLabels { outcome }).inc();
        self.scan_seconds.observe(seconds);
    }

    /// Events of a registry came in.
    pub fn events(&self, from: &'static str, outcome: &'static str, count: usize) {
        let labels = EventLabels { from, outcome };
        self.events.get_or_create(&labels).inc_by(count as u64);
    }

    /// The other scanner had a report, or will not have one.
    pub fn forward(&self, outcome: &'static str) {
        self.forwards
            .get_or_create(&OutcomeLabels { outcome })
            .inc();
    }

    /// A file was read again.
    pub fn reload(&self, file: &'static str, succeeded: bool) {
        let outcome = if succeeded { "success" } else { "failure" };
        let outdated = self.outdated.get_or_create(&FileLabels { file });
        outdated.set(i64::from(!succeeded));
        self.reloads
            .get_or_create(&ReloadLabels { file, outcome })
            .inc();
    }

    /// All metrics as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = text::encode(&mut text, &self.registry);
        text
    }
}
