//! Reads files again when they change, or at a SIGHUP. What cannot be read leaves the last in use.

use std::path::PathBuf;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use super::setup::Setup;
use super::state::Gate;
use imgcheck_base::digest::sha256;
use imgcheck_base::error::Result;

/// Files that are read together.
struct Files {
    name: &'static str,
    paths: Vec<PathBuf>,
    seen: Vec<Option<String>>,
    reload: fn(&Gate) -> Result<()>,
}

impl Gate {
    /// Watches files for ever.
    pub(crate) async fn watch(self, configuration: Vec<PathBuf>, interval: Duration) {
        let certificate = self.0.tls.as_ref().map(|tls| tls.files());
        let tokens = self.tokens().path().map(|path| vec![path.to_owned()]);
        let mut all = [
            Files::new("configuration", configuration, Gate::reload_configuration),
            Files::new(
                "certificate",
                certificate.unwrap_or_default(),
                Gate::reload_certificate,
            ),
            Files::new("tokens", tokens.unwrap_or_default(), |gate| {
                gate.tokens().reload()
            }),
        ];
        let mut hangup = signal(SignalKind::hangup()).ok();
        let mut ticks = tokio::time::interval(interval);
        loop {
            let signalled = async {
                match &mut hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            let is_signalled = tokio::select! {
                _ = ticks.tick() => false,
                _ = signalled => true,
            };
            for files in &mut all {
                // Not only the changed ones: a rule file of the configuration may have changed.
                if files.have_changed() || is_signalled {
                    self.reload(files);
                }
            }
        }
    }

    fn reload(&self, files: &Files) {
        if files.paths.is_empty() && files.name != "configuration" {
            return;
        }
        let reloaded = (files.reload)(self);
        self.metrics().reload(files.name, reloaded.is_ok());
        match reloaded {
            Ok(()) => tracing::info!(file = files.name, "read again"),
            Err(error) => {
                tracing::error!(file = files.name, %error, "cannot be read; the last one stays in use")
            }
        }
    }

    fn reload_configuration(&self) -> Result<()> {
        let setup = Setup::new((self.0.load)()?)?;
        self.0.views.replace(setup);
        self.announce();
        Ok(())
    }

    fn reload_certificate(&self) -> Result<()> {
        if let Some(tls) = &self.0.tls {
            tls.reload()?;
            self.metrics().certificate.set(tls.expires() as f64);
        }
        Ok(())
    }
}

impl Files {
    fn new(name: &'static str, paths: Vec<PathBuf>, reload: fn(&Gate) -> Result<()>) -> Self {
        let mut files = Files {
            name,
            seen: Vec::new(),
            paths,
            reload,
        };
        files.have_changed();
        files
    }

    /// Whether the content of a file differs from what was last seen. Times of files are not looked at: mounted Secrets are links that
    /// are replaced.
    fn have_changed(&mut self) -> bool {
        let read = |path: &PathBuf| std::fs::read(path).ok().map(|it| sha256(&it));
        let now: Vec<_> = self.paths.iter().map(read).collect();
        let changed = now != self.seen;
        self.seen = now;
        changed
    }
}
