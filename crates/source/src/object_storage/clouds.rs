//! The stores that are reached over a network, with the credentials and settings in the environment (`AWS_…`, `GOOGLE_…`, `AZURE_…`).

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{
    ClientConfigKey, ClientOptions, Error, ObjectStore, ObjectStoreScheme, Result, RetryConfig,
};
use reqwest::Url;

/// Timeout of a connection.
const CONNECT_TIMEOUT: &str = "3 seconds";

/// The store at a URL. A request is tried again so many times, for so long in all.
pub(super) fn store(
    kind: &ObjectStoreScheme,
    url: &Url,
    retries: usize,
    whole: Duration,
) -> Result<Arc<dyn ObjectStore>> {
    let timeout = ClientConfigKey::ConnectTimeout;
    let retry = RetryConfig {
        max_retries: retries,
        retry_timeout: whole,
        ..RetryConfig::default()
    };
    // The builders have the same methods, but no trait in common.
    macro_rules! bucket {
        ($builder:ty, $key:ident) => {
            Arc::new(
                <$builder>::from_env()
                    .with_config($key::Client(timeout), CONNECT_TIMEOUT)
                    .with_retry(retry)
                    .with_url(url.as_str())
                    .build()?,
            )
        };
    }
    Ok(match kind {
        ObjectStoreScheme::AmazonS3 => bucket!(AmazonS3Builder, AmazonS3ConfigKey),
        ObjectStoreScheme::GoogleCloudStorage => {
            bucket!(GoogleCloudStorageBuilder, GoogleConfigKey)
        }
        ObjectStoreScheme::MicrosoftAzure => bucket!(MicrosoftAzureBuilder, AzureConfigKey),
        ObjectStoreScheme::Http => {
            let options = ClientOptions::new()
                .with_config(timeout, CONNECT_TIMEOUT)
                .with_allow_http(true);
            // The path is part of every name.
            let mut server = url.clone();
            server.set_path("");
            let builder = HttpBuilder::new().with_client_options(options);
            Arc::new(builder.with_retry(retry).with_url(server).build()?)
        }
        _ => {
            return Err(Error::NotImplemented {
                operation: format!("{kind:?}"),
                implementer: "imgcheck".to_owned(),
            });
        }
    })
}
