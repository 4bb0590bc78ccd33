//! An image that a request names by its digest.

use serde::Deserialize;

use super::cluster::Puller;
use super::images;
use super::queue::{Job, JobKey, Priority};
use super::setup::View;
use imgcheck_base::digest;

/// The placeholder repository of a digest without one; never contacted.
const UNNAMED: &str = "localhost/unnamed";

/// What a digest is judged as.
#[derive(Debug, Default, Deserialize)]
pub struct ImageQuery {
    /// The reference whose promises count; empty for none.
    #[serde(default)]
    pub reference: String,
    /// The architecture of a multi-platform image; that of the server if empty.
    #[serde(default)]
    pub architecture: String,
}

impl ImageQuery {
    /// The image with this digest.
    ///
    /// # Errors
    /// A part is not what it should be; one sentence says which.
    pub fn job(&self, digest: String, view: &View) -> Result<Job, String> {
        if digest::hexadecimal(&digest).is_none() {
            let problem = "the path does not end in a digest: `sha256:` and 64 hexadecimal digits";
            return Err(problem.to_owned());
        }
        check_architecture(&self.architecture)?;
        let repository = match self.reference.as_str() {
            "" => UNNAMED.to_owned(),
            reference => {
                let name = images::named(reference, view).map_err(|it| it.problem)?;
                format!("{}/{}", name.registry.unwrap_or_default(), name.repository)
            }
        };
        Ok(Job {
            key: JobKey {
                digest,
                architecture: self.architecture.clone(),
            },
            repository,
            puller: Puller::default(),
            priority: Priority::Asked,
            login: None,
        })
    }
}

/// # Errors
/// It is not the name of an architecture.
pub fn check_architecture(text: &str) -> Result<(), &'static str> {
    let is_name = text.len() <= 20
        && text
            .bytes()
            .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit());
    match is_name {
        true => Ok(()),
        false => Err("`architecture` is not one, such as amd64"),
    }
}
