//! Commands that make a usable key. None writes over a file that is there: it may be the only copy of a key.

use std::path::Path;

const VARIABLE: &str = "env://";

/// A new pair.
pub fn new_pair() -> String {
    let name = unused(&["pem", "pub"]);
    format!(
        "make a pair: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out {name}.pem && openssl pkey -in {name}.pem -pubout \
         -out {name}.pub"
    )
}

/// The public key that belongs to a private one.
pub fn public_half(private: &str) -> String {
    let name = unused(&["pub"]);
    let command = openssl("pkey", private, &format!("-pubout -out {name}.pub"));
    format!("write the public key that belongs to a private one: {command}")
}

/// What to give instead of this private key.
pub fn of_private(place: &str) -> String {
    match beside(place, "pub") {
        Some(public) => format!("name the public key: --key {public}"),
        None => public_half(place),
    }
}

/// What to give instead of this public key.
pub fn of_public(place: &str) -> String {
    let private = beside(place, "pem").unwrap_or_else(|| "PRIVATE-KEY".to_owned());
    format!(
        "name the private key that belongs to it: --key {private}; or let another program sign for it: --sign-with COMMAND"
    )
}

/// The same private key in PKCS #8.
pub fn converted(place: &str) -> String {
    let name = unused(&["pem"]);
    let command = openssl("pkcs8", place, &format!("-topk8 -nocrypt -out {name}.pem"));
    format!("convert it: {command}")
}

/// The same private key without a password.
pub fn decrypted(place: &str) -> String {
    let name = unused(&["pem"]);
    let command = openssl("pkey", place, &format!("-out {name}.pem"));
    format!("decrypt it ({command}), or let another program sign: --sign-with COMMAND")
}

/// A command of openssl that reads a key.
fn openssl(command: &str, place: &str, options: &str) -> String {
    match place.strip_prefix(VARIABLE) {
        Some(name) => format!("printenv {name} | openssl {command} {options}"),
        None => format!("openssl {command} -in {} {options}", quoted(place)),
    }
}

/// A name that no file here has with one of these endings.
fn unused(endings: &[&str]) -> String {
    let is_used = |name: &str| {
        let mut endings = endings.iter();
        endings.any(|it| Path::new(&format!("{name}.{it}")).exists())
    };
    let mut name = "key".to_owned();
    for number in 2.. {
        if !is_used(&name) {
            break;
        }
        name = format!("key-{number}");
    }
    name
}

/// The file with another ending beside this one, if there is one.
fn beside(place: &str, ending: &str) -> Option<String> {
    let other = Path::new(place).with_extension(ending);
    let other = Some(other).filter(|it| it != Path::new(place) && it.exists())?;
    Some(quoted(&other.display().to_string()))
}

/// A word of the shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
