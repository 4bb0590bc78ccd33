//! A whole image: its only layer holds the files of the input, and what is called `config` says how it is run. It is read, judged
//! by the built-in rules and told of in every format; no report has a control character that a terminal would obey.

#![no_main]

use std::os::fd::AsRawFd;
use std::sync::LazyLock;

use chrono::NaiveDate;
use imgcheck::internals::checker::{self, Progress, Reading, Scanner};
use imgcheck::internals::digest::sha256;
use imgcheck::internals::policy::Policy;
use imgcheck::internals::reference::transport::ImageReference;
use imgcheck::internals::report::{self, Report};
use imgcheck::internals::rules::RuleSet;
use imgcheck_fuzz::documents::{Document, archive, documents};
use imgcheck_fuzz::file;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

static SCANNER: LazyLock<Scanner> =
    LazyLock::new(|| Scanner::new(Reading::default()).expect("the built-in tables"));
static RULES: LazyLock<RuleSet> = LazyLock::new(|| RuleSet::builtin().expect("the built-in rules"));

/// The member of the configuration that is made up.
const CONFIG: &str = "config";

fuzz_target!(|text: &str| {
    let (config, files): (Vec<_>, Vec<_>) = documents(text)
        .into_iter()
        .partition(|document| document.name == CONFIG);
    let config = config.first().map(|document| document.bytes.as_slice());
    let config = serde_json::from_slice(config.unwrap_or_default()).unwrap_or(json!({}));
    let image = file(&image(&config, &files));
    let target =
        ImageReference::DockerArchive(format!("/proc/self/fd/{}", image.as_raw_fd()).into(), None);
    let Ok(scans) = SCANNER.scan(&target, &Quiet) else {
        return;
    };
    let today = NaiveDate::default();
    let judgement = checker::judge(scans, &RULES, &Policy::default(), today).expect("no targets");
    let report = Report {
        images: &judgement.images,
        files: &[],
        errors: &[],
        rules: &RULES,
    };
    for written in written(&report) {
        let obeyed = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t' | '\r');
        assert!(!written.contains(obeyed), "{written:?}");
    }
});

/// A text without the colours, which are the program's own and which it takes out again where no terminal is.
fn plain(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (colour, rest) = part.split_once('m').unwrap_or(("?", part));
        assert!(
            colour
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b';')),
            "{part:?}"
        );
        plain.push_str(rest);
    }
    plain
}

fn written(report: &Report) -> [String; 6] {
    [
        plain(&report::text::report(report, Some(80))),
        report::json::report(report).expect("JSON"),
        report::markdown::report(report),
        report::sarif::report(report).expect("SARIF"),
        report::github::report(report),
        report::gitlab::report(report).expect("JSON for GitLab"),
    ]
}

/// A docker archive.
fn image(config: &Value, files: &[Document]) -> Vec<u8> {
    let layer = archive(files);
    let configuration = json!({
        "architecture": "amd64",
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [sha256(&layer)]},
        "history": [{"created_by": config["Cmd"].to_string()}],
    });
    let manifest =
        json!([{"Config": "config.json", "RepoTags": config["RepoTags"], "Layers": ["layer.tar"]}]);
    let document = |name: &str, bytes: Vec<u8>| Document {
        name: name.to_owned(),
        bytes,
    };
    archive(&[
        document("manifest.json", manifest.to_string().into_bytes()),
        document("config.json", configuration.to_string().into_bytes()),
        document("layer.tar", layer),
    ])
}

struct Quiet;

impl Progress for Quiet {
    fn image(&self, _: &str, _: usize, _: u64) {}
    fn advance(&self, _: u64) {}
    fn layer(&self) {}
    fn note(&self, _: &str) {}
    fn finish(&self) {}
}
