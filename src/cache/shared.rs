//! The store that several machines share: a bucket, a WebDAV server or a directory.
//!
//! It must not slow down a run much: a request is retried at most once, and the store is not used again after the first failure.

use std::fmt;
use std::io;
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
use super::trust::Trusted;
use crate::cancellation::Cancellation;
use crate::error::{Error, Result};
use crate::tls;

/// Timeout of one request, including name resolution, credentials and connections.
const PATIENCE: Duration = Duration::from_secs(10);
/// Timeout of a connection.
const CONNECT_TIMEOUT: &str = "3 seconds";

/// A shared store; the connection is made on first use.
pub(super) struct Shared {
    url: Url,
    /// The URL without user and password.
    address: String,
    kind: ObjectStoreScheme,
    /// Path of the entries in the store.
    prefix: Path,
    connection: OnceLock<Result<Connection, String>>,
    is_readable: AtomicBool,
    is_writable: AtomicBool,
}

struct Connection {
    store: Arc<dyn ObjectStore>,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl Shared {
    /// # Errors
    /// [`Error::Usage`] for a URL that is not that of a store.
    pub fn new(url: &str) -> Result<Self> {
        let invalid = |problem: &dyn fmt::Display| {
            Error::Usage {
            problem: format!("--cache: {problem}"),
            help: Some(
                "expected s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, https://SERVER/PATH or file:///DIRECTORY"
                    .to_owned(),
            ),
        }
        };
        let url = Url::parse(url).map_err(|error| invalid(&error))?;
        let (kind, prefix) = ObjectStoreScheme::parse(&url).map_err(|error| invalid(&error))?;
        let mut address = url.clone();
        // Fails only for URLs without a host.
        let _ = address.set_password(None);
        let _ = address.set_username("");
        // It can contain a signature.
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

    /// Why entries without a signature must not be believed: others may write them. `None` if the store is a directory for which that is
    /// not so.
    pub fn distrust(&self) -> Option<String> {
        let ObjectStoreScheme::Local = self.kind else {
            return Some("others may be able to write to it".to_owned());
        };
        let path = self.url.to_file_path().ok()?;
        match Trusted::open(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Some(error.to_string()),
            _ => None,
        }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// Reads an object. The error says, once, why the store is no longer used.
    pub fn get(&self, name: &str, cancellation: &Cancellation) -> Result<Option<Vec<u8>>, String> {
        if !self.is_readable.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let read = self.request(cancellation, async |store| {
            let found = match store.get(&self.prefix.clone().join(name)).await {
                Err(object_store::Error::NotFound { .. }) => return Ok(None),
                found => found?,
            };
            if found.meta.size > MAXIMUM {
                return Ok(None);
            }
            found.bytes().await.map(|bytes| Some(bytes.into()))
        });
        read.map(Option::flatten).or_else(|problem| {
            self.is_writable.store(false, Ordering::Relaxed);
            let first = self.is_readable.swap(false, Ordering::Relaxed);
            self.give_up(first, "is no longer used", &problem)
                .map(|()| None)
        })
    }

    /// Writes an object. The error says, once, why the store is no longer written to.
    pub fn put(
        &self,
        name: &str,
        sealed: Vec<u8>,
        cancellation: &Cancellation,
    ) -> Result<(), String> {
        if !self.is_writable.load(Ordering::Relaxed) {
            return Ok(());
        }
        let written = self.request(cancellation, async |store| {
            let path = self.prefix.clone().join(name);
            store.put(&path, sealed.into()).await.map(drop)
        });
        written.map(drop).or_else(|problem| {
            // Some users can read but not write.
            let first = self.is_writable.swap(false, Ordering::Relaxed);
            self.give_up(first, "is no longer written to", &problem)
        })
    }

    fn give_up(&self, first: bool, what: &str, problem: &str) -> Result<(), String> {
        if !first {
            return Ok(());
        }
        // Servers append pages of XML or HTML.
        let problem = problem.lines().next().unwrap_or_default();
        let text = format!("the shared cache {} {what}: {problem}", self.address);
        Err(match self.url.password() {
            Some(password) if !password.is_empty() => text.replace(password, "…"),
            _ => text,
        })
    }

    /// `Ok(None)` for a request that was cancelled, which is not a failure of the store.
    fn request<T>(
        &self,
        cancellation: &Cancellation,
        request: impl AsyncFnOnce(&dyn ObjectStore) -> object_store::Result<T>,
    ) -> Result<Option<T>, String> {
        let connection = self.connection.get_or_init(|| self.connect());
        let connection = connection.as_ref().map_err(String::clone)?;
        let runtime = connection.runtime.as_ref().ok_or("it is closed")?;
        runtime.block_on(async {
            let request = tokio::time::timeout(PATIENCE, request(&*connection.store));
            match cancellation.wait_for(request).await {
                Err(_) => Ok(None),
                Ok(Err(_)) => Err(format!("no answer within {} seconds", PATIENCE.as_secs())),
                Ok(Ok(result)) => result.map(Some).map_err(|error| error.to_string()),
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

    /// The store, with the credentials and settings in the environment (`AWS_…`, `GOOGLE_…`, `AZURE_…`).
    fn store(&self) -> object_store::Result<Arc<dyn ObjectStore>> {
        let url = self.url.as_str();
        let timeout = ClientConfigKey::ConnectTimeout;
        let retry = RetryConfig {
            max_retries: 1,
            retry_timeout: PATIENCE,
            ..RetryConfig::default()
        };
        // The builders have the same methods, but no trait in common.
        macro_rules! bucket {
            ($builder:ty, $key:ident) => {
                Arc::new(
                    <$builder>::from_env()
                        .with_config($key::Client(timeout), CONNECT_TIMEOUT)
                        .with_retry(retry)
                        .with_url(url)
                        .build()?,
                )
            };
        }
        Ok(match self.kind {
            ObjectStoreScheme::Local => Arc::new(LocalFileSystem::new()),
            ObjectStoreScheme::AmazonS3 => bucket!(AmazonS3Builder, AmazonS3ConfigKey),
            ObjectStoreScheme::GoogleCloudStorage => {
                bucket!(GoogleCloudStorageBuilder, GoogleConfigKey)
            }
            ObjectStoreScheme::MicrosoftAzure => bucket!(MicrosoftAzureBuilder, AzureConfigKey),
            ObjectStoreScheme::Http => {
                let options = ClientOptions::new()
                    .with_config(timeout, CONNECT_TIMEOUT)
                    .with_allow_http(true);
                let builder = HttpBuilder::new().with_client_options(options);
                Arc::new(builder.with_retry(retry).with_url(self.server()).build()?)
            }
            _ => {
                return Err(object_store::Error::NotImplemented {
                    operation: format!("{:?}", self.kind),
                    implementer: "imgcheck".to_owned(),
                });
            }
        })
    }

    /// The URL without its path, which is part of every name.
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
            // Does not wait for a name that is still being resolved.
            runtime.shutdown_background();
        }
    }
}
