//! A registry with arbitrary answers: challenges, tokens, redirects, manifests, ranges of layers. Each file of the input answers one
//! request, and `config.json` is the credentials file of the user. No other host gets a request, and the bytes of a layer have the
//! requested digest.
//!
//! All requests go through a proxy, which is the registry itself: `fuzz/run` sets `http_proxy` and `https_proxy`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use imgcheck_base::reference::transport::{ImageReference, Remote};
use imgcheck_fuzz::documents::documents;
use imgcheck_fuzz::layers::scan;
use imgcheck_layer::ReadMethod;
use imgcheck_source::source::registry::{Options, Registries, RetryPolicy};
use imgcheck_source::source::{self, Request};

/// Runs between two clients: each remembers all repositories that were requested.
const RUNS: u64 = 500;

/// What will be answered, the next answer last.
static ANSWERS: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
static ADDRESS: LazyLock<String> = LazyLock::new(listen);
static CLIENT: Mutex<Option<(u64, Registries)>> = Mutex::new(None);

pub fn fuzz(text: &str) {
    let address = &*ADDRESS;
    let (credentials, answers): (Vec<_>, Vec<_>) = documents(text)
        .into_iter()
        .partition(|document| document.name == "config.json");
    for file in &credentials {
        let directory = PathBuf::from(variable("DOCKER_CONFIG"));
        fs::create_dir_all(&directory).expect("a directory");
        fs::write(directory.join("config.json"), &file.bytes).expect("room for a file");
    }
    *lock(&ANSWERS) = answers.into_iter().map(|it| it.bytes).rev().collect();
    let (run, registry) = client();
    let request = Request {
        registries: registry,
        ..Request::default()
    };
    let target = ImageReference::Remote(Remote::Registry, format!("{address}/fuzz/{run}:tag"));
    for image in source::open(&target, &request).unwrap_or_default() {
        for layer in image.layers.iter().take(2) {
            if let Ok(scanned) = scan(layer) {
                assert!(scanned.method != ReadMethod::Seek);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn variable(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: this target is run by fuzz/run"))
}

/// The number of this run, and the client for it, which never waits.
fn client() -> (u64, Registries) {
    let mut client = lock(&CLIENT);
    let (run, registries) = match client.take() {
        Some((run, registries)) if run % RUNS != 0 => (run, registries),
        old => {
            let policy = RetryPolicy {
                retries: 1,
                first_wait: Duration::ZERO,
                longest_wait: Duration::ZERO,
                connect: Duration::from_secs(1),
                stall: Duration::from_secs(1),
                ..RetryPolicy::default()
            };
            let options = Options {
                policy,
                ..Options::default()
            };
            (old.map_or(0, |(run, _)| run), Registries::new(options))
        }
    };
    *client = Some((run + 1, registries.clone()));
    (run, registries)
}

/// Answers requests at the address of the proxy.
fn listen() -> String {
    let proxy = variable("http_proxy");
    assert_eq!(
        proxy,
        variable("https_proxy"),
        "both proxies are the registry"
    );
    let address = proxy.trim_start_matches("http://").to_owned();
    let listener = TcpListener::bind(&address).expect("the address of the proxy");
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // What cannot be answered any more is the client's to notice.
            let _ = answer(connection);
        }
    });
    address
}

/// Answers one request, and closes the connection. A tunnel to another host is refused.
fn answer(mut connection: TcpStream) -> std::io::Result<()> {
    connection.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut request = BufReader::new(connection.try_clone()?);
    let mut line = String::new();
    request.read_line(&mut line)?;
    if line.starts_with("CONNECT") {
        return connection.write_all(b"HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n");
    }
    while !matches!(line.as_str(), "" | "\r\n") {
        line.clear();
        request.read_line(&mut line)?;
    }
    let next = lock(&ANSWERS).pop();
    let nothing = || b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n".to_vec();
    connection.write_all(&next.unwrap_or_else(nothing))
}
