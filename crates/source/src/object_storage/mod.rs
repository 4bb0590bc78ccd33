//! A bucket, a WebDAV server or a directory, by URL.
//!
//! Every call blocks until the storage has answered, is given up, or the request was cancelled.

#[cfg(feature = "object-storage")]
mod clouds;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use futures_util::TryStreamExt;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, ObjectStoreScheme, PutMode};
use reqwest::Url;
use tokio::runtime::{Builder, Runtime};

use crate::tls;
use imgcheck_base::cancellation::Cancellation;

/// What a URL may look like.
pub const EXPECTED: &str = match cfg!(feature = "object-storage") {
    true => {
        "expected s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, https://SERVER/PATH or file:///DIRECTORY"
    }
    false => {
        "expected file:///DIRECTORY; released programs also take s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX and https://SERVER/PATH, and so do builds with `cargo install --locked --features object-storage --path .`"
    }
};

/// How long a request may take.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// One request with its retries, including name resolution, credentials and connections.
    pub whole: Duration,
    /// Further attempts after a temporary failure.
    pub retries: usize,
}

/// Objects below a URL; the connection is made on first use.
pub struct ObjectStorage {
    url: Url,
    /// The URL without user and password.
    address: String,
    kind: ObjectStoreScheme,
    prefix: Path,
    patience: Patience,
    connection: OnceLock<Result<Connection, String>>,
}

struct Connection {
    store: Arc<dyn ObjectStore>,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The request was cancelled, which is not a failure of the storage.
    Cancelled,
    /// What is wrong, on one line and without secrets.
    Problem(String),
}

/// An object as the storage lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectState {
    /// When it was written, by the clock of the storage.
    pub written: SystemTime,
    /// Length in bytes.
    pub size: u64,
}

type Answer<T> = Result<T, Failure>;

