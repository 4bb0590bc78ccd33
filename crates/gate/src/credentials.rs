//! Which credentials a request to a registry has.

use super::cluster::PullSecret;
use imgcheck_base::error::{Error, Result};
use imgcheck_checker::ImageRequest;
use imgcheck_source::source::registry::Credentials;

/// What the pull secrets have for a repository, in order; none means those of the server's own configuration.
pub fn of_secrets(secrets: &[PullSecret], registry: &str, repository: &str) -> Vec<Credentials> {
    let found = secrets.iter();
    found
        .filter_map(|secret| Credentials::of_pull_secret(&secret.0, registry, repository))
        .collect()
}

/// Asks with one of the credentials after the other, until they are accepted; without any, as the server.
///
/// # Errors
/// That of the last ones.
pub fn with_each<T>(
    request: &ImageRequest,
    credentials: Vec<Credentials>,
    ask: impl Fn(&ImageRequest) -> Result<T>,
) -> Result<T> {
    if credentials.is_empty() {
        return ask(request);
    }
    let mut last = Error::Cancelled;
    for one in credentials {
        match ask(&request.clone().credentials(one)) {
            Ok(answer) => return Ok(answer),
            Err(error) => last = error,
        }
    }
    Err(last)
}
