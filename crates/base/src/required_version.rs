//! `required-version` in files of the user: an imgcheck that does not understand such a file refuses it, before it complains about keys that
//! it does not know.

use semver::{Prerelease, Version, VersionReq};
use serde::Deserialize;

use crate::error::Result;
use crate::yaml::{self, Spanned};

/// The key.
const KEY: &str = "required-version";

/// The one key that is read of a file, whatever else is in it.
#[derive(Deserialize)]
struct Head {
    #[serde(rename = "required-version", default)]
    required: Option<Spanned<String>>,
}

/// Checks that this version of imgcheck may read a file; `name` is shown in errors.
///
/// # Errors
/// The file requires a different version, or the requirement is invalid, shown at its place.
pub fn check(name: &str, text: &str) -> Result<()> {
    check_for(env!("CARGO_PKG_VERSION"), name, text)
}

fn check_for(version: &str, name: &str, text: &str) -> Result<()> {
    // What is wrong with the rest of the file is said by whoever reads all of it.
    if !text.contains(KEY) {
        return Ok(());
    }
    let Ok(Some(Head {
        required: Some(required),
    })) = yaml::parse::<Option<Head>>(name, text)
    else {
        return Ok(());
    };
    let fault = |problem: String, help: &str| {
        yaml::fault(name, text, yaml::span(&required), &problem, Some(help))
    };
    let written = required.value.trim();
    let requirement = VersionReq::parse(written).map_err(|error| {
        let problem = format!("`{written}` is not a version requirement: {error}");
        fault(problem, "write it as for cargo: `\">=0.2, <1\"`")
    })?;
    let own = Version::parse(version).map(|own| Version {
        // A version before a release understands what the release does.
        pre: Prerelease::EMPTY,
        ..own
    });
    match own {
        Ok(own) if !requirement.matches(&own) => {
            let problem =
                format!("{name} requires imgcheck {written}, and this is imgcheck {version}");
            let help = "install a version of imgcheck that the file allows";
            Err(fault(problem, help))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_version_refuses_a_file_whatever_else_is_in_it() {
        let text = "new-key: [1]\nrequired-version: \">=0.2, <1\"\n";
        let problem = |version| {
            let result = check_for(version, "a.yaml", text);
            result.err().map(|error| error.to_string())
        };
        let error = problem("0.1.9").unwrap_or_default();
        for words in [
            "a.yaml requires imgcheck >=0.2, <1, and this is imgcheck 0.1.9",
            "a.yaml:2:19",
        ] {
            assert!(error.contains(words), "{error}");
        }
        assert!(problem("1.0.0").is_some());
        for version in ["0.2.0", "0.2.0-rc.1", "0.9.1"] {
            assert_eq!(problem(version), None, "{version}");
        }
    }

    #[test]
    fn only_a_requirement_is_judged() {
        let check = |text| check_for("0.1.0", "a.yaml", text).is_ok();
        assert!(
            check("") && check("# required-version: \"9\"\n") && check("required-version: [\n")
        );
        assert!(check("required-version:\n") && check("- required-version\n"));
        assert!(!check("required-version: newest\n"));
        assert!(check("required-version: 0.1\n") && check("required-version: \"*\"\n"));
    }
}
