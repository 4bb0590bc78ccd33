//! The stream of an engine: what it sends for `docker save`, as it comes.

use std::io::{self, BufRead, Read};
use std::pin::pin;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use bollard::Docker;
use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use tokio::runtime::Runtime;

use super::engine::{Engine, describe, with_query};

/// Pieces that wait to be read; hyper makes them at most half a megabyte large.
const WAITING: usize = 16;

/// An engine that has begun sends something at least that often.
const SILENCE: Duration = Duration::from_secs(600);

enum Piece {
    Bytes(Bytes),
    Error(String),
    End,
}

/// What an engine sends. When it is dropped, the connection is closed.
pub(super) struct Export {
    pieces: Receiver<Piece>,
    present: Bytes,
    ended: bool,
    /// What broke it off; it is said as often as somebody wants to read on.
    failed: Option<String>,
}

impl Export {
    /// Asks for the image `id`, of a `platform` (JSON of an OCI platform) where the engine understands that.
    pub fn start(engine: Engine, id: &str, platform: Option<String>) -> io::Result<Self> {
        let (sender, pieces) = sync_channel(WAITING);
        let (runtime, docker) = engine.into_parts();
        let docker = match platform {
            Some(platform) => with_query(docker, "platform", platform),
            None => docker,
        };
        let id = id.to_owned();
        thread::Builder::new()
            .name("engine".to_owned())
            .spawn(move || receive(&runtime, &docker, &id, &sender))?;
        Ok(Export {
            pieces,
            present: Bytes::new(),
            ended: false,
            failed: None,
        })
    }
}

/// Sends what comes until it ends or nobody wants it any more.
fn receive(runtime: &Runtime, docker: &Docker, id: &str, sender: &SyncSender<Piece>) {
    runtime.block_on(async {
        let mut stream = pin!(docker.export_image(id));
        let mut begun = false;
        loop {
            let next = if begun {
                tokio::time::timeout(SILENCE, stream.next()).await
            } else {
                Ok(stream.next().await)
            };
            begun = true;
            let piece = match next {
                Ok(Some(Ok(bytes))) => Piece::Bytes(bytes),
                Ok(Some(Err(error))) => Piece::Error(describe(&error)),
                Ok(None) => Piece::End,
                Err(_) => Piece::Error(format!(
                    "the engine sent nothing for {} seconds",
                    SILENCE.as_secs()
                )),
            };
            let last = !matches!(piece, Piece::Bytes(_));
            if sender.send(piece).is_err() || last {
                return;
            }
        }
    });
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
        while self.present.is_empty() && !self.ended && self.failed.is_none() {
            match self.pieces.recv() {
                Ok(Piece::Bytes(bytes)) => self.present = bytes,
                Ok(Piece::End) => self.ended = true,
                Ok(Piece::Error(error)) => self.failed = Some(error),
                Err(_) => self.failed = Some("the connection was lost".to_owned()),
            }
        }
        match &self.failed {
            Some(problem) if self.present.is_empty() => Err(io::Error::other(problem.clone())),
            _ => Ok(&self.present),
        }
    }

    fn consume(&mut self, count: usize) {
        self.present.advance(count.min(self.present.len()));
    }
}
