//! The certificate of a gate for which nobody issues one. It is in a Secret that all replicas share, and the webhook configurations
//! trust its authority.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{Datelike, Days, NaiveDate, Utc};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use serde_json::{Value, json};

use super::api::{Api, Object};
use imgcheck_base::error::{Error, ErrorCode, Result};

/// The Secret, in the namespace of the gate, and the webhook configurations.
const SECRET: &str = "imgcheck-tls";
const CONFIGURATION: &str = "imgcheck";
const KINDS: [&str; 2] = [
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
];
/// The names for which the certificate of a Secret is, and its last day.
const NAMES: &str = "imgcheck.io/names";
const LAST_DAY: &str = "imgcheck.io/last-day";
/// Days for which a certificate is valid, and how long before its end there is a new one.
const VALID: Days = Days::new(365);
const EARLY: Days = Days::new(120);
/// How often another replica may be faster.
const ATTEMPTS: usize = 5;

/// A certificate with its key, and the authorities that webhooks trust, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The certificate of the server.
    pub certificate: String,
    /// Private key, as PEM.
    pub key: String,
    /// The authority that signed it, and the one before that.
    pub authorities: String,
}

/// Reads the certificate that all replicas share, makes a new one if it is missing or about to expire, and writes its authority into the webhook
/// configurations. When this returns, API servers are about to trust it.
///
/// # Errors
/// There is no webhook configuration, or the API server refuses.
pub(crate) async fn provide(api: &Api) -> Result<Certificate> {
    let configurations = configurations(api).await?;
    let names: BTreeSet<String> = configurations.iter().flat_map(names).collect();
    if names.is_empty() {
        let problem = format!("no webhook of the configuration {CONFIGURATION} calls a service");
        return Err(Error::config(format!("error: {problem}"))
            .with_help("`imgcheck serve --print-webhook | kubectl apply -f -`"));
    }
    let names: Vec<String> = names.into_iter().collect();
    let certificate = shared(api, &names, Utc::now().date_naive()).await?;
    for configuration in &configurations {
        trust(api, configuration, &certificate.authorities).await?;
    }
    Ok(certificate)
}

/// Deletes the webhook configurations: from then on, no API server asks the gate.
pub(crate) async fn delete_webhooks(api: &Api) -> Result<Vec<&'static str>> {
    let mut deleted = Vec::new();
    for kind in KINDS {
        if api.delete(kind, CONFIGURATION).await? {
            deleted.push(kind);
        }
    }
    Ok(deleted)
}

async fn configurations(api: &Api) -> Result<Vec<Object>> {
    let mut found = Vec::new();
    for kind in KINDS {
        let content = api.get(kind, CONFIGURATION).await?;
        found.extend(content.map(|content| Object {
            kind,
            name: CONFIGURATION,
            content,
        }));
    }
    Ok(found)
}

fn webhooks(configuration: &Object) -> impl Iterator<Item = &Value> {
    let webhooks = configuration.content.get("webhooks");
    webhooks.and_then(Value::as_array).into_iter().flatten()
}

/// The host names by which API servers call the webhooks.
fn names(configuration: &Object) -> BTreeSet<String> {
    let name = |webhook: &Value| {
        let client = webhook.get("clientConfig")?;
        let text = |key: &str| client.pointer(key).and_then(Value::as_str);
        match text("/url") {
            Some(url) => {
                let rest = url.strip_prefix("https://")?;
                let host = rest.split(['/', ':']).next()?;
                Some(host.to_owned())
            }
            None => Some(format!(
                "{}.{}.svc",
                text("/service/name")?,
                text("/service/namespace")?
            )),
        }
    };
    webhooks(configuration).filter_map(name).collect()
}

/// The certificate of the Secret. Of replicas that make one at the same time, the first wins.
async fn shared(api: &Api, names: &[String], today: NaiveDate) -> Result<Certificate> {
    for _ in 0..ATTEMPTS {
        let known = api.get("Secret", SECRET).await?;
        let old = known.as_ref().and_then(Certificate::read);
        if let (Some(known), Some(certificate)) = (&known, &old)
            && is_good(known, names, today)
        {
            return Ok(certificate.clone());
        }
        let certificate = Certificate::new(names, today, old.as_ref())?;
        let content = certificate.secret(names, today, known.as_ref());
        let secret = Object {
            kind: "Secret",
            name: SECRET,
            content,
        };
        let is_first = api.put(&secret, known.is_some());
        if is_first.await? {
            return Ok(certificate);
        }
    }
    let problem = "other replicas write it all the time";
    Err(Error::new(ErrorCode::Unreachable, SECRET, problem))
}

