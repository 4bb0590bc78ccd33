//! Chromium, without a window.

use std::fs;
use std::process::Command;

use serde_json::Value;
use testkit::tools::say;

/// What became of a page.
pub struct Visit {
    /// The document, after it was loaded.
    pub dom: String,
    /// What the browser logged: a line with `:CONSOLE` for each complaint about the page.
    pub log: String,
    /// The addresses that the page made the browser ask, beside local ones.
    pub requests: Vec<String>,
}

/// Opens a page. `None` without Chromium.
pub fn visit(url: &str, arguments: &[&str]) -> Option<Visit> {
    let profile = tempfile::tempdir().unwrap();
    let log = profile.path().join("net.json");
    let output = chromium()
        .args(["--enable-logging=stderr", "--dump-dom"])
        .arg(format!(
            "--user-data-dir={}",
            profile.path().join("profile").display()
        ))
        .arg(format!("--log-net-log={}", log.display()))
        .args(arguments)
        .arg(url)
        .output();
    let Ok(output) = output else {
        let required = std::env::var("IMGCHECK_REQUIRE_TOOLS").is_ok_and(|value| value == "1");
        assert!(
            !required,
            "chromium is not there, and IMGCHECK_REQUIRE_TOOLS=1"
        );
        say(format_args!("skipped: chromium is not there"));
        return None;
    };
    Some(Visit {
        dom: String::from_utf8_lossy(&output.stdout).into_owned(),
        log: String::from_utf8_lossy(&output.stderr).into_owned(),
        requests: requests(&fs::read_to_string(log).unwrap()),
    })
}

fn chromium() -> Command {
    let mut command = Command::new("chromium");
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        // Nothing leaves the machine, whatever the browser wants for itself.
        .arg("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1");
    command
}

/// The addresses in Chromium's log of its network stack.
fn requests(log: &str) -> Vec<String> {
    // A browser that is ended early leaves the list open.
    let whole = [
        log.to_owned(),
        format!("{}]}}", log.trim_end().trim_end_matches(',')),
    ];
    let log: Value = whole
        .iter()
        .find_map(|text| serde_json::from_str(text).ok())
        .unwrap();
    let events = log["events"].as_array().unwrap();
    // The browser's own requests, such as updates, have no origin.
    let asked = events.iter().filter_map(|event| {
        let parameters = &event["params"];
        let initiator = parameters["initiator"].as_str()?;
        (initiator != "not an origin").then(|| parameters["url"].as_str())?
    });
    let local = |url: &str| {
        ["file:", "data:", "chrome"]
            .iter()
            .any(|scheme| url.starts_with(scheme))
    };
    asked.filter(|url| !local(url)).map(str::to_owned).collect()
}

/// By how many CSS pixels a page must be scrolled sideways in windows of these widths. `None` without Chromium.
pub fn hidden_widths(page: &str, windows: &[usize]) -> Option<Vec<usize>> {
    let root = "page.documentElement";
    let hidden = measured(
        page,
        windows,
        &format!("{root}.scrollWidth - {root}.clientWidth"),
    )?;
    let hidden = hidden.iter().map(|it| it.as_u64().unwrap());
    Some(hidden.map(|it| usize::try_from(it).unwrap()).collect())
}

/// What an expression in JavaScript is in windows of these widths, in CSS pixels; it can use the document, `page`. `None` without Chromium.
pub fn measured(page: &str, windows: &[usize], expression: &str) -> Option<Vec<Value>> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frames.html");
    let quoted = page.replace('&', "&amp;").replace('"', "&quot;");
    let frames = windows.iter().map(|width| {
        format!("<iframe style=\"border:0\" width=\"{width}\" height=\"800\" srcdoc=\"{quoted}\"></iframe>")
    });
    let frames: String = frames.collect();
    let script = format!(
        "onload = () => document.body.textContent = 'measured ' + JSON.stringify(Array.from(frames, frame => frame.document).map(page => ({expression}))) + ' end of it'"
    );
    fs::write(
        &path,
        format!("<!doctype html><body>{frames}<script>{script}</script>"),
    )
    .unwrap();
    let visit = visit(&format!("file://{}", path.display()), &[])?;
    let measured = visit.dom.split("measured ").nth(1).unwrap_or_default();
    let measured = measured.split(" end of it").next().unwrap_or_default();
    let measured: Vec<Value> = serde_json::from_str(measured)
        .unwrap_or_else(|error| panic!("{error}: {measured:.200}: {}", visit.log));
    assert_eq!(measured.len(), windows.len(), "{}", visit.log);
    Some(measured)
}
