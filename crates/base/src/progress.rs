//! Progress of reading images.

/// Receives progress events; called from any thread.
pub trait Progress: Send + Sync {
    /// Reading of an image starts. `bytes` is the size of all its layers as stored. Both numbers are 0 where they are unknown in
    /// advance.
    fn image(&self, name: &str, layers: usize, bytes: u64);
    /// `bytes` more bytes of a layer are done.
    fn advance(&self, bytes: u64);
    /// One more layer is done.
    fn layer(&self);
    /// A remark to show to the user, such as how many images of a sweep are done.
    fn note(&self, text: &str);
    /// The image has been read.
    fn finish(&self);
}

/// Ignores all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn image(&self, _: &str, _: usize, _: u64) {}
    fn advance(&self, _: u64) {}
    fn layer(&self) {}
    fn note(&self, _: &str) {}
    fn finish(&self) {}
}
