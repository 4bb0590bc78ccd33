//! The pull secrets of a Pod, read when they are needed: `get` of a ServiceAccount and of the Secrets that it names, never `list`.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::api::Api;
use imgcheck_base::error::Result;

/// The ServiceAccount of a Pod that names none.
const DEFAULT: &str = "default";

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ServiceAccount {
    image_pull_secrets: Vec<Named>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Named {
    name: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Secret {
    /// Base64.
    data: BTreeMap<String, String>,
}

/// The pull secrets of a Pod: those that it names, else those of its ServiceAccount, as the admission plugin ServiceAccount adds
/// them: each the JSON of `.dockerconfigjson`. One that does not exist is left out, as the kubelet does it.
///
/// # Errors
/// The API server cannot be reached, or does not allow it.
pub(crate) async fn of_pod(
    api: &Api,
    namespace: &str,
    service_account: &str,
    names: &[String],
) -> Result<Vec<String>> {
    let names = match names {
        [] => of_account(api, namespace, service_account).await?,
        names => names.to_vec(),
    };
    let mut secrets = Vec::new();
    for name in names {
        let secret: Option<Secret> = api.object("Secret", namespace, &name).await?;
        secrets.extend(secret.as_ref().and_then(Secret::read));
    }
    Ok(secrets)
}

async fn of_account(api: &Api, namespace: &str, name: &str) -> Result<Vec<String>> {
    let name = if name.is_empty() { DEFAULT } else { name };
    let account: Option<ServiceAccount> = api.object("ServiceAccount", namespace, name).await?;
    let secrets = account.unwrap_or_default().image_pull_secrets.into_iter();
    Ok(secrets.map(|it| it.name).collect())
}

impl Secret {
    /// The JSON of `.dockerconfigjson`; the older `.dockercfg` has only what is below `auths`.
    fn read(&self) -> Option<String> {
        let text = |key: &str| String::from_utf8(STANDARD.decode(self.data.get(key)?).ok()?).ok();
        let old = || Some(format!("{{\"auths\": {}}}", text(".dockercfg")?));
        text(".dockerconfigjson").or_else(old)
    }
}
