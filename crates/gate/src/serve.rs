//! Starts a gate, and ends it.

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::cluster::Cluster;
use super::options::GateOptions;
use super::router::router;
use super::server;
use super::state::{Gate, Load};
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, Result};

/// Serves until SIGTERM or SIGINT. Blocks this thread.
///
/// # Errors
/// The gate cannot start: an option, the configuration, the queue or the address cannot be used.
pub fn serve(options: &GateOptions, load: Load, cluster: Arc<dyn Cluster>) -> Result<()> {
    let gate = Gate::new(options, load, cluster)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::io("the threads of the server", error))?;
    let served = runtime.block_on(run(gate, options));
    runtime.shutdown_background();
    served
}

async fn run(gate: Gate, options: &GateOptions) -> Result<()> {
    let failed = |error| Error::io(options.listen.to_string(), error);
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let cancellation = Cancellation::default();
    gate.start_workers(options.workers, &cancellation)?;
    if let Some(tls) = &gate.0.tls {
        gate.metrics().certificate.set(tls.expires() as f64);
    }
    tokio::spawn(
        gate.clone()
            .watch(options.configuration.clone(), options.reload),
    );
    tokio::spawn(gate.clone().forget_scans());
    gate.announce();
    let scheme = if options.tls.is_some() {
        "https"
    } else {
        "http"
    };
    tracing::info!(
        %address,
        tls = options.tls.is_some(),
        metrics = format!("{scheme}://{address}/metrics"),
        tokens = options.tokens.is_some(),
        "listening"
    );
    let close = tokio_util::sync::CancellationToken::new();
    let server = server::serve(
        listener,
        gate.0.tls.clone(),
        router(gate.clone()),
        close.clone(),
    );
    let server = tokio::spawn(server);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("ending");
    gate.0.stop.cancel();
    tokio::time::sleep(options.drain).await;
    cancellation.cancel();
    close.cancel();
    // A panic in the server was reported.
    let _ = server.await;
    Ok(())
}