impl ObjectStorage {
    /// Connects to nothing yet.
    ///
    /// # Errors
    /// What is wrong with the URL.
    pub fn new(url: &str, patience: Patience) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        let (kind, prefix) = ObjectStoreScheme::parse(&url).map_err(|error| error.to_string())?;
        if cfg!(not(feature = "object-storage")) && kind != ObjectStoreScheme::Local {
            return Err("this imgcheck was built without object storage".to_owned());
        }
        let mut address = url.clone();
        // Fails only for URLs without a host.
        let _ = address.set_password(None);
        let _ = address.set_username("");
        // It can contain a signature.
        address.set_query(None);
        address.set_fragment(None);
        Ok(ObjectStorage {
            url,
            address: address.into(),
            kind,
            prefix,
            patience,
            connection: OnceLock::new(),
        })
    }

    /// The URL without user, password and signature.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The directory, if the store is a local one.
    pub fn directory(&self) -> Option<std::path::PathBuf> {
        match self.kind {
            ObjectStoreScheme::Local => self.url.to_file_path().ok(),
            _ => None,
        }
    }

    /// Reads an object of at most `maximum` bytes; `None` if it is missing or larger.
    pub fn get(&self, name: &str, maximum: u64, end: &Cancellation) -> Answer<Option<Vec<u8>>> {
        self.request(end, async |store, path| {
            let found = match store.get(&path(name)).await {
                Err(object_store::Error::NotFound { .. }) => return Ok(None),
                found => found?,
            };
            if found.meta.size > maximum {
                return Ok(None);
            }
            found.bytes().await.map(|bytes| Some(bytes.into()))
        })
    }

    /// When an object was written, and its size; `None` if it is missing.
    pub fn state(&self, name: &str, end: &Cancellation) -> Answer<Option<ObjectState>> {
        self.request(end, async |store, path| {
            match store.head(&path(name)).await {
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                found => found.map(|meta| Some(ObjectState::of(&meta))),
            }
        })
    }

    /// Writes an object, whether there was one or not.
    pub fn put(&self, name: &str, bytes: Vec<u8>, end: &Cancellation) -> Answer<()> {
        let bytes = bytes::Bytes::from(bytes);
        self.request(end, async |store, path| {
            store.put(&path(name), bytes.into()).await.map(drop)
        })
    }

    /// Writes an object if the name is free. If several writers try at once, one gets `true` (conditional PUT).
    pub fn create(&self, name: &str, bytes: Vec<u8>, end: &Cancellation) -> Answer<bool> {
        let bytes = bytes::Bytes::from(bytes);
        self.request(end, async |store, path| {
            let path = path(name);
            let put = store.put_opts(&path, bytes.into(), PutMode::Create.into());
            match put.await {
                Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
                put => put.map(|_| true),
            }
        })
    }

    /// Removes an object, if it is there.
    pub fn delete(&self, name: &str, end: &Cancellation) -> Answer<()> {
        self.request(end, async |store, path| {
            match store.delete(&path(name)).await {
                Err(object_store::Error::NotFound { .. }) => Ok(()),
                deleted => deleted,
            }
        })
    }

    /// Hands over the names of all objects. It takes as long as it takes: only the cancellation ends it.
    pub fn list(&self, end: &Cancellation, mut each: impl FnMut(&str)) -> Answer<()> {
        let connection = self.connection()?;
        let listing = async {
            let mut objects = connection.store.list(Some(&self.prefix));
            while let Some(meta) = objects.try_next().await? {
                each(meta.location.filename().unwrap_or_default());
            }
            Ok(())
        };
        match connection.block_on(end.wait_for(listing))? {
            Ok(listed) => listed.map_err(|error| self.problem(&error)),
            Err(_) => Err(Failure::Cancelled),
        }
    }

    fn request<T>(
        &self,
        end: &Cancellation,
        request: impl AsyncFnOnce(&dyn ObjectStore, &dyn Fn(&str) -> Path) -> object_store::Result<T>,
    ) -> Answer<T> {
        let connection = self.connection()?;
        let path = |name: &str| self.prefix.clone().join(name);
        let request = async {
            let request = request(&*connection.store, &path);
            let request = tokio::time::timeout(self.patience.whole, request);
            end.wait_for(request).await
        };
        match connection.block_on(request)? {
            Err(_) => Err(Failure::Cancelled),
            Ok(Err(_)) => {
                let seconds = self.patience.whole.as_secs();
                Err(Failure::Problem(format!(
                    "no answer within {seconds} seconds"
                )))
            }
            Ok(Ok(result)) => result.map_err(|error| self.problem(&error)),
        }
    }

    fn connection(&self) -> Answer<&Connection> {
        let connection = self.connection.get_or_init(|| self.connect());
        let connection = connection.as_ref();
        connection.map_err(|problem| Failure::Problem(problem.clone()))
    }

    fn connect(&self) -> Result<Connection, String> {
        tls::install();
        let store = self
            .store()
            .map_err(|error| self.without_secrets(&error.to_string()))?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = Some(runtime.map_err(|error| error.to_string())?);
        Ok(Connection { store, runtime })
    }

    fn problem(&self, error: &object_store::Error) -> Failure {
        Failure::Problem(self.without_secrets(&error.to_string()))
    }

    /// The first line: servers append pages of XML or HTML.
    fn without_secrets(&self, problem: &str) -> String {
        let problem = problem.lines().next().unwrap_or_default();
        match self.url.password() {
            Some(password) if !password.is_empty() => problem.replace(password, "…"),
            _ => problem.to_owned(),
        }
    }

    fn store(&self) -> object_store::Result<Arc<dyn ObjectStore>> {
        #[cfg(feature = "object-storage")]
        if self.kind != ObjectStoreScheme::Local {
            let Patience { whole, retries } = self.patience;
            return clouds::store(&self.kind, &self.url, retries, whole);
        }
        Ok(Arc::new(LocalFileSystem::new()))
    }
}

impl ObjectState {
    fn of(meta: &object_store::ObjectMeta) -> Self {
        ObjectState {
            written: meta.last_modified.into(),
            size: meta.size,
        }
    }
}

impl fmt::Debug for ObjectStorage {
    /// Without secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("ObjectStorage")
            .field(&self.address)
            .finish()
    }
}

impl Connection {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> Answer<T> {
        let closed = || Failure::Problem("it is closed".to_owned());
        Ok(self.runtime.as_ref().ok_or_else(closed)?.block_on(future))
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
