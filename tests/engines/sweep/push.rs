//! Pushes images to a registry, as the OCI distribution specification says.

use std::collections::BTreeSet;

use reqwest::header::LOCATION;
use reqwest::{Client, Url};
use testkit::registry::Content;
use tokio::runtime::Runtime;

/// Where layers are that all images share.
const SHARED: &str = "shared/layers";

/// A repository and its images by tag.
pub type Repository = (String, Vec<(String, Content)>);

/// Pushes to one registry.
pub struct Pusher {
    client: Client,
    base: Url,
    runtime: Runtime,
}

impl Pusher {
    pub fn new(address: &str) -> Self {
        // reqwest is built without a provider of its own.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Pusher {
            client: Client::builder().no_proxy().build().unwrap(),
            base: format!("http://{address}/v2/").parse().unwrap(),
            runtime: Runtime::new().unwrap(),
        }
    }

    /// Pushes images of one repository each: the blobs that several have once, then all repositories at the same time.
    pub fn push(&self, repositories: &[Repository]) {
        let mut seen = BTreeSet::new();
        let mut shared = BTreeSet::new();
        let contents = repositories.iter().flat_map(|(_, images)| images);
        for (_, content) in contents {
            for (digest, bytes) in &content.blobs {
                if !seen.insert(digest) {
                    shared.insert((digest, bytes));
                }
            }
        }
        self.runtime.block_on(async {
            for (digest, bytes) in &shared {
                self.upload(SHARED, digest, bytes).await;
            }
            let shared: BTreeSet<&String> = shared.iter().map(|(digest, _)| *digest).collect();
            let all = repositories
                .iter()
                .map(|(name, images)| self.push_repository(name, images, &shared));
            futures_util::future::join_all(all).await;
        });
    }

    /// Deletes a blob of a repository, although a manifest needs it.
    pub fn delete(&self, name: &str, digest: &str) {
        let delete = self
            .client
            .delete(self.url(&format!("{name}/blobs/{digest}")));
        let deleted = self.runtime.block_on(delete.send()).unwrap();
        assert_eq!(deleted.status(), 202);
    }

    async fn push_repository(
        &self,
        name: &str,
        images: &[(String, Content)],
        shared: &BTreeSet<&String>,
    ) {
        for (tag, content) in images {
            let manifest = &content.tags["1"];
            for (digest, bytes) in content.blobs.iter().filter(|(it, _)| *it != manifest) {
                match shared.contains(digest) {
                    true => self.mount(name, digest).await,
                    false => self.upload(name, digest, bytes).await,
                }
            }
            self.put_manifest(name, tag, content.blobs[manifest].clone())
                .await;
        }
    }

    async fn upload(&self, name: &str, digest: &str, bytes: &[u8]) {
        let start = self.url(&format!("{name}/blobs/uploads/"));
        let started = self.client.post(start.clone()).send().await.unwrap();
        let location = started.headers()[LOCATION].to_str().unwrap();
        let mut url = start.join(location).unwrap();
        url.query_pairs_mut().append_pair("digest", digest);
        let put = self.client.put(url).body(bytes.to_vec());
        assert_eq!(put.send().await.unwrap().status(), 201);
    }

    async fn mount(&self, name: &str, digest: &str) {
        let path = format!("{name}/blobs/uploads/?mount={digest}&from={SHARED}");
        let mounted = self.client.post(self.url(&path)).send().await.unwrap();
        assert_eq!(mounted.status(), 201);
    }

    async fn put_manifest(&self, name: &str, tag: &str, manifest: Vec<u8>) {
        let put = self
            .client
            .put(self.url(&format!("{name}/manifests/{tag}")))
            .header("content-type", "application/vnd.oci.image.manifest.v1+json")
            .body(manifest);
        assert_eq!(put.send().await.unwrap().status(), 201);
    }

    fn url(&self, path: &str) -> Url {
        self.base.join(path).unwrap()
    }
}
