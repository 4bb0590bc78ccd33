//! The HTTPS server: connections, limits, and its end.

mod auth;
mod health;
mod request;
mod tls;
mod tokens;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

pub(super) use auth::authenticated;
pub(super) use health::{live, metrics, ready};
pub use request::Problem;
pub(super) use request::{MAX_BODY, observed, problem, unreceived};
pub use tls::{Tls, TlsFiles};
pub use tokens::Tokens;

/// Connections at once.
const CONNECTIONS: usize = 4096;
/// The time for a TLS handshake, and for the headers of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Requests that run when the server ends have this long.
const LAST_REQUESTS: Duration = Duration::from_secs(25);
/// A client has this many headers, in this many bytes.
const MAX_HEADERS: usize = 64;
const MAX_HEADER_BYTES: usize = 32 * 1024;

/// Who sent a request.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    /// The client showed a certificate of a listed authority.
    pub is_certified: bool,
}

/// Serves until it is stopped; then it accepts nothing, and lets the requests end that run.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    router: Router,
    stop: CancellationToken,
) {
    let (graceful, permits) = (
        GracefulShutdown::new(),
        Arc::new(Semaphore::new(CONNECTIONS)),
    );
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &permits) => accepted,
            () = stop.cancelled() => break,
        };
        let Some((stream, _, permit)) = accepted else {
            continue;
        };
        let connection = Connection {
            router: router.clone(),
            watcher: graceful.watcher(),
            permit,
        };
        let tls = tls.as_ref().map(|tls| TlsAcceptor::from(tls.config()));
        tokio::spawn(connection.run(stream, tls));
    }
    drop(listener);
    if timeout(LAST_REQUESTS, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests were cut off: they did not end within {LAST_REQUESTS:?}");
    }
}

/// The next connection; `None` after an error, such as too many open files.
async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => Some((stream, peer, permit)),
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

struct Connection {
    router: Router,
    watcher: Watcher,
    /// Counts the connection until it ends.
    permit: OwnedSemaphorePermit,
}

impl Connection {
    async fn run(self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        // Answers are small, and somebody waits for them.
        let _ = stream.set_nodelay(true);
        let Some(tls) = tls else {
            return self.requests(stream, false).await;
        };
        match timeout(PATIENCE, tls.accept(stream)).await {
            Ok(Ok(stream)) => {
                let certificates = stream.get_ref().1.peer_certificates();
                let is_certified = certificates.is_some_and(|it| !it.is_empty());
                self.requests(stream, is_certified).await;
            }
            Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => tracing::debug!("TLS handshake timed out"),
        }
    }

    async fn requests(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        is_certified: bool,
    ) {
        let router = self.router.layer(Extension(Client { is_certified }));
        let mut server = http1::Builder::new();
        server
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .max_headers(MAX_HEADERS)
            .max_header_size(MAX_HEADER_BYTES);
        let service = TowerToHyperService::new(router);
        let connection = server.serve_connection(TokioIo::new(stream), service);
        if let Err(error) = self.watcher.watch(connection).await {
            tracing::debug!(%error, "a connection ended early");
        }
        drop(self.permit);
    }
}
