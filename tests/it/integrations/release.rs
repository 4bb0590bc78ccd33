//! The installer, and the content of a release.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use regex::Regex;

use super::{said, shell, text, yaml};
use crate::program::repository;
use testkit::tools::tool;

/// A cargo that says how it was called, and installs a program that says `built`.
pub(super) const CARGO: &str = r#"#!/bin/sh
echo "cargo $*"
mkdir -p "$4/bin"
printf '#!/bin/sh\necho built\n' >"$4/bin/imgcheck"
chmod +x "$4/bin/imgcheck"
"#;

/// A directory of releases that holds one, of a program that only says its version.
pub(super) fn releases(directory: &Path, version: &str, spoilt: bool) -> String {
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let name = format!("imgcheck-{version}-{target}");
    let program = format!("#!/bin/sh\necho imgcheck {version}\n");
    let mut header = tar::Header::new_ustar();
    header.set_size(program.len() as u64);
    header.set_mode(0o755);
    let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(
        Vec::new(),
        flate2::Compression::fast(),
    ));
    archive
        .append_data(&mut header, format!("{name}/imgcheck"), program.as_bytes())
        .unwrap();
    let mut archive = archive.into_inner().unwrap().finish().unwrap();
    let release = directory.join(format!("v{version}"));
    fs::create_dir_all(&release).unwrap();
    let digest = imgcheck_base::digest::sha256(&archive).replace("sha256:", "");
    fs::write(
        release.join("SHA256SUMS"),
        format!("{digest}  {name}.tar.gz\n"),
    )
    .unwrap();
    if spoilt {
        archive.push(0);
    }
    fs::write(release.join(format!("{name}.tar.gz")), archive).unwrap();
    format!("file://{}", directory.display())
}

fn install(directory: &Path, version: &str, releases: &str, extra_path: Option<&Path>) -> Output {
    installer(directory, version, releases, extra_path)
        .output()
        .unwrap()
}

fn installer(
    directory: &Path,
    version: &str,
    releases: &str,
    extra_path: Option<&Path>,
) -> Command {
    let mut command = shell("sh", directory);
    command
        .arg(repository("ci/install.sh"))
        .args([version, "bin"]);
    command.env("IMGCHECK_RELEASES", releases);
    // A PATH without any cargo but the one of the test.
    let own = extra_path
        .map(|path| format!("{}:", path.display()))
        .unwrap_or_default();
    command.env("PATH", format!("{own}/usr/bin:/bin"));
    command
}

#[test]
fn the_hook_installs_what_was_released_once() {
    if !tool("curl") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let sources = directory.path().join("hook");
    fs::create_dir_all(sources.join("ci")).unwrap();
    for name in ["Cargo.toml", "ci/install.sh", "ci/pre-commit.sh"] {
        fs::copy(repository(name), sources.join(name)).unwrap();
    }
    let hooks = yaml(".pre-commit-hooks.yaml", &text(".pre-commit-hooks.yaml"));
    let mut entry = hooks[0]["entry"].as_str().unwrap().split(' ');
    let script = sources.join(entry.next().unwrap());
    let version = env!("CARGO_PKG_VERSION");
    let released = releases(&directory.path().join("releases"), version, false);
    for place in [released.as_str(), "file:///nowhere"] {
        let output = shell(script.to_str().unwrap(), directory.path())
            .args(entry.clone())
            .env("IMGCHECK_RELEASES", place)
            .env("PATH", "/usr/bin:/bin")
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed, format!("imgcheck {version}\n"));
    }
}

#[test]
fn the_installer_verifies_what_it_fetches() {
    if !tool("curl") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let good = releases(&path.join("good"), "9.9.9", false);
    for version in ["9.9.9", "v9.9.9"] {
        let output = install(path, version, &good, None);
        assert!(
            output.status.success() && said(&output).contains("imgcheck 9.9.9"),
            "{version}: {}",
            said(&output)
        );
        fs::remove_dir_all(path.join("bin")).unwrap();
    }

    let spoilt = releases(&path.join("spoilt"), "9.9.9", true);
    let output = install(path, "9.9.9", &spoilt, None);
    assert!(
        !output.status.success() && said(&output).contains("checksum"),
        "{}",
        said(&output)
    );
    assert!(!path.join("bin/imgcheck").exists());
}

#[test]
fn the_installer_builds_where_nothing_was_released() {
    if !tool("curl") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let none = releases(&path.join("releases"), "9.9.9", false);
    let output = install(path, "9.9.8", &none, None);
    assert!(
        !output.status.success() && said(&output).contains("no cargo"),
        "{}",
        said(&output)
    );
    assert!(said(&output).contains("there is no release v9.9.8"));
    for version in ["../9", "latest", "1.2", "1.2.3-", "0123abc"] {
        let output = install(path, version, &none, None);
        assert!(
            !output.status.success() && said(&output).contains("is no version"),
            "{}",
            said(&output)
        );
    }
    // A release for other platforms.
    let release = path.join("releases/v9.9.7");
    fs::create_dir(&release).unwrap();
    fs::write(release.join("SHA256SUMS"), "").unwrap();
    let output = install(path, "9.9.7", &none, None);
    assert!(
        !output.status.success() && said(&output).contains("release v9.9.7 has nothing for this"),
        "{}",
        said(&output)
    );

    let tools = path.join("tools");
    fs::create_dir(&tools).unwrap();
    executable(&tools.join("cargo"), CARGO);
    let commit = "0123456789abcdef0123456789abcdef01234567";
    for (version, source) in [
        ("9.9.8", "--tag v9.9.8"),
        ("v9.9.8", "--tag v9.9.8"),
        (commit, &format!("--rev {commit}")),
    ] {
        let output = install(path, version, &none, Some(&tools));
        let said = said(&output);
        assert!(
            output.status.success() && said.contains(source) && said.contains("built"),
            "{version}: {said}"
        );
    }
}

