//! A relay in front of an engine's socket: the engine is then as far away as one on another machine.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;

/// How a relay treats the answers of the engine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// It passes them on.
    Honest,
    /// It hangs up after this many bytes of one response.
    HangsUp(u64),
}

/// Starts a relay; gives what `DOCKER_HOST` has to be.
pub fn start(socket: &Path, manner: Manner) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let socket = socket.to_owned();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let socket = socket.clone();
            thread::spawn(move || relay(client, socket, manner));
        }
    });
    format!("tcp://{address}")
}

/// An error only says that one side has hung up.
fn relay(mut client: TcpStream, socket: PathBuf, manner: Manner) -> io::Result<()> {
    let mut engine = UnixStream::connect(socket)?;
    let (mut from_client, mut to_engine) = (client.try_clone()?, engine.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_engine);
        let _ = to_engine.shutdown(Shutdown::Write);
    });
    match manner {
        Manner::Honest => io::copy(&mut engine, &mut client)?,
        Manner::HangsUp(bytes) => io::copy(&mut engine.take(bytes), &mut client)?,
    };
    client.flush()?;
    client.shutdown(Shutdown::Both)
}