fn is_good(secret: &Value, names: &[String], today: NaiveDate) -> bool {
    let annotation = |key: &str| {
        let all = secret.pointer("/metadata/annotations")?;
        all.get(key)?.as_str()
    };
    let last: Option<NaiveDate> = annotation(LAST_DAY).and_then(|it| it.parse().ok());
    let is_young = last.is_some_and(|last| today + EARLY < last);
    is_young && annotation(NAMES) == Some(names.join(",").as_str())
}

/// Writes the authorities into all webhooks that do not have them.
async fn trust(api: &Api, configuration: &Object, authorities: &str) -> Result<()> {
    let bundle = STANDARD.encode(authorities);
    let lacks =
        |it: &&Value| it.pointer("/clientConfig/caBundle").and_then(Value::as_str) != Some(&bundle);
    let lacking: Vec<Value> = webhooks(configuration)
        .filter(lacks)
        .map(|it| json!({"name": it.get("name"), "clientConfig": {"caBundle": bundle}}))
        .collect();
    match lacking.is_empty() {
        true => Ok(()),
        false => {
            let patch = json!({"webhooks": lacking});
            api.patch(configuration, &patch).await
        }
    }
}

impl Certificate {
    /// A new authority, whose key is forgotten, and a certificate that it signed.
    fn new(names: &[String], today: NaiveDate, old: Option<&Certificate>) -> Result<Self> {
        let failed = |error: rcgen::Error| {
            Error::config(format!(
                "error: no certificate for {}: {error}",
                names.join(", ")
            ))
        };
        let named = |name: &str, mut parameters: CertificateParams| {
            // The names must differ, else the certificate would seem to be signed by itself.
            parameters.distinguished_name = DistinguishedName::new();
            parameters.distinguished_name.push(DnType::CommonName, name);
            // Clocks differ.
            let (year, month, day) = parts(today - Days::new(2));
            parameters.not_before = date_time_ymd(year, month, day);
            let (year, month, day) = parts(today + VALID);
            parameters.not_after = date_time_ymd(year, month, day);
            parameters
        };
        let mut authority = named("imgcheck authority", CertificateParams::default());
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let authority_key = KeyPair::generate().map_err(failed)?;
        let own = authority.self_signed(&authority_key).map_err(failed)?;
        let issuer = Issuer::new(authority, authority_key);
        let key = KeyPair::generate().map_err(failed)?;
        let server = CertificateParams::new(names).map_err(failed)?;
        let mut server = named("imgcheck", server);
        // Tells the authority from the one before, which has the same name.
        server.use_authority_key_identifier_extension = true;
        let server = server.signed_by(&key, &issuer).map_err(failed)?;
        // What the other replicas still serve is trusted, too.
        let before = old.map_or("", |it| first(&it.authorities));
        Ok(Certificate {
            certificate: server.pem(),
            key: key.serialize_pem(),
            authorities: format!("{}{before}", own.pem()),
        })
    }

    fn read(secret: &Value) -> Option<Self> {
        let text = |key: &str| {
            let data = secret.get("data")?.get(key)?.as_str()?;
            String::from_utf8(STANDARD.decode(data).ok()?).ok()
        };
        Some(Certificate {
            certificate: text("tls.crt")?,
            key: text("tls.key")?,
            authorities: text("ca.crt")?,
        })
    }

    fn secret(&self, names: &[String], today: NaiveDate, known: Option<&Value>) -> Value {
        let version = known.and_then(|it| it.pointer("/metadata/resourceVersion"));
        json!({
            "metadata": {
                "name": SECRET,
                "resourceVersion": version,
                "annotations": {NAMES: names.join(","), LAST_DAY: (today + VALID).to_string()},
            },
            "type": "kubernetes.io/tls",
            "stringData": {"tls.crt": self.certificate, "tls.key": self.key, "ca.crt": self.authorities},
        })
    }
}

/// The first certificate of some.
fn first(pem: &str) -> &str {
    let end = "-----END CERTIFICATE-----\n";
    pem.find(end).map_or("", |at| &pem[..at + end.len()])
}

fn parts(day: NaiveDate) -> (i32, u8, u8) {
    let number = |it: u32| u8::try_from(it).unwrap_or(1);
    (day.year(), number(day.month()), number(day.day()))
}
