//! The threads that decompress chunks, and what they do.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

use crate::checksum::Checksum;
use crate::chunk::{Chunk, Sizes};
use crate::inflate::Inflate;

/// What threads do.
pub enum Task {
    /// Decompresses a chunk.
    Decompress(Chunk, Sender<Chunk>),
    /// Resolves the symbols of a chunk.
    Resolve(Chunk, Sender<(Chunk, Checksum)>),
}

/// The tasks that nobody has begun; `None` when there will be no more.
pub struct Tasks(Mutex<Option<VecDeque<Task>>>, Condvar);

impl Default for Tasks {
    fn default() -> Self {
        Tasks(Mutex::new(Some(VecDeque::new())), Condvar::new())
    }
}

impl Tasks {
    /// Adds a task before all others, or after them.
    pub fn add(&self, task: Task, is_first: bool) {
        if let Some(tasks) = &mut *self.lock() {
            match is_first {
                true => tasks.push_front(task),
                false => tasks.push_back(task),
            }
        }
        self.1.notify_one();
    }

    fn close(&self) {
        *self.lock() = None;
        self.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Option<VecDeque<Task>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<Task> {
        let mut tasks = self.lock();
        loop {
            if let Some(task) = tasks.as_mut()?.pop_front() {
                return Some(task);
            }
            tasks = self.1.wait(tasks).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Ends the threads when it is dropped.
pub struct Closed<'a>(pub &'a Tasks);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Starts threads, as many of these as possible.
pub fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    threads: usize,
    tasks: &'scope Tasks,
    sizes: Sizes,
) -> usize {
    for started in 0..threads {
        let work = move || {
            let mut inflate = Inflate::new();
            while let Some(task) = tasks.next() {
                // Nobody waits for a result if the decompression has ended.
                match task {
                    Task::Decompress(mut chunk, done) => {
                        chunk.decompress(&mut inflate, sizes);
                        let _ = done.send(chunk);
                    }
                    Task::Resolve(mut chunk, done) => {
                        let checksum = chunk.resolve();
                        let _ = done.send((chunk, checksum));
                    }
                }
            }
        };
        if thread::Builder::new().spawn_scoped(scope, work).is_err() {
            return started;
        }
    }
    threads
}
