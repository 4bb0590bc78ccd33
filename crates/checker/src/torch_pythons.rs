//! For which Pythons PyTorch is built.

use std::sync::OnceLock;

use serde::Deserialize;

use imgcheck_base::version::meets;
use imgcheck_model::knowledge;

#[derive(Deserialize)]
struct Release {
    version: String,
    python: Range,
}

#[derive(Deserialize)]
struct Range {
    from: String,
    to: String,
}

/// The first and the last Python of each release with this version.
pub fn torch_pythons(version: &str) -> Vec<(String, String)> {
    #[derive(Deserialize)]
    struct Table {
        releases: Vec<Release>,
    }
    static RELEASES: OnceLock<Vec<Release>> = OnceLock::new();
    let releases = RELEASES.get_or_init(|| {
        let table = knowledge::table::<Table>("pytorch");
        table.map(|table| table.releases).unwrap_or_default()
    });
    let meeting = releases
        .iter()
        .filter(|release| meets(&release.version, version) == Some(true));
    meeting
        .map(|release| (release.python.from.clone(), release.python.to.clone()))
        .collect()
}
