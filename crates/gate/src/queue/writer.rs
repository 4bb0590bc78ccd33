//! Writes changes to the store from one thread: those that wait at the same time are one commit.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::oneshot;

use super::store::{Change, Store};
use imgcheck_base::error::{Error, ErrorCode, Result};

/// Maximum number of changes of one commit.
const MOST: usize = 1000;

/// Hands changes to the thread that writes.
#[derive(Debug)]
pub(super) struct Writer {
    sender: Mutex<Sender<Request>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Why the last commit failed, if it did.
    obstacle: Mutex<Option<String>>,
}

struct Request {
    changes: Vec<Change>,
    done: Option<oneshot::Sender<Option<String>>>,
}

impl Writer {
    /// # Errors
    /// The system has no thread for it.
    pub fn start(store: Arc<Store>) -> Result<Self> {
        let (sender, receiver) = channel();
        let shared = Arc::new(Shared::default());
        let writer = Writer {
            sender: Mutex::new(sender),
            shared: shared.clone(),
        };
        thread::Builder::new()
            .name("queue".to_owned())
            .spawn(move || run(&store, &receiver, &shared))
            .map_err(|error| Error::io("the thread of the queue", error))?;
        Ok(writer)
    }

    /// Writes changes, and waits until they are on disk.
    ///
    /// # Errors
    /// The store cannot be written.
    pub async fn write(&self, changes: Vec<Change>) -> Result<()> {
        let (done, written) = oneshot::channel();
        self.send(changes, Some(done));
        match written.await {
            Ok(None) => Ok(()),
            Ok(Some(problem)) => Err(Error::new(ErrorCode::Output, "the queue", problem)),
            Err(_) => Err(Error::new(ErrorCode::Output, "the queue", "it is closed")),
        }
    }

    /// Writes a change some time. If that fails, what it says is found out again.
    pub fn write_later(&self, change: Change) {
        self.send(vec![change], None);
    }

    /// Why the last commit failed, if it did.
    pub fn obstacle(&self) -> Option<String> {
        let obstacle = self.shared.obstacle.lock();
        obstacle.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn send(&self, changes: Vec<Change>, done: Option<oneshot::Sender<Option<String>>>) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        // The thread ends only with this sender.
        let _ = sender.send(Request { changes, done });
    }
}

fn run(store: &Store, receiver: &Receiver<Request>, shared: &Shared) {
    while let Ok(first) = receiver.recv() {
        let mut requests = vec![first];
        requests.extend(receiver.try_iter().take(MOST));
        let changes = requests.iter_mut();
        let changes: Vec<Change> = changes
            .flat_map(|it| std::mem::take(&mut it.changes))
            .collect();
        let problem = match changes.is_empty() {
            true => None,
            false => store.write(&changes).err().map(|error| error.quoted()),
        };
        if let Some(problem) = &problem {
            tracing::error!(%problem, "the queue cannot be written");
        }
        if !changes.is_empty() {
            let mut obstacle = shared
                .obstacle
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            obstacle.clone_from(&problem);
        }
        for request in requests {
            if let Some(done) = request.done {
                // Whoever asked may have gone.
                let _ = done.send(problem.clone());
            }
        }
    }
}
