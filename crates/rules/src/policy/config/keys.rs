//! The keys that a configuration names.

use super::Config;
use imgcheck_base::error::Result;
use imgcheck_base::yaml;
use imgcheck_source::attest::key::PublicKey;

/// How a key in PEM format begins.
const PEM: &str = "-----BEGIN";

impl Config {
    /// Reads the keys whose facts beside an image are believed.
    ///
    /// # Errors
    /// [`Error::Config`](imgcheck_base::error::Error::Config) with the position: a file cannot be read, or is not a public key of P-256.
    pub fn facts_keys(&self) -> Result<Vec<PublicKey>> {
        let read = |entry: &yaml::Spanned<String>| {
            let text = entry.value.trim();
            let key = match text.starts_with(PEM) {
                true => PublicKey::of_pem("in the configuration", text.as_bytes()),
                false => PublicKey::read(&self.directory.join(text).display().to_string()),
            };
            key.map_err(|error| {
                let help = "name a file relative to this one, or write the key itself (PEM)";
                self.source.fault(yaml::span(entry), &error.message(), help)
            })
        };
        self.keys.iter().map(read).collect()
    }
}
