//! `imgcheck serve`: answer a cluster and other programs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use tracing::Metadata;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use imgcheck::{Checker, Connection, Declared, Error, GateOptions, Result, TlsFiles, Traces};

use super::interrupt::Stop;
use super::limits::LimitArguments;
use super::output;
use super::policy::{ConfigArguments, FailOnArgument, RuleArguments};
use super::{cache, registry};

/// Arguments of `imgcheck serve`.
#[derive(Debug, Clone, Args)]
pub struct ServeArguments {
    /// Address and port to listen on
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        env = "IMGCHECK_LISTEN",
        default_value = "0.0.0.0:8443"
    )]
    listen: SocketAddr,
    /// Server certificate with its chain (PEM); reloaded when the file changes
    #[arg(
        long,
        value_name = "FILE",
        env = "IMGCHECK_TLS_CERT",
        requires = "tls_key"
    )]
    tls_cert: Option<PathBuf>,
    /// Private key of the server certificate (PEM)
    #[arg(
        long,
        value_name = "FILE",
        env = "IMGCHECK_TLS_KEY",
        requires = "tls_cert"
    )]
    tls_key: Option<PathBuf>,
    /// Serve plain HTTP, for tests or behind a proxy that terminates TLS; API servers call webhooks only over HTTPS
    #[arg(long, env = "IMGCHECK_INSECURE_HTTP", value_parser = BoolishValueParser::new(), conflicts_with = "tls_cert")]
    insecure_http: bool,
    /// Accept client certificates of these authorities (PEM) in place of a token
    #[arg(
        long,
        value_name = "FILE",
        env = "IMGCHECK_CLIENT_CA",
        requires = "tls_cert"
    )]
    client_ca: Option<PathBuf>,
    /// Bearer tokens, one per line, for everything except admission and probes; reloaded when the file changes
    #[arg(long, value_name = "FILE", env = "IMGCHECK_TOKENS")]
    tokens: Option<PathBuf>,
    /// Directory for the queue, which survives restarts; each replica needs its own
    #[arg(
        long,
        value_name = "DIR",
        env = "IMGCHECK_STATE",
        default_value = "/var/lib/imgcheck"
    )]
    state: PathBuf,
    /// Number of images to read at the same time
    #[arg(
        long,
        value_name = "NUMBER",
        env = "IMGCHECK_WORKERS",
        default_value_t = 2
    )]
    workers: usize,
    /// Memory for cached facts and verdicts
    #[arg(long, value_name = "SIZE", env = "IMGCHECK_MEMORY", default_value = "256MB", value_parser = cache::size)]
    memory: u64,
    /// Drain period after SIGTERM, in seconds: the server still answers, while /readyz fails
    #[arg(
        long,
        value_name = "SECONDS",
        env = "IMGCHECK_DRAIN",
        default_value_t = 5
    )]
    drain: u64,
    /// Lowest level to log, as JSON on standard error
    #[arg(
        long,
        value_enum,
        value_name = "LEVEL",
        env = "IMGCHECK_LOG",
        default_value = "info"
    )]
    log: Level,
    /// Create a certificate, share it between replicas in the Secret imgcheck-tls, and write its authority into the webhook
    /// configurations named imgcheck
    #[arg(long, env = "IMGCHECK_SELF_SIGNED", value_parser = BoolishValueParser::new(), conflicts_with_all = ["tls_cert", "insecure_http"])]
    self_signed: bool,
    /// Watch the cluster in this kubeconfig [default: the cluster that the server runs in, if any]
    #[arg(long, value_name = "FILE", env = "IMGCHECK_KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME", env = "IMGCHECK_CONTEXT")]
    context: Option<String>,
    /// Print the webhook configuration for a cluster and exit
    #[arg(long)]
    print_webhook: bool,
    /// Delete the webhook configurations named imgcheck, so that no API server asks the gate any more, and exit; before you remove the
    /// gate
    #[arg(long)]
    delete_webhooks: bool,
    /// Print the API description (OpenAPI 3.1) and exit
    #[arg(long)]
    print_openapi: bool,
    #[command(flatten)]
    config: ConfigArguments,
    #[command(flatten)]
    rules: RuleArguments,
    #[command(flatten)]
    fail_on: FailOnArgument,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    cache: cache::CacheArguments,
    #[command(flatten)]
    registry: registry::RegistryArguments,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

