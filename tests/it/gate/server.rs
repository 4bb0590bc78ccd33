//! A running `imgcheck serve`, over TLS, for one test.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, KeyPair};
use reqwest::{Certificate, Client, Method};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The token that the server accepts.
pub const TOKEN: &str = "secret-token";
/// Long enough for a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A running server.
pub struct Server {
    process: Child,
    /// `https://127.0.0.1:PORT`.
    pub url: String,
    pub home: Home,
    client: Client,
    runtime: Runtime,
    log: Arc<Mutex<Vec<Value>>>,
}

/// Its directory: configuration, certificate, queue, cache. Several servers may use it one after the other.
#[derive(Clone)]
pub struct Home(Arc<TempDir>);

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Answer {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Home {
    /// A home with a certificate, a token, and a configuration.
    pub fn new(configuration: &str) -> Self {
        let home = Home(Arc::new(tempfile::tempdir().unwrap()));
        home.write_certificate();
        home.write("tokens", &format!("# for tests\n{TOKEN}\n"));
        home.write("imgcheck.yaml", configuration);
        home
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Makes a certificate for the address of loopback, and returns it.
    pub fn write_certificate(&self) -> String {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        self.write("tls.key", &key.serialize_pem());
        self.write("tls.crt", &certificate);
        certificate
    }

    /// The program, without what the tests' own environment would tell it.
    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_imgcheck"));
        command.env_clear().env("HOME", self.0.path());
        command.args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--drain",
            "0",
            "--retries",
            "0",
        ]);
        let path = |name: &str| self.path(name).display().to_string();
        for (option, name) in [
            ("--tls-cert", "tls.crt"),
            ("--tls-key", "tls.key"),
            ("--tokens", "tokens"),
            ("--config", "imgcheck.yaml"),
            ("--state", "state"),
            ("--cache-dir", "cache"),
        ] {
            command.args([option, &path(name)]);
        }
        command
    }

    /// Starts a server that must fail, and returns its message.
    pub fn failure(&self, arguments: &[&str]) -> String {
        Home::message(self.command().args(arguments))
    }

    /// The same, with these variables.
    #[cfg(feature = "otel")]
    pub fn failure_in(&self, environment: &[(&str, &str)]) -> String {
        Home::message(self.command().envs(environment.iter().copied()))
    }

    fn message(command: &mut Command) -> String {
        let output = command.output().unwrap();
        assert!(!output.status.success());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!text.contains("panicked"), "{text}");
        text
    }
}

impl Server {
    pub fn new(configuration: &str) -> Self {
        Server::start(&Home::new(configuration), &[])
    }

    pub fn start(home: &Home, arguments: &[&str]) -> Self {
        Server::start_in(home, arguments, &[])
    }

