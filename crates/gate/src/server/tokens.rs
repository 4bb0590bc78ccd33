//! Bearer tokens.

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use imgcheck_base::digest::sha256;
use imgcheck_base::error::{Error, Result};

/// Maximum length of the token file, in bytes.
const MAX_FILE: usize = 1024 * 1024;

/// The tokens of a file, one in a line; lines that begin with `#` are comments. Only their digests are kept, so that comparing them takes
/// the same time for every token.
#[derive(Debug, Default)]
pub struct Tokens {
    path: Option<PathBuf>,
    digests: RwLock<Vec<String>>,
}

impl Tokens {
    /// The tokens of a file; none without one.
    ///
    /// # Errors
    /// The file cannot be read, or has no token.
    pub fn read(path: Option<PathBuf>) -> Result<Self> {
        let digests = path
            .as_deref()
            .map(digests)
            .transpose()?
            .unwrap_or_default();
        Ok(Tokens {
            path,
            digests: RwLock::new(digests),
        })
    }

    /// Path of the token file.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Reads the file again.
    ///
    /// # Errors
    /// Same as [`Tokens::read`]; the last tokens stay valid.
    pub fn reload(&self) -> Result<()> {
        if let Some(path) = &self.path {
            let digests = digests(path)?;
            *self.digests.write().unwrap_or_else(PoisonError::into_inner) = digests;
        }
        Ok(())
    }

    /// Whether the headers of a request have one of the tokens.
    pub fn accepts(&self, headers: &HeaderMap) -> bool {
        let header = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        let token = header.and_then(|it| it.strip_prefix(b"Bearer "));
        token.is_some_and(|token| self.contains(token))
    }

    /// Whether the headers of a request have one of the tokens as password, of any user (RFC 7617).
    pub fn accepts_password(&self, headers: &HeaderMap) -> bool {
        let header = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        let login = header.and_then(|it| it.strip_prefix(b"Basic "));
        let login = login.and_then(|it| STANDARD.decode(it).ok());
        login.is_some_and(|login| {
            let mut parts = login.splitn(2, |byte| *byte == b':');
            parts.nth(1).is_some_and(|token| self.contains(token))
        })
    }

    fn contains(&self, token: &[u8]) -> bool {
        let digests = self.digests.read().unwrap_or_else(PoisonError::into_inner);
        digests.contains(&sha256(token))
    }
}

fn digests(path: &Path) -> Result<Vec<String>> {
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| Error::io(name.to_string(), error))?;
    let lines = text.get(..MAX_FILE).unwrap_or(&text).lines().map(str::trim);
    let tokens = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let digests: Vec<String> = tokens.map(|it| sha256(it.as_bytes())).collect();
    match digests.is_empty() {
        true => Err(Error::config(format!("{name}: no token found"))),
        false => Ok(digests),
    }
}
