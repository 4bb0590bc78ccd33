//! Which addresses may be connected to where strangers name the registry: whoever creates a Pod must not send requests into the
//! network of the server that judges it.

use std::error::Error;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use imgcheck_base::glob::matches_any;

/// Refuses internal addresses, but those of listed hosts. The address that is really connected to counts, also after a redirect.
/// Where a proxy is configured, that is the address of the proxy.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    internal_hosts: Arc<[String]>,
}

impl Guard {
    /// A guard that lets hosts that match one of these patterns have internal addresses, at every port: the port of `host:5000` does not
    /// count.
    pub fn new(internal_hosts: &[String]) -> Self {
        let hosts = internal_hosts.iter().map(|it| host_of(it).to_owned());
        Guard {
            internal_hosts: hosts.collect(),
        }
    }

    /// # Errors
    /// The host of the URL is an internal address.
    pub(super) fn check(&self, url: &Url) -> Result<(), String> {
        let host = url.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            Ok(ip) if !self.allows(bare, ip) => Err(refusal(bare, ip)),
            _ => Ok(()),
        }
    }

    fn allows(&self, host: &str, ip: IpAddr) -> bool {
        !is_internal(ip) || matches_any(host, &self.internal_hosts)
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let host = name.as_str();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host, 0)).await?.collect();
            let is_allowed = |it: &SocketAddr| guard.allows(host, it.ip());
            let allowed: Vec<SocketAddr> = found.iter().copied().filter(is_allowed).collect();
            match (allowed.is_empty(), found.first()) {
                (true, Some(refused)) => Err(InternalAddress(refusal(host, refused.ip())).into()),
                _ => Ok(Box::new(allowed.into_iter()) as Addrs),
            }
        })
    }
}

/// A pattern of hosts without its port and without the brackets of an IPv6 address.
fn host_of(pattern: &str) -> &str {
    let is_port = |it: &str| it == "*" || it.parse::<u16>().is_ok();
    let in_brackets = pattern.strip_prefix('[').and_then(|it| it.split_once(']'));
    match (in_brackets, pattern.split_once(':')) {
        (Some((host, _)), _) => host,
        // More colons: an IPv6 address.
        (None, Some((host, port))) if is_port(port) => host,
        _ => pattern,
    }
}

/// A host has an internal address and is not listed.
#[derive(Debug)]
pub(super) struct InternalAddress(String);

impl fmt::Display for InternalAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Error for InternalAddress {}

impl InternalAddress {
    /// The one that caused an error of a connection, such as of a host that was resolved.
    pub fn cause_of<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        let mut causes = std::iter::successors(Some(error), |it| (*it).source());
        causes.find_map(|it| it.downcast_ref())
    }
}

fn refusal(host: &str, ip: IpAddr) -> String {
    format!(
        "{host} has the internal address {ip}, and is not listed under `gate: {{internal-hosts: …}}` of the gate's configuration"
    )
}

/// Whether an address may belong to this machine, its network or its cloud, or belongs to nobody (IANA registries of special-purpose
/// addresses).
pub(super) fn is_internal(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_internal_v4(ip),
        IpAddr::V6(ip) => match embedded(ip) {
            Some(ip) => is_internal_v4(ip),
            None => is_internal_v6(ip),
        },
    }
}

fn is_internal_v4(ip: Ipv4Addr) -> bool {
    let [first, second, third, _] = ip.octets();
    ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_multicast()
        || first == 0
        // Shared addresses (RFC 6598), where some clouds have their metadata servers.
        || (first == 100 && second & 0xc0 == 64)
        || (first, second, third) == (192, 0, 0)
        // Benchmarks (RFC 2544).
        || (first == 198 && second & 0xfe == 18)
        || first >= 240
}

fn is_internal_v6(ip: Ipv6Addr) -> bool {
    let first = ip.segments()[0];
    ip.is_loopback()
        || ip.is_unspecified()
        || ip.is_unique_local()
        || ip.is_unicast_link_local()
        || ip.is_multicast()
        // Site-local addresses (RFC 3879).
        || first & 0xffc0 == 0xfec0
}

/// The IPv4 address that packets to an IPv6 address may reach: mapped (RFC 4291), translated (RFC 6052), 6to4 (RFC 3056).
fn embedded(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = ip.segments();
    let of = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => Some(of(g, h)),
        [0, 0, 0, 0, 0, 0] if g > 0 => Some(of(g, h)),
        [0x64, 0xff9b, 1, ..] => Some(Ipv4Addr::LOCALHOST),
        [0x2002, ..] => Some(of(b, c)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn internal_addresses_are_known() {
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.100.100.200",
            "0.0.0.0",
            "192.0.0.192",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::1",
            "2002:7f00:1::",
        ] {
            assert!(is_internal(text.parse().unwrap()), "{text}");
        }
        for text in [
            "1.1.1.1",
            "100.128.0.1",
            "172.32.0.1",
            "2606:4700::1111",
            "64:ff9b::1.1.1.1",
        ] {
            assert!(!is_internal(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn listed_hosts_may_have_internal_addresses() {
        let guard = Guard::new(&["harbor.internal".to_owned(), "10.0.*".to_owned()]);
        let check = |text: &str| guard.check(&text.parse().unwrap()).is_ok();
        assert!(check("https://10.0.0.1/v2/") && check("https://1.1.1.1/"));
        assert!(!check("https://10.1.0.1/v2/") && !check("http://[::1]:5000/v2/"));
        // Other spellings of addresses are the same addresses.
        assert!(!check("http://0x7f000001/") && !check("http://2130706433/"));
        // `registries` beside it takes ports.
        for pattern in [
            "127.0.0.1:5055",
            "127.0.0.1:*",
            "[::1]:5000",
            "::1",
            "[::1]",
        ] {
            let guard = Guard::new(&[pattern.to_owned()]);
            let host = if pattern.contains("::") {
                "[::1]"
            } else {
                "127.0.0.1"
            };
            let url = format!("http://{host}:5055/v2/");
            assert!(guard.check(&url.parse().unwrap()).is_ok(), "{pattern}");
        }
        let ip = "10.9.9.9".parse().unwrap();
        assert!(guard.allows("harbor.internal", ip) && !guard.allows("harbor.example", ip));
    }
}
