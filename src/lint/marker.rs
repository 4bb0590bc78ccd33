//! Environment markers of PEP 508, judged for the machines that images are built for.

use crate::version::marker::{self, Environment};

/// Where a marker holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// On every Linux.
    Always,
    /// On some, or it cannot be said.
    Sometimes,
    /// On none.
    Never,
}

/// Judges a marker.
///
/// # Errors
///
/// It is none; what is wrong with it.
pub fn held(marker: &str) -> Result<Held, String> {
    held_on(marker, &["x86_64", "aarch64"])
}

/// Judges a marker for some machines.
///
/// # Errors
///
/// It is none; what is wrong with it.
pub fn held_on(marker: &str, machines: &[&str]) -> Result<Held, String> {
    let mut answers = Vec::new();
    for python in ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"] {
        for machine in machines {
            let environment = Environment {
                python,
                full_python: Some(python),
                machine,
            };
            answers.push(marker::holds(marker, &environment)?);
        }
    }
    Ok(match answers.iter().all(|answer| *answer == answers[0]) {
        true if answers[0] == Some(true) => Held::Always,
        true if answers[0] == Some(false) => Held::Never,
        _ => Held::Sometimes,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn markers_are_judged_for_linux() {
        for (marker, expected) in [
            ("sys_platform == 'linux'", Held::Always),
            (
                "platform_system != \"Darwin\" and os_name=='posix'",
                Held::Always,
            ),
            (
                "sys_platform == 'win32' or sys_platform == 'darwin'",
                Held::Never,
            ),
            ("platform_machine == 'x86_64'", Held::Sometimes),
            ("platform_machine in 'x86_64 aarch64'", Held::Always),
            ("platform_machine not in 'arm64'", Held::Always),
            ("'linux' in sys_platform", Held::Always),
            ("python_version >= '3.6'", Held::Always),
            ("python_version < '3.10'", Held::Sometimes),
            ("'3.6' <= python_version", Held::Always),
            ("python_version == '3.11.*'", Held::Sometimes),
            (
                "(python_version < '3' or sys_platform == 'linux') and os_name != 'nt'",
                Held::Always,
            ),
            ("extra == 'gpu'", Held::Sometimes),
            ("extra == 'gpu' and sys_platform == 'win32'", Held::Never),
        ] {
            assert_eq!(held(marker), Ok(expected), "{marker}");
        }
    }

    #[test]
    fn markers_are_judged_for_one_machine() {
        let marker = "sys_platform == 'linux' and platform_machine == 'x86_64'";
        assert_eq!(held_on(marker, &["x86_64"]), Ok(Held::Always));
        assert_eq!(held_on(marker, &["aarch64"]), Ok(Held::Never));
    }

    #[test]
    fn what_is_no_marker_is_an_error() {
        assert!(held("python_version = '3'").is_err());
        assert_eq!(held(&" ".repeat(2000)), Ok(Held::Sometimes));
    }
}