    /// Starts a server with these variables.
    pub fn start_in(home: &Home, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = home.command();
        command.envs(environment.iter().copied());
        command.args(arguments).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(Vec::new()));
        let written = log.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or(Value::String(line));
                written.lock().unwrap().push(line);
            }
        });
        let start = Instant::now();
        let address = loop {
            let lines = log.lock().unwrap().clone();
            let listening = lines.iter().find(|line| line["message"] == "listening");
            if let Some(line) = listening {
                break line["address"].as_str().unwrap().to_owned();
            }
            assert!(process.try_wait().unwrap().is_none(), "{lines:?}");
            assert!(start.elapsed() < PATIENCE, "{lines:?}");
            std::thread::sleep(Duration::from_millis(20));
        };
        Server {
            client: client(home),
            url: format!("https://{address}"),
            runtime: Runtime::new().unwrap(),
            home: home.clone(),
            process,
            log,
        }
    }

    /// Sends a request with the token.
    pub fn send(&self, method: Method, path: &str, body: impl Into<Vec<u8>>) -> Answer {
        self.send_with(&self.client, method, path, body, Some(TOKEN))
            .unwrap()
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, "")
    }

    /// Sends a request with this `Authorization`.
    pub fn get_as(&self, path: &str, authorization: &str) -> Answer {
        self.answer(path, &[("authorization", authorization)])
    }

    /// Sends a request with the token and another header.
    pub fn get_with(&self, path: &str, name: &str, value: &str) -> Answer {
        let token = format!("Bearer {TOKEN}");
        self.answer(path, &[("authorization", &token), (name, value)])
    }

    fn answer(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let request = self.client.get(format!("{}{path}", self.url));
        let add = |request: reqwest::RequestBuilder, (name, value): &(&str, &str)| {
            request.header(*name, *value)
        };
        let request = headers.iter().fold(request, add);
        self.runtime.block_on(async {
            let response = request.send().await.unwrap();
            Answer {
                status: response.status().as_u16(),
                headers: response.headers().clone(),
                text: response.text().await.unwrap(),
            }
        })
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, body.to_string())
    }

    pub fn send_with(
        &self,
        client: &Client,
        method: Method,
        path: &str,
        body: impl Into<Vec<u8>>,
        token: Option<&str>,
    ) -> reqwest::Result<Answer> {
        let request = client
            .request(method, format!("{}{path}", self.url))
            .body(body.into());
        let request = match token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        };
        self.runtime.block_on(async {
            let response = request.send().await?;
            Ok(Answer {
                status: response.status().as_u16(),
                headers: response.headers().clone(),
                text: response.text().await?,
            })
        })
    }

    /// Sends the same bodies all at once, and returns the answers.
    pub fn post_all(&self, path: &str, bodies: Vec<Value>) -> Vec<Answer> {
        let one = |body: Value| {
            let request = self
                .client
                .post(format!("{}{path}", self.url))
                .body(body.to_string());
            async move {
                let response = request.send().await.unwrap();
                Answer {
                    status: response.status().as_u16(),
                    headers: response.headers().clone(),
                    text: response.text().await.unwrap(),
                }
            }
        };
        let all = bodies.into_iter().map(one);
        self.runtime.block_on(futures_util::future::join_all(all))
    }

    /// The response to an admission request.
    #[track_caller]
    pub fn validate(&self, review: &Value) -> Value {
        self.admit("/admission/validate?timeout=10s", review)
    }

    #[track_caller]
    pub fn admit(&self, path: &str, review: &Value) -> Value {
        let answer = self.post(path, review);
        assert_eq!(answer.status, 200, "{answer:?}");
        let answer = answer.json();
        assert_eq!(answer["apiVersion"], "admission.k8s.io/v1");
        assert_eq!(answer["kind"], "AdmissionReview");
        assert_eq!(answer["response"]["uid"], review["request"]["uid"]);
        answer["response"].clone()
    }

    /// Asks again until the images were read.
    #[track_caller]
    pub fn validate_read(&self, review: &Value) -> Value {
        let start = Instant::now();
        loop {
            let response = self.validate(review);
            if response["auditAnnotations"]["verdict"] != "unknown" {
                return response;
            }
            assert!(start.elapsed() < PATIENCE, "{response}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The value of a metric with these labels, as written.
    pub fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").text;
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("{name} ")));
        let line = line.unwrap_or_else(|| panic!("no {name}: {text}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }

    /// The lines of the log with this message.
    pub fn logged(&self, message: &str) -> Vec<Value> {
        let log = self.log.lock().unwrap();
        log.iter()
            .filter(|line| line["message"] == message)
            .cloned()
            .collect()
    }

    /// Whether any line of the log has a text.
    pub fn has_logged(&self, text: &str) -> bool {
        let log = self.log.lock().unwrap();
        log.iter().any(|line| line.to_string().contains(text))
    }

    /// Waits until something holds.
    #[track_caller]
    pub fn wait_for(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !holds(self) {
            assert!(
                start.elapsed() < PATIENCE,
                "{what}: {:?}",
                self.log.lock().unwrap()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn signal(&self, name: &str) {
        let process = self.process.id().to_string();
        testkit::tools::run("kill", &[&format!("-{name}"), &process]);
    }

    /// Waits until the process has ended; returns its exit code, `None` after a signal.
    pub fn wait(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let log = self.log.lock().unwrap();
        let panicked = log.iter().any(|line| line.to_string().contains("panicked"));
        assert!(!panicked || std::thread::panicking(), "{log:?}");
    }
}

/// A client that trusts the certificate of a home.
pub fn client(home: &Home) -> Client {
    builder(&home.path("tls.crt")).build().unwrap()
}

pub fn builder(certificate: &Path) -> reqwest::ClientBuilder {
    let pem = std::fs::read(certificate).unwrap();
    // reqwest is built without a provider of its own.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .no_proxy()
        .tls_certs_only([Certificate::from_pem(&pem).unwrap()])
}
