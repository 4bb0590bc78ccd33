//! Authentication challenges: `WWW-Authenticate` (RFC 9110, section 11.6.1).

use http_auth::ChallengeRef;
use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};

/// A supported authentication scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Challenge {
    /// User name and password with every request (RFC 7617).
    Basic,
    /// A token (distribution project, "Token Authentication Specification").
    Bearer {
        /// The URL of the token server.
        realm: String,
        service: Option<String>,
    },
}

/// The supported challenges; tokens first, since a registry that offers both prefers them.
pub(super) fn challenges(headers: &HeaderMap) -> Vec<Challenge> {
    let texts = headers
        .get_all(WWW_AUTHENTICATE)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut found: Vec<Challenge> = texts
        .flat_map(|text| http_auth::parse_challenges(text).unwrap_or_default())
        .filter_map(|challenge| supported(&challenge))
        .collect();
    found.sort_by_key(|challenge| *challenge == Challenge::Basic);
    found
}

fn supported(challenge: &ChallengeRef<'_>) -> Option<Challenge> {
    let parameter = |wanted: &str| {
        let found = challenge
            .params
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
        Some(found.1.to_unescaped()).filter(|value| !value.is_empty())
    };
    if challenge.scheme.eq_ignore_ascii_case("basic") {
        return Some(Challenge::Basic);
    }
    if challenge.scheme.eq_ignore_ascii_case("bearer") {
        return Some(Challenge::Bearer {
            realm: parameter("realm")?,
            service: parameter("service"),
        });
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(lines: &[&str]) -> Vec<Challenge> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(WWW_AUTHENTICATE, line.parse().unwrap());
        }
        challenges(&headers)
    }

    #[test]
    fn challenges_of_real_registries() {
        let hub = of(&[
            r#"Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a/b:pull,push""#,
        ]);
        let token = Challenge::Bearer {
            realm: "https://auth.docker.io/token".into(),
            service: Some("registry.docker.io".into()),
        };
        assert_eq!(hub, [token]);
        assert_eq!(of(&[r#"Basic realm="Registry Realm""#]), [Challenge::Basic]);
        assert_eq!(of(&["basic realm=x"]), [Challenge::Basic]);
    }

    #[test]
    fn a_token_is_preferred() {
        let bearer = r#"Bearer realm="https://x/token""#;
        for lines in [
            &["Basic realm=\"a\"", bearer][..],
            &[&format!("Basic realm=\"a\", {bearer}")],
            &["Negotiate", "Basic realm=\"a\"", bearer],
        ] {
            let found = of(lines);
            assert!(matches!(found[0], Challenge::Bearer { .. }), "{lines:?}");
            assert_eq!(found[1], Challenge::Basic, "{lines:?}");
        }
    }

    #[test]
    fn unsupported_challenges_are_ignored() {
        for line in [
            "",
            "Negotiate",
            "Bearer",
            "Bearer service=x",
            "=,;\"",
            "Bearer realm=\"",
        ] {
            assert_eq!(of(&[line]), [], "{line}");
        }
    }
}
