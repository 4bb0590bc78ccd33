//! Signs with a program of the user, for keys in hardware and in services. It is the only program that imgcheck starts.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// What a command of the shell writes to standard output; `input` is its standard input.
///
/// # Errors
/// It cannot be started, or fails.
pub fn run(command: &str, input: &[u8]) -> io::Result<Vec<u8>> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read all of it says by its output what it did.
        let _ = stdin.write_all(input);
    }
    let output = child.wait_with_output()?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(io::Error::other(output.status.to_string())),
    }
}
