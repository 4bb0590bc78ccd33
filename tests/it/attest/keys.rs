//! What `attest` and `verify` say of keys that they cannot use: a pasted command never destroys one.

use std::path::Path;
use std::process::Command;

use super::{make_keys, text};
use crate::program::imgcheck;

/// The help of an error about a key in a directory.
fn help(directory: &Path, command: &str, key: &str) -> String {
    let output = imgcheck()
        .current_dir(directory)
        .args([command, "registry.invalid/team/image:1", "--key", key])
        .output()
        .unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{command} {key}: {errors}");
    let (_, help) = errors.split_once("help: ").unwrap();
    help.lines().next().unwrap_or_default().to_owned()
}

/// Runs the command that a help proposes.
fn paste(directory: &Path, help: &str) {
    let (_, command) = help.split_once(": ").unwrap();
    let status = Command::new("sh")
        .args(["-c", command])
        .current_dir(directory)
        .output();
    assert!(status.unwrap().status.success(), "{command}");
}

fn openssl(directory: &Path, arguments: &str) {
    let output = Command::new("openssl")
        .args(arguments.split(' '))
        .current_dir(directory)
        .output();
    assert!(output.unwrap().status.success(), "{arguments}");
}

#[test]
fn a_private_key_in_place_of_a_public_one_survives_the_help() {
    if !testkit::tools::tool("openssl") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    make_keys(directory, "key");
    let read = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
    let (private, public) = (read("key.pem"), read("key.pub"));
    let named = help(directory, "verify", "key.pem");
    assert_eq!(named, "name the public key: --key key.pub");
    std::fs::remove_file(directory.join("key.pub")).unwrap();

    paste(directory, &help(directory, "verify", "key.pem"));
    assert_eq!(read("key.pem"), private);
    assert_eq!(
        read("key.pub").replace("\r\n", "\n"),
        public.replace("\r\n", "\n")
    );

    let named = help(directory, "attest", "key.pub");
    assert!(
        named.starts_with("name the private key that belongs to it: --key key.pem;"),
        "{named}"
    );
    let sec1 = "ec -in key.pem -out old.pem";
    openssl(directory, sec1);
    paste(directory, &help(directory, "attest", "old.pem"));
    assert_eq!(read("key.pem"), private);
    assert!(read("key-2.pem").starts_with("-----BEGIN PRIVATE KEY"));
}

#[test]
fn a_new_pair_gets_a_new_name() {
    if !testkit::tools::tool("openssl") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    openssl(
        directory,
        "ecparam -name secp384r1 -genkey -noout -out key.pem",
    );
    openssl(
        directory,
        "pkcs8 -topk8 -nocrypt -in key.pem -out pkcs8.pem",
    );
    let read = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
    let private = read("key.pem");
    for other_curve in ["key.pem", "pkcs8.pem"] {
        let said = help(directory, "attest", other_curve);
        assert!(said.starts_with("make a pair: "), "{said}");
        assert!(said.contains("-out key-2.pem"), "{said}");
    }
    for missing in ["none.pem", "none.pub"] {
        paste(directory, &help(directory, "attest", missing));
        assert_eq!(read("key.pem"), private);
    }
}
