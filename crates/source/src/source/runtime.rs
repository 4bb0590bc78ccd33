//! Network I/O for callers that block, with cancellation.

use std::io;
use std::sync::Arc;

use tokio::runtime;

use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::Result;

/// An I/O runtime with one thread. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Runtime(Arc<Background>);

/// Ends in the background, so that it may be dropped anywhere, even on a thread of another runtime.
#[derive(Debug)]
struct Background {
    handle: runtime::Handle,
    /// `None` once it is dropped.
    runtime: Option<runtime::Runtime>,
}

impl Runtime {
    /// # Errors
    /// The system has no thread or file descriptor left.
    pub fn new() -> io::Result<Self> {
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("network")
            .enable_all()
            .build()?;
        Ok(Runtime(Arc::new(Background {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })))
    }

    /// Blocks this thread until the future is complete.
    ///
    /// # Errors
    /// The request was cancelled, or its deadline passed; the future is then dropped.
    pub fn run<T>(
        &self,
        cancellation: &Cancellation,
        future: impl Future<Output = T>,
    ) -> Result<T> {
        self.0.handle.block_on(cancellation.wait_for(future))
    }

    /// Runs a task in the background.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.handle.spawn(task);
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
