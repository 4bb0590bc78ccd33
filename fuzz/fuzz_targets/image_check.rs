//! A whole image: its only layer has the files of the input, and the file `config` is its configuration. It is read, judged by the
//! built-in rules, and reported in every format; no report has a control character that a terminal would interpret.

use std::os::fd::AsRawFd;
use std::sync::LazyLock;

use imgcheck::{Checker, Day, Format, ImageRequest, Report, View};
use imgcheck_base::digest::sha256;
use imgcheck_fuzz::documents::{Document, archive, documents};
use imgcheck_fuzz::file;
use serde_json::{Value, json};

static CHECKER: LazyLock<Checker> =
    LazyLock::new(|| Checker::builder().build().expect("the built-in rules"));

/// The member of the configuration that is made up.
const CONFIG: &str = "config";

pub fn fuzz(text: &str) {
    let (config, files): (Vec<_>, Vec<_>) = documents(text)
        .into_iter()
        .partition(|document| document.name == CONFIG);
    let config = config.first().map(|document| document.bytes.as_slice());
    let config = serde_json::from_slice(config.unwrap_or_default()).unwrap_or(json!({}));
    let image = file(&image(&config, &files));
    let path = format!("docker-archive:/proc/self/fd/{}", image.as_raw_fd());
    let report = CHECKER.check(&[ImageRequest::new(path).day(Day::default())]);
    for written in written(&report) {
        let obeyed = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t' | '\r');
        assert!(!written.contains(obeyed), "{written:?}");
    }
}

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
    let written = |format| {
        let text = report.render(View::Findings, format, Some(80));
        text.expect("every format can be written")
    };
    [
        plain(&written(Format::Text)),
        written(Format::Json),
        written(Format::Markdown),
        written(Format::Sarif),
        written(Format::Github),
        written(Format::Gitlab),
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
