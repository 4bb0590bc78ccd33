//! An S3 server on this machine.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use testkit::tools::python_modules;

/// A server that speaks S3 on this machine.
pub struct S3 {
    process: Child,
    /// Its URL.
    pub address: String,
}

impl S3 {
    /// Sends a request for the bucket; returns the whole response.
    pub fn request(&self, method: &str) -> String {
        let host = self.address.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "{method} /facts HTTP/1.0\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n"
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    /// `None` where moto is not installed.
    pub fn start() -> Option<Self> {
        if !python_modules("moto[server]", "moto.server, flask") {
            return None;
        }
        let port = free_port();
        let process = Command::new("python3")
            .args([
                "-m",
                "moto.server",
                "-H",
                "127.0.0.1",
                "-p",
                &port.to_string(),
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = S3 {
            process,
            address: format!("http://127.0.0.1:{port}"),
        };
        for _ in 0..300 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(server);
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("moto does not answer");
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// A port that nobody listens to.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}
