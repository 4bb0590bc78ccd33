//! How registries are reached, on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;

use imgcheck::internals::source::registry::{Mirror, Options, Registries, RetryPolicy};

/// How registries are reached.
#[derive(Debug, Args)]
#[command(next_help_heading = "Registries")]
pub struct RegistryArguments {
    /// Trust any certificate of a registry, and speak plain HTTP where there is no TLS
    #[arg(long, env = "IMGCHECK_INSECURE", value_parser = BoolishValueParser::new())]
    insecure: bool,
    /// Trust the authorities in this file (PEM), beside the system's; may be repeated
    #[arg(
        long = "ca-cert",
        value_name = "FILE",
        env = "IMGCHECK_CA_CERT",
        value_delimiter = ','
    )]
    ca_certificates: Vec<PathBuf>,
    /// Ask this mirror before the registry, as in docker.io=mirror.example/hub; may be repeated
    #[arg(
        long = "mirror",
        value_name = "REGISTRY=MIRROR",
        env = "IMGCHECK_MIRROR",
        value_delimiter = ','
    )]
    mirrors: Vec<Mirror>,
    /// Ask no registry: only references with a digest whose image was read before can then be checked
    #[arg(long, env = "IMGCHECK_OFFLINE", value_parser = BoolishValueParser::new())]
    offline: bool,
    /// How often a request is made again after a failure that may pass
    #[arg(long, value_name = "TIMES", env = "IMGCHECK_RETRIES", default_value_t = RetryPolicy::default().retries)]
    retries: usize,
    /// Give up a connection after so many seconds without an answer or with less than 1 KB a second
    #[arg(long, value_name = "SECONDS", env = "IMGCHECK_STALL_TIMEOUT", default_value_t = RetryPolicy::default().stall.as_secs())]
    stall_timeout: u64,
}

impl RegistryArguments {
    /// Registries, reached in this way.
    pub fn registries(&self) -> Registries {
        Registries::new(Options {
            insecure: self.insecure,
            ca_certificates: self.ca_certificates.clone(),
            mirrors: self.mirrors.clone(),
            offline: self.offline,
            policy: RetryPolicy {
                retries: self.retries,
                stall: Duration::from_secs(self.stall_timeout.max(1)),
                ..RetryPolicy::default()
            },
        })
    }
}
