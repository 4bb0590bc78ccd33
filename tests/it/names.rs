//! Typing errors in the names of images: they are usage errors at once, and no registry is asked for them.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;

use tempfile::tempdir;

use crate::program::{imgcheck, repository};

const SAMPLE: &str = "testdata/sample/pytorch-cuda-v2.9.tar";

/// Exit code and standard error of a run in a directory. `proxy` is what every request to a registry would go to.
fn run(directory: &Path, proxy: &TcpListener, arguments: &[&str]) -> (i32, String) {
    run_with(&[], directory, proxy, arguments)
}

fn run_with(
    environment: &[(&str, &str)],
    directory: &Path,
    proxy: &TcpListener,
    arguments: &[&str],
) -> (i32, String) {
    let proxy = format!("http://{}", proxy.local_addr().unwrap());
    let output = imgcheck()
        .current_dir(directory)
        .env_remove("DOCKER_HOST")
        .envs(environment.iter().copied())
        .env("HTTPS_PROXY", &proxy)
        .env("HTTP_PROXY", &proxy)
        .env_remove("NO_PROXY")
        .env_remove("CONTAINER_HOST")
        .args(arguments)
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), error)
}

#[test]
fn typing_errors_ask_no_registry() {
    let directory = tempdir().unwrap();
    fs::copy(repository(SAMPLE), directory.path().join("image.tar")).unwrap();
    fs::create_dir(directory.path().join("build")).unwrap();
    fs::write(directory.path().join("build/layout"), "").unwrap();
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    for (arguments, words) in [
        (
            &["chek"][..],
            &[
                "`chek`: no such command or file",
                "did you mean the command `check`? docker://chek forces a registry, docker-daemon:chek the local Docker",
            ][..],
        ),
        (
            &["foo"],
            &["help: docker://foo forces a registry, docker-daemon:foo the local Docker"],
        ),
        (&["lnit", "."], &["did you mean `lint`?"]),
        (&["check", "Foo"], &["`Foo`: no such command or file"]),
        (
            &["./imgae.tar"],
            &["`./imgae.tar`: no such file", "did you mean ./image.tar?"],
        ),
        (
            &["missing.tar"],
            &["`missing.tar`: no such file", "`docker save IMAGE -o FILE`"],
        ),
        (
            &["facts", "imagetar"],
            &["did you mean image.tar? docker://imagetar forces"],
        ),
        (&["tree", "build/layot"], &["did you mean build/layout?"]),
        (&["diff", "no.tar", "/no/such"], &["`no.tar`: no such"]),
        (
            &["docker-archve:image.tar"],
            &["did you mean docker-archive:image.tar?"],
        ),
        (&["oci:nowhere"], &["`nowhere`: no such file"]),
        // Habits from other tools.
        (
            &["image", "train:v3"],
            &["no command `image`", "use: imgcheck train:v3; for an image"],
        ),
        (&["scan"], &["no command `scan`", "use: imgcheck IMAGE"]),
        (
            &["sbom", "build"],
            &["use: imgcheck build -f cyclonedx; for an image"],
        ),
        (
            &["image.tar", "--json"],
            &["unexpected argument '--json'", "tip: write `-f json`"],
        ),
        (&["image.tar", "-o", "json"], &["-o json=FILE"]),
    ] {
        let (code, error) = run(directory.path(), &proxy, arguments);
        assert_eq!(code, 2, "{arguments:?}: {error}");
        for text in words {
            assert!(error.contains(text), "{arguments:?}: {text}: {error}");
        }
    }
    let asked = proxy.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(asked, Err(ErrorKind::WouldBlock));
}

/// The image of a registry may be another than that of the engine which the user has.
#[test]
fn an_engine_that_does_not_answer_is_the_error() {
    let directory = tempdir().unwrap();
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let nobody = [("DOCKER_HOST", "unix:///no/such/docker.sock")];
    for (name, question) in [
        ("team/train:v3", ""),
        ("train", ""),
        ("chek", "did you mean the command `check`? "),
    ] {
        let (code, error) = run_with(&nobody, directory.path(), &proxy, &[name]);
        assert_eq!(code, 3, "{error}");
        for text in [
            format!("{name}: Docker could not be reached: unix:///no/such/docker.sock"),
            format!("help: {question}start it (systemctl start docker)"),
            format!("docker://{name}"),
        ] {
            assert!(error.contains(&text), "{text}: {error}");
        }
    }
    let asked = proxy.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(asked, Err(ErrorKind::WouldBlock));
}

#[test]
fn references_still_ask_their_registry() {
    let directory = tempdir().unwrap();
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    // A local directory `pytorch` does not make a path of what has a tag.
    fs::create_dir(directory.path().join("pytorch")).unwrap();
    for reference in ["pytorch/pytorch:2.8.0", "docker://foo"] {
        let program = env!("CARGO_BIN_EXE_imgcheck");
        let mut program = std::process::Command::new(program)
            .arg(reference)
            .current_dir(directory.path())
            .env_remove("DOCKER_HOST")
            .env_remove("CONTAINER_HOST")
            .env(
                "HTTPS_PROXY",
                format!("http://{}", proxy.local_addr().unwrap()),
            )
            .env_remove("NO_PROXY")
            .spawn()
            .unwrap();
        let asked = (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            proxy.accept().is_ok()
        });
        program.kill().unwrap();
        program.wait().unwrap();
        assert!(asked, "{reference}");
    }
}

/// Whoever forgot to start Docker reads of it, whatever the registry says.
#[test]
fn without_an_engine_the_error_says_so() {
    if Path::new("/var/run/docker.sock").exists() {
        return;
    }
    let directory = tempdir().unwrap();
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let (code, error) = run(directory.path(), &proxy, &["train"]);
    assert_eq!(code, 2, "{error}");
    let expected = "`train`: no such command or file, and Docker does not run here";
    assert!(error.contains(expected), "{error}");
    let here = ["--offline", "team/train:v3"];
    let (code, error) = run(directory.path(), &proxy, &here);
    assert_eq!(code, 3, "{error}");
    for words in [
        "Docker does not run here; then the registry: ",
        "if Docker has the image, start Docker",
    ] {
        assert!(error.contains(words), "{words}: {error}");
    }
}
