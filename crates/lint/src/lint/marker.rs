//! Environment markers of PEP 508, evaluated for Linux machines.

use imgcheck_base::version::marker::{self, Environment};

/// The releases of Python that a marker is evaluated for.
pub const PYTHONS: &[&str] = &["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"];

/// On which Linux machines a marker is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applies {
    /// On all.
    Always,
    /// On some, or unknown.
    Sometimes,
    /// On none.
    Never,
}

/// The machines that a marker is evaluated for. The name of a file may say that it is for one of them.
const MACHINES: &[&str] = &["x86_64", "aarch64", "ppc64le", "s390x", "riscv64"];

/// Evaluates a marker.
///
/// # Errors
/// The marker is invalid.
pub fn applies(marker: &str) -> Result<Applies, String> {
    applies_on(marker, MACHINES)
}

/// Evaluates a marker for some machines.
///
/// # Errors
/// The marker is invalid.
pub fn applies_on(marker: &str, machines: &[&str]) -> Result<Applies, String> {
    let mut answers = Vec::new();
    for python in PYTHONS {
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
        true if answers[0] == Some(true) => Applies::Always,
        true if answers[0] == Some(false) => Applies::Never,
        _ => Applies::Sometimes,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn markers_are_evaluated_for_linux() {
        for (marker, expected) in [
            ("sys_platform == 'linux'", Applies::Always),
            (
                "platform_system != \"Darwin\" and os_name=='posix'",
                Applies::Always,
            ),
            (
                "sys_platform == 'win32' or sys_platform == 'darwin'",
                Applies::Never,
            ),
            ("platform_machine == 'x86_64'", Applies::Sometimes),
            ("platform_machine in 'x86_64 aarch64'", Applies::Sometimes),
            ("platform_machine != 'ppc64le'", Applies::Sometimes),
            ("platform_machine not in 'arm64'", Applies::Always),
            ("'linux' in sys_platform", Applies::Always),
            ("python_version >= '3.6'", Applies::Always),
            ("python_version < '3.10'", Applies::Sometimes),
            ("'3.6' <= python_version", Applies::Always),
            ("python_version == '3.11.*'", Applies::Sometimes),
            (
                "(python_version < '3' or sys_platform == 'linux') and os_name != 'nt'",
                Applies::Always,
            ),
            ("extra == 'gpu'", Applies::Sometimes),
            ("extra == 'gpu' and sys_platform == 'win32'", Applies::Never),
        ] {
            assert_eq!(applies(marker), Ok(expected), "{marker}");
        }
    }

    #[test]
    fn markers_are_evaluated_for_one_machine() {
        let marker = "sys_platform == 'linux' and platform_machine == 'x86_64'";
        assert_eq!(applies_on(marker, &["x86_64"]), Ok(Applies::Always));
        assert_eq!(applies_on(marker, &["aarch64"]), Ok(Applies::Never));
    }

    #[test]
    fn an_invalid_marker_is_an_error() {
        assert!(applies("python_version = '3'").is_err());
        assert_eq!(applies(&" ".repeat(2000)), Ok(Applies::Sometimes));
    }
}
