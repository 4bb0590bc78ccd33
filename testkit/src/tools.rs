//! Other programs that tests run, and messages to the person who runs the tests.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether a program is installed. If it is not, its tests are skipped, and say so.
///
/// # Panics
/// It is not installed, and `IMGCHECK_REQUIRE_TOOLS=1`.
#[must_use]
pub fn tool(name: &str) -> bool {
    let found = std::env::var_os("PATH")
        .is_some_and(|paths| std::env::split_paths(&paths).any(|path| path.join(name).is_file()));
    assert!(
        found || !required(),
        "{name} is not installed, and IMGCHECK_REQUIRE_TOOLS=1"
    );
    if !found {
        say(format_args!("skipped: {name} is not installed"));
    }
    found
}

/// Whether Python can import these modules, such as `moto.server, flask`, of a package such as `moto[server]`. If it cannot, its tests
/// are skipped, and say so.
///
/// # Panics
/// It cannot, and `IMGCHECK_REQUIRE_TOOLS=1`.
#[must_use]
pub fn python_modules(package: &str, modules: &str) -> bool {
    let status = Command::new("python3")
        .args(["-c", &format!("import {modules}")])
        .stderr(Stdio::null())
        .status();
    let found = status.is_ok_and(|status| status.success());
    assert!(
        found || !required(),
        "{package} for Python is not installed, and IMGCHECK_REQUIRE_TOOLS=1"
    );
    if !found {
        say(format_args!(
            "skipped: {package} for Python is not installed"
        ));
    }
    found
}

/// Whether a missing program is a failure: `IMGCHECK_REQUIRE_TOOLS=1`.
#[must_use]
pub fn required() -> bool {
    std::env::var("IMGCHECK_REQUIRE_TOOLS").is_ok_and(|value| value == "1")
}

/// Runs a program, which must succeed.
///
/// # Panics
/// It fails.
pub fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Says what is skipped, and why.
///
/// # Panics
/// It is required.
pub fn skip(why: impl Display, is_required: bool) {
    assert!(!is_required, "{why}");
    say(format_args!("skipped: {why}"));
}

/// Prints a line on standard error even if the test passes: the test runner hides what `eprintln!` writes.
pub fn say(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Where the recipes of `testdata/recipes` put real images and files of published wheels: IMGCHECK_REAL, or `testdata/real`.
///
/// # Panics
/// Never.
#[must_use]
pub fn real_images() -> PathBuf {
    std::env::var_os("IMGCHECK_REAL")
        .filter(|value| !value.is_empty())
        .map_or_else(|| repository("testdata/real"), PathBuf::from)
}

/// Whether a missing real image is a failure: `IMGCHECK_REQUIRE_REAL=1`.
#[must_use]
pub fn real_images_required() -> bool {
    std::env::var("IMGCHECK_REQUIRE_REAL").is_ok_and(|value| value == "1")
}

/// A file of the repository.
///
/// # Panics
/// Never.
#[must_use]
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate is in the repository")
        .join(path)
}