/// The token of a Pod.
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// Serves until a signal.
pub fn run(arguments: &ServeArguments) -> Result<ExitCode, Stop> {
    if arguments.print_openapi {
        output::print(&imgcheck::gate_openapi())?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.print_webhook {
        output::print(imgcheck::WEBHOOK)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.delete_webhooks {
        let deleted = imgcheck::delete_webhooks(&arguments.cluster("--delete-webhooks")?)?;
        for kind in &deleted {
            output::print(&format!("deleted {kind} imgcheck\n"))?;
        }
        if deleted.is_empty() {
            output::print("no webhook configuration is named imgcheck\n")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    arguments.check_files()?;
    let traces = Traces::from_environment()?;
    log(arguments.log, traces.as_ref());
    let connection = arguments.connection();
    let tls = arguments.tls()?;
    let reading = arguments.clone();
    let load = move || reading.checker();
    let configuration = load()?.configuration_file().map(PathBuf::from);
    let options = GateOptions {
        listen: arguments.listen,
        tls,
        tokens: arguments.tokens.clone(),
        state: arguments.state.clone(),
        workers: arguments.workers,
        memory: arguments.memory,
        configuration: configuration.into_iter().collect(),
        reload: Duration::from_secs(5),
        drain: Duration::from_secs(arguments.drain),
    };
    let cluster = match &connection {
        Some(connection) => imgcheck::watch_cluster(connection)?,
        None => Arc::new(Declared::default()),
    };
    let served = imgcheck::serve(&options, Box::new(load), cluster);
    if let Some(traces) = traces {
        traces.end();
    }
    served?;
    Ok(ExitCode::SUCCESS)
}

impl ServeArguments {
    /// The cluster to watch. A Pod has these variables and a token, unless it asks for none.
    fn connection(&self) -> Option<Connection> {
        let is_pod = || cfg!(feature = "kube") && Path::new(TOKEN).exists();
        let named = Connection::named(self.kubeconfig.clone(), self.context.clone());
        named.or_else(|| is_pod().then_some(Connection::InCluster))
    }

    /// The cluster that an option needs.
    fn cluster(&self, option: &str) -> Result<Connection> {
        self.connection().ok_or_else(|| {
            Error::usage(format!("{option} needs a cluster"))
                .with_help("run it in a Pod, or pass --kubeconfig FILE")
        })
    }

    /// # Errors
    /// An option names a file that does not exist.
    fn check_files(&self) -> Result<()> {
        let files = [
            ("--tls-cert", &self.tls_cert),
            ("--tls-key", &self.tls_key),
            ("--client-ca", &self.client_ca),
            ("--tokens", &self.tokens),
            ("--kubeconfig", &self.kubeconfig),
        ];
        let mut named = files
            .into_iter()
            .filter_map(|(option, file)| Some((option, file.as_ref()?)));
        match named.find(|(_, file)| matches!(file.try_exists(), Ok(false))) {
            Some((option, file)) => Err(Error::usage(format!(
                "{option} {}: the file does not exist",
                file.display()
            ))),
            None => Ok(()),
        }
    }

    fn tls(&self) -> Result<Option<TlsFiles>> {
        if self.self_signed {
            let connection = self.cluster("--self-signed")?;
            let mut files = imgcheck::self_signed(&connection, &self.state.join("certificate"))?;
            files.client_authorities.clone_from(&self.client_ca);
            return Ok(Some(files));
        }
        match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Ok(Some(TlsFiles {
                certificate: certificate.clone(),
                key: key.clone(),
                client_authorities: self.client_ca.clone(),
            })),
            _ if self.insecure_http => Ok(None),
            _ => Err(Error::usage("the server has no certificate").with_help(
                "pass --tls-cert FILE and --tls-key FILE, --self-signed, or --insecure-http",
            )),
        }
    }

    /// What judges images: layers are read as container engines read them, and internal addresses only where the configuration allows it.
    fn checker(&self) -> Result<Checker> {
        let builder = Checker::builder().no_lazy(true).guarded(true);
        let builder = self.limits.apply(self.config.apply(builder)?);
        let builder = self.fail_on.apply(self.rules.apply(builder));
        let builder = builder.registries(self.registry.options()?);
        match self.cache.options() {
            Some(cache) => builder.cache(cache).build(),
            None => builder.build(),
        }
    }
}

/// Logs go to standard error, a JSON object in a line; what is to be traced, to the collector.
fn log(level: Level, traces: Option<&Traces>) {
    let level = match level {
        Level::Error => tracing::Level::ERROR,
        Level::Warn => tracing::Level::WARN,
        Level::Info => tracing::Level::INFO,
        Level::Debug => tracing::Level::DEBUG,
    };
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_writer(std::io::stderr);
    // Spans are for the collector: without one they cost nothing.
    let is_line = move |metadata: &Metadata| metadata.is_event() && *metadata.level() <= level;
    let lines = lines.with_filter(filter_fn(is_line).with_max_level_hint(level));
    let subscriber = tracing_subscriber::registry().with(lines);
    // Nobody else installs a logger in this process.
    let _ = subscriber.with(traces.map(Traces::layer)).try_init();
}
