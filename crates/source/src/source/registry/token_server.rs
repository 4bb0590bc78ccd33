//! Which token servers get a password. The registry chooses the server, so it could name one in the network of whoever runs imgcheck.

use std::net::IpAddr;

use reqwest::Url;
use tokio::net::lookup_host;

use super::failure::Failure;
use super::guard::is_internal;

/// # Errors
/// The token server has a loopback, link-local or private address, and the registry has a different one.
pub(super) async fn check_address(registry: &Url, realm: &Url) -> Result<(), Failure> {
    let own = addresses(registry).await;
    let is_foreign = |ip: &IpAddr| is_internal(*ip) && !own.contains(ip);
    match addresses(realm).await.into_iter().find(is_foreign) {
        None => Ok(()),
        Some(ip) => Err(Failure::damaged(format!(
            "{} names a token server with the local address {ip}, which gets no credentials",
            registry.host_str().unwrap_or_default()
        ))
        .with_help("if you trust this token server, allow it with --local-token-server")),
    }
}

/// The addresses of a host; empty if it is only reached through a proxy.
async fn addresses(url: &Url) -> Vec<IpAddr> {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = url.port_or_known_default().unwrap_or_default();
    let found = lookup_host((host, port)).await;
    let found = found.into_iter().flatten();
    found.map(|address| address.ip().to_canonical()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn local_token_servers_belong_to_local_registries() {
        let check = async |registry: &str, realm: &str| {
            let url = |text: &str| text.parse::<Url>().unwrap();
            check_address(&url(registry), &url(realm)).await.is_ok()
        };
        for realm in [
            "http://169.254.169.254/latest",
            "http://127.0.0.1/",
            "http://10.1.2.3/",
            "https://192.168.0.1/",
            "https://[fd00::1]/",
            "https://[fe80::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://100.100.100.200/",
        ] {
            assert!(!check("https://203.0.113.1/v2/", realm).await, "{realm}");
        }
        for (registry, realm) in [
            ("https://203.0.113.1/v2/", "https://203.0.113.2/token"),
            ("http://127.0.0.1:5000/v2/", "http://127.0.0.1:5001/token"),
            ("http://10.0.0.1/v2/", "https://10.0.0.1/token"),
        ] {
            assert!(check(registry, realm).await, "{registry} {realm}");
        }
        assert!(!check("http://127.0.0.1/v2/", "http://127.0.0.2/token").await);
    }
}
