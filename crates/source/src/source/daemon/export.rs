//! The stream of an image that a container engine exports, as for `docker save`.

use std::io::{self, BufRead, Read};
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::timeout;

use super::connection::{Connection, EXPORT_TIMEOUT, EngineError, engine_error, with_query};
use imgcheck_base::error::{Error, ErrorCode};

/// Chunks to read ahead; hyper makes them at most half a megabyte large.
const READ_AHEAD: usize = 16;

/// The longest pause between two chunks.
const STALL_TIMEOUT: Duration = Duration::from_secs(600);

type Chunk = Result<Bytes, bollard::errors::Error>;

/// Reads what an engine exports. Dropping it closes the connection.
pub(super) struct Export {
    connection: Connection,
    chunks: Receiver<Chunk>,
    chunk: Bytes,
    has_started: bool,
    has_ended: bool,
    /// The error that ended the stream; every further read returns it.
    failure: Option<(ErrorCode, String)>,
}

impl Export {
    /// Requests the image `id`, only of `platform` (JSON of an OCI platform) if the engine supports that.
    pub fn start(connection: Connection, id: String, platform: Option<String>) -> Self {
        let docker = connection.docker.clone();
        let docker = match platform {
            Some(platform) => with_query(docker, "platform", platform),
            None => docker,
        };
        let (sender, chunks) = channel(READ_AHEAD);
        connection.runtime.spawn(async move {
            let mut stream = std::pin::pin!(docker.export_image(&id));
            while let Some(chunk) = stream.next().await {
                if sender.send(chunk).await.is_err() {
                    return;
                }
            }
        });
        Export {
            connection,
            chunks,
            chunk: Bytes::new(),
            has_started: false,
            has_ended: false,
            failure: None,
        }
    }

    fn receive(&mut self) -> Result<(), Error> {
        let limit = match self.has_started {
            true => STALL_TIMEOUT,
            false => EXPORT_TIMEOUT,
        };
        let Connection {
            runtime,
            cancellation,
            ..
        } = &self.connection;
        let next = async { timeout(limit, self.chunks.recv()).await };
        match runtime.run(cancellation, next)? {
            Ok(Some(Ok(chunk))) => {
                self.chunk = chunk;
                self.has_started = true;
            }
            Ok(Some(Err(error))) => self.failure = Some(failure(&error)),
            Ok(None) => self.has_ended = true,
            Err(_) => {
                let problem = format!("no data for {} s", limit.as_secs());
                self.failure = Some((ErrorCode::Timeout, problem));
            }
        }
        Ok(())
    }
}

fn failure(error: &bollard::errors::Error) -> (ErrorCode, String) {
    match engine_error(error) {
        EngineError::Failed(code, problem) => (code, problem),
        EngineError::NoSocket(problem) => (ErrorCode::Unreachable, problem),
        EngineError::NoSuchImage => (ErrorCode::NotFound, "image not found".to_owned()),
        EngineError::Interrupted(error) => (error.code(), error.message()),
    }
}

impl Read for Export {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Export {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.chunk.is_empty() && !self.has_ended && self.failure.is_none() {
            self.receive()?;
        }
        match &self.failure {
            Some((code, problem)) if self.chunk.is_empty() => {
                let subject = self.connection.address.to_string();
                Err(Error::new(*code, subject, problem).into())
            }
            _ => Ok(&self.chunk),
        }
    }

    fn consume(&mut self, count: usize) {
        self.chunk.advance(count.min(self.chunk.len()));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::Path;
    use std::thread;
    use std::time::Instant;

    use super::super::address::Address;
    use super::*;
    use imgcheck_base::cancellation::Cancellation;

    const VERSION: &str = r#"{"ApiVersion": "1.43", "MinAPIVersion": "1.12"}"#;

    /// Answers like an engine that negotiates a version, if it `answers`, and hangs on all other requests.
    fn hanging_engine(socket: &Path, answers: bool) -> Address {
        let listener = UnixListener::bind(socket).unwrap();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                thread::spawn(move || serve(client, answers));
            }
        });
        Address {
            host: format!("unix://{}", socket.display()),
            origin: None,
            tls: None,
        }
    }

    fn serve(mut client: UnixStream, answers: bool) {
        let mut request = [0; 4096];
        while let Ok(count @ 1..) = client.read(&mut request) {
            let text = String::from_utf8_lossy(&request[..count]);
            if answers && text.contains("/version") {
                let length = VERSION.len();
                let response = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{VERSION}"
                );
                client.write_all(response.as_bytes()).unwrap();
            }
        }
    }

    /// Asserts that a wait, which would never end, ends soon after it is cancelled.
    fn ends_soon<T>(cancellation: &Cancellation, wait: impl FnOnce() -> Result<T, ErrorCode>) {
        const BEFORE: Duration = Duration::from_millis(200);
        let canceller = cancellation.clone();
        let thread = thread::spawn(move || {
            thread::sleep(BEFORE);
            canceller.cancel();
        });
        let start = Instant::now();
        assert_eq!(wait().err(), Some(ErrorCode::Cancelled));
        let elapsed = start.elapsed();
        assert!(elapsed < Duration::from_secs(20), "{elapsed:?}");
        thread.join().unwrap();
    }

    fn code(error: EngineError) -> ErrorCode {
        match error {
            EngineError::Interrupted(error) => error.code(),
            EngineError::Failed(code, _) => code,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_cancelled_request_does_not_wait_for_the_engine() {
        let directory = tempfile::tempdir().unwrap();
        let silent = hanging_engine(&directory.path().join("silent"), false);
        let cancellation = Cancellation::default();
        ends_soon(&cancellation, || {
            Connection::open(&silent, &cancellation).map_err(code)
        });

        let address = hanging_engine(&directory.path().join("hanging"), true);
        let cancellation = Cancellation::default();
        let connection = Connection::open(&address, &cancellation).unwrap();
        ends_soon(&cancellation, || connection.inspect("x").map_err(code));

        let cancellation = Cancellation::default();
        let connection = Connection::open(&address, &cancellation).unwrap();
        let mut export = Export::start(connection, "x".to_owned(), None);
        ends_soon(&cancellation, || {
            let read = export.fill_buf().map(<[u8]>::len);
            read.map_err(|error| Error::io("x", error).code())
        });
    }
}
