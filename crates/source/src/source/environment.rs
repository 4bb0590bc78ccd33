//! Variables of the environment.

use std::ffi::OsString;

/// The value of a variable; an empty one counts as not set.
pub(super) fn variable(name: &str) -> Option<String> {
    variable_os(name)?.into_string().ok()
}

/// The same, whatever its encoding is. `HOME` is the user's directory on Windows, too.
pub(super) fn variable_os(name: &str) -> Option<OsString> {
    let name = match name {
        "HOME" if cfg!(windows) => "USERPROFILE",
        name => name,
    };
    std::env::var_os(name).filter(|value| !value.is_empty())
}
