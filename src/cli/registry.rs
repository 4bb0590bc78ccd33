//! How registries are reached, on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;

use imgcheck::{RegistryOptions, Result};

/// How registries are reached.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Registries")]
pub struct RegistryArguments {
    /// Accept any TLS certificate of a registry, and use plain HTTP if the registry has no TLS
    #[arg(long, env = "IMGCHECK_INSECURE", value_parser = BoolishValueParser::new())]
    insecure: bool,
    /// Send credentials to a token server with a loopback, link-local or private address, even if the registry has another address
    #[arg(long, env = "IMGCHECK_LOCAL_TOKEN_SERVER", value_parser = BoolishValueParser::new())]
    local_token_server: bool,
    /// Also trust the certificate authorities in this file (PEM); repeatable
    #[arg(
        long = "ca-cert",
        value_name = "FILE",
        env = "IMGCHECK_CA_CERT",
        value_delimiter = ','
    )]
    ca_certificates: Vec<PathBuf>,
    /// Try this mirror before the registry, such as docker.io=mirror.example/hub; repeatable
    #[arg(
        long = "mirror",
        value_name = "REGISTRY=MIRROR",
        env = "IMGCHECK_MIRROR",
        value_delimiter = ',',
        value_parser = mirror
    )]
    mirrors: Vec<String>,
    /// Do not connect to registries; check only references by digest whose image is in the cache
    #[arg(long, env = "IMGCHECK_OFFLINE", value_parser = BoolishValueParser::new())]
    offline: bool,
    /// Number of retries after a temporary failure
    #[arg(long, value_name = "TIMES", env = "IMGCHECK_RETRIES", default_value_t = RegistryOptions::default().policy.retries)]
    retries: usize,
    /// Give up on a connection after this many seconds without a response, or below 1 KB per second
    #[arg(long, value_name = "SECONDS", env = "IMGCHECK_STALL_TIMEOUT", default_value_t = RegistryOptions::default().policy.stall.as_secs())]
    stall_timeout: u64,
}

impl RegistryArguments {
    /// The options of a checker.
    pub fn options(&self) -> Result<RegistryOptions> {
        let mut options = RegistryOptions {
            insecure: self.insecure,
            local_token_server: self.local_token_server,
            ca_certificates: self.ca_certificates.clone(),
            offline: self.offline,
            ..RegistryOptions::default()
        };
        for mirror in &self.mirrors {
            options.add_mirror(mirror)?;
        }
        options.policy.retries = self.retries;
        options.policy.stall = Duration::from_secs(self.stall_timeout.max(1));
        Ok(options)
    }
}

/// Checks a mirror where it is given, so that the error names the option.
fn mirror(text: &str) -> Result<String> {
    RegistryOptions::default().add_mirror(text)?;
    Ok(text.to_owned())
}