/// A mirror that answers every request with one status, until the test ends: its address, and its certificate for curl.
fn mirror(status: &'static str, directory: &Path) -> (String, PathBuf) {
    let key = rcgen::KeyPair::generate().unwrap();
    let names = rcgen::CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let certificate = names.self_signed(&key).unwrap();
    let path = directory.join("mirror.crt");
    fs::write(&path, certificate.pem()).unwrap();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.into())
        .unwrap();
    let (config, listener) = (Arc::new(config), TcpListener::bind("127.0.0.1:0").unwrap());
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let stream = rustls::StreamOwned::new(connection, stream.unwrap());
            let mut stream = BufReader::new(stream);
            let lines = stream.by_ref().lines().map_while(Result::ok);
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            let _ = stream.get_mut().write_all(answer.as_bytes());
            stream.get_mut().conn.send_close_notify();
            let _ = stream.get_mut().flush();
        }
    });
    (format!("https://{address}"), path)
}

#[test]
fn the_installer_tells_a_missing_release_from_a_mirror_that_fails() {
    if !tool("curl") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for (status, expected) in [
        ("404 Not Found", "there is no release v9.9.9"),
        ("403 Forbidden", "refuses access (HTTP status 403)"),
        ("501 Not Implemented", "answers with HTTP status 501"),
    ] {
        let (mirror, certificate) = mirror(status, path);
        let output = installer(path, "9.9.9", &mirror, None)
            .env("CURL_CA_BUNDLE", certificate)
            .output()
            .unwrap();
        let said = said(&output);
        assert!(
            !output.status.success() && said.contains(expected),
            "{status}: {said}"
        );
        // Only a release that does not exist is built.
        let builds = status.starts_with("404");
        assert_eq!(said.contains("no cargo to build"), builds, "{said}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
    let closed = format!("https://{}", closed.unwrap());
    let output = install(path, "9.9.9", &closed, None);
    assert!(
        !output.status.success() && said(&output).contains("cannot be reached"),
        "{}",
        said(&output)
    );
}

pub(super) fn executable(path: &Path, content: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_release_holds_what_it_says() {
    if !tool("bash") || !tool("gzip") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // Stands for the program of this build, whose size would only take time to compress.
    let program = directory.path().join("program");
    let script = format!(
        "#!/bin/sh\nexec '{}' \"$@\"\n",
        env!("CARGO_BIN_EXE_imgcheck")
    );
    executable(&program, &script);
    let pack = || {
        let output = shell("bash", directory.path())
            .arg(repository("ci/package.sh"))
            .args(["program", "x86_64-unknown-linux-musl", "."])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", said(&output));
        fs::read(String::from_utf8(output.stdout).unwrap().trim_end()).unwrap()
    };
    let archive = pack();
    assert_eq!(archive, pack(), "two runs give two archives");
    let mut names: Vec<PathBuf> = Vec::new();
    for entry in tar::Archive::new(flate2::read::GzDecoder::new(&archive[..]))
        .entries()
        .unwrap()
    {
        names.push(entry.unwrap().path().unwrap().into_owned());
    }
    let name = format!(
        "imgcheck-{}-x86_64-unknown-linux-musl",
        env!("CARGO_PKG_VERSION")
    );
    for file in [
        "imgcheck",
        "LICENSE",
        "README.md",
        "completions/imgcheck.bash",
        "completions/imgcheck.fish",
        "man/imgcheck.1",
    ] {
        assert!(
            names.contains(&Path::new(&name).join(file)),
            "{file}: {names:?}"
        );
    }
    // The workflow builds the files that the installer requests.
    let workflow = yaml("release.yml", &text(".github/workflows/release.yml"));
    let installer = text("ci/install.sh");
    for row in workflow["jobs"]["binary"]["strategy"]["matrix"]["include"]
        .as_array()
        .unwrap()
    {
        assert!(installer.contains(&format!("echo {}", row["target"].as_str().unwrap())));
    }
}

#[test]
fn the_release_uses_only_pinned_actions() {
    let pinned = Regex::new(r"^[\w./-]+@[0-9a-f]{40} # v").unwrap();
    let text = text(".github/workflows/release.yml");
    let uses = text.lines().filter_map(|line| {
        line.trim_start()
            .trim_start_matches("- ")
            .strip_prefix("uses: ")
    });
    let mut count = 0;
    for action in uses {
        assert!(pinned.is_match(action), "{action}");
        count += 1;
    }
    assert!(count >= 4, "{count}");
}

#[test]
fn the_release_waits_for_all_that_it_holds() {
    let workflow = yaml("release.yml", &text(".github/workflows/release.yml"));
    let jobs = workflow["jobs"].as_object().unwrap().keys();
    let made: BTreeSet<&str> = jobs
        .map(String::as_str)
        .filter(|it| *it != "publish")
        .collect();
    let needs = workflow["jobs"]["publish"]["needs"].as_array().unwrap();
    let needs: BTreeSet<&str> = needs.iter().filter_map(|it| it.as_str()).collect();
    assert_eq!(made, needs);
    let targets = workflow["jobs"]["wheel"]["strategy"]["matrix"]["include"].to_string();
    for system in ["aarch64-apple-darwin", "x86_64-apple-darwin", "windows"] {
        assert!(targets.contains(system), "{targets}");
    }
}
