//! The store that many machines share: a bucket, a WebDAV server or a directory.
//!
//! It is a convenience and gets little time: a request is tried again once at most, and after the first failure the store is
//! left alone for the rest of the run.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    ClientConfigKey, ClientOptions, ObjectStore, ObjectStoreExt, ObjectStoreScheme, RetryConfig,
};
use reqwest::Url;
use tokio::runtime::{Builder, Runtime};

use super::entry::MAXIMUM;
use crate::error::{Error, Result};
use crate::tls;

/// For one request with all that it needs: names, credentials, connections.
const PATIENCE: Duration = Duration::from_secs(10);
/// For one connection.
const CONNECT_TIMEOUT: &str = "3 seconds";

/// A shared store, reached when it is first needed.
pub(super) struct Shared {
    url: Url,
    /// The URL without user and password.
    address: String,
    kind: ObjectStoreScheme,
    /// Where in the store the entries are.
    prefix: Path,
    connection: OnceLock<Result<Connection, String>>,
    is_readable: AtomicBool,
    is_writable: AtomicBool,
}

struct Connection {
    store: Arc<dyn ObjectStore>,
    /// There until it is dropped.
    runtime: Option<Runtime>,
}

impl Shared {
    /// # Errors
    /// [`Error::Usage`] for a URL that names no kind of store.
    pub fn new(url: &str) -> Result<Self> {
        let wrong = |problem: &dyn fmt::Display| {
            Error::Usage {
            problem: format!("--cache: {problem}"),
            help: Some(
                "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, https://SERVER/PATH or file:///DIRECTORY"
                    .to_owned(),
            ),
        }
        };
        let url = Url::parse(url).map_err(|error| wrong(&error))?;
        let (kind, prefix) = ObjectStoreScheme::parse(&url).map_err(|error| wrong(&error))?;
        let mut address = url.clone();
        // They fail only for URLs that can have neither.
        let _ = address.set_password(None);
        let _ = address.set_username("");
        // A signature may be there.
        address.set_query(None);
        address.set_fragment(None);
        Ok(Shared {
            url,
            address: address.into(),
            kind,
            prefix,
            connection: OnceLock::new(),
            is_readable: AtomicBool::new(true),
            is_writable: AtomicBool::new(true),
        })
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// The object of this name, if there is one. `Err` says, once, that the store is not used any more, and why.
    pub fn get(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        if !self.is_readable.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let read = self.request(async |store| {
            let found = match store.get(&self.prefix.clone().join(name)).await {
                Err(object_store::Error::NotFound { .. }) => return Ok(None),
                found => found?,
            };
            if found.meta.size > MAXIMUM {
                return Ok(None);
            }
            found.bytes().await.map(|bytes| Some(bytes.into()))
        });
        read.or_else(|problem| {
            self.is_writable.store(false, Ordering::Relaxed);
            let first = self.is_readable.swap(false, Ordering::Relaxed);
            self.give_up(first, "is not used", &problem).map(|()| None)
        })
    }

    /// Writes an object. `Err` says, once, that nothing more is written, and why.
    pub fn put(&self, name: &str, sealed: Vec<u8>) -> Result<(), String> {
        if !self.is_writable.load(Ordering::Relaxed) {
            return Ok(());
        }
        let written = self.request(async |store| {
            let path = self.prefix.clone().join(name);
            store.put(&path, sealed.into()).await.map(drop)
        });
        written.or_else(|problem| {
            // Some may read but not write.
            let first = self.is_writable.swap(false, Ordering::Relaxed);
            self.give_up(first, "is not written to", &problem)
        })
    }

    fn give_up(&self, first: bool, what: &str, problem: &str) -> Result<(), String> {
        if !first {
            return Ok(());
        }
        // Servers add pages of XML or HTML.
        let problem = problem.lines().next().unwrap_or_default();
        let text = format!("the shared cache {} {what}: {problem}", self.address);
        Err(match self.url.password() {
            Some(password) if !password.is_empty() => text.replace(password, "…"),
            _ => text,
        })
    }

    fn request<T>(
        &self,
        request: impl AsyncFnOnce(&dyn ObjectStore) -> object_store::Result<T>,
    ) -> Result<T, String> {
        let connection = self.connection.get_or_init(|| self.connect());
        let connection = connection.as_ref().map_err(String::clone)?;
        let runtime = connection.runtime.as_ref().ok_or("it is closed")?;
        runtime.block_on(async {
            match tokio::time::timeout(PATIENCE, request(&*connection.store)).await {
                Err(_) => Err(format!("no answer in {} seconds", PATIENCE.as_secs())),
                Ok(result) => result.map_err(|error| error.to_string()),
            }
        })
    }

    fn connect(&self) -> Result<Connection, String> {
        tls::install();
        let store = self.store().map_err(|error| error.to_string())?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = Some(runtime.map_err(|error| error.to_string())?);
        Ok(Connection { store, runtime })
    }

    /// The store, with the credentials and settings that the environment has for its kind (`AWS_…`, `GOOGLE_…`, `AZURE_…`).
    fn store(&self) -> object_store::Result<Arc<dyn ObjectStore>> {
        let url = self.url.as_str();
        let timeout = ClientConfigKey::ConnectTimeout;
        let retry = RetryConfig {
            max_retries: 1,
            retry_timeout: PATIENCE,
            ..RetryConfig::default()
        };
        Ok(match self.kind {
            ObjectStoreScheme::Local => Arc::new(LocalFileSystem::new()),
            ObjectStoreScheme::AmazonS3 => Arc::new(
                AmazonS3Builder::from_env()
                    .with_config(AmazonS3ConfigKey::Client(timeout), CONNECT_TIMEOUT)
                    .with_retry(retry)
                    .with_url(url)
                    .build()?,
            ),
            ObjectStoreScheme::GoogleCloudStorage => Arc::new(
                GoogleCloudStorageBuilder::from_env()
                    .with_config(GoogleConfigKey::Client(timeout), CONNECT_TIMEOUT)
                    .with_retry(retry)
                    .with_url(url)
                    .build()?,
            ),
            ObjectStoreScheme::MicrosoftAzure => Arc::new(
                MicrosoftAzureBuilder::from_env()
                    .with_config(AzureConfigKey::Client(timeout), CONNECT_TIMEOUT)
                    .with_retry(retry)
                    .with_url(url)
                    .build()?,
            ),
            ObjectStoreScheme::Http => Arc::new(
                HttpBuilder::new()
                    .with_client_options(
                        ClientOptions::new()
                            .with_config(timeout, CONNECT_TIMEOUT)
                            .with_allow_http(true),
                    )
                    .with_retry(retry)
                    .with_url(self.server())
                    .build()?,
            ),
            _ => {
                return Err(object_store::Error::NotImplemented {
                    operation: format!("{:?}", self.kind),
                    implementer: "imgcheck".to_owned(),
                });
            }
        })
    }

    /// The URL without its path, which is in every name.
    fn server(&self) -> Url {
        let mut server = self.url.clone();
        server.set_path("");
        server
    }
}

impl fmt::Debug for Shared {
    /// Without secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Shared")
            .field(&self.address)
            .finish()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A name that is still being looked up would be waited for.
            runtime.shutdown_background();
        }
    }
}
