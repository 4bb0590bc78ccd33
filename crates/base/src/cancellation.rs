//! Ending a request early: cancelled from outside, or past its deadline.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};

/// Ends a request early. Clones share their state; a default one never fires unless [`cancel`](Self::cancel) is called.
///
/// Every loop over data of an image and every wait calls [`check`](Self::check), [`sleep`](Self::sleep) or
/// [`cancelled`](Self::cancelled).
///
/// ```
/// use imgcheck_base::cancellation::Cancellation;
///
/// let cancellation = Cancellation::default();
/// let in_another_thread = cancellation.clone();
/// in_another_thread.cancel();
/// assert!(cancellation.check().is_err());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancellation {
    token: CancellationToken,
    deadline: Option<Instant>,
}

impl Cancellation {
    /// Cancels all clones and children. Waits end at once.
    pub fn cancel(&self) {
        self.token.cancel();
    }

    /// A child: it is cancelled with this one, but not the other way around.
    pub fn child(&self) -> Self {
        Cancellation {
            token: self.token.child_token(),
            deadline: self.deadline,
        }
    }

    /// A child with a deadline; the earlier one counts if this one has a deadline already.
    pub fn with_deadline(&self, deadline: Instant) -> Self {
        let mut child = self.child();
        child.deadline = Some(self.deadline.map_or(deadline, |own| own.min(deadline)));
        child
    }

    /// The deadline, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Takes well below a microsecond; call it at least every 50 ms.
    ///
    /// # Errors
    /// [`Error::Cancelled`] or [`Error::Deadline`].
    pub fn check(&self) -> Result<()> {
        if self.token.is_cancelled() {
            return Err(Error::Cancelled);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Error::Deadline),
            _ => Ok(()),
        }
    }

    /// Blocks this thread for a while.
    ///
    /// # Errors
    /// Same as [`check`](Self::check), as soon as the request ends.
    pub fn sleep(&self, time: Duration) -> Result<()> {
        let end = Instant::now().checked_add(time);
        let wake = Arc::new(Unpark(thread::current())).into();
        let mut cancelled = pin!(self.token.cancelled());
        loop {
            // Registers the waker, so that a cancellation from now on ends `park`.
            let is_cancelled = cancelled.as_mut().poll(&mut Context::from_waker(&wake));
            if let Poll::Ready(()) = is_cancelled {
                return Err(Error::Cancelled);
            }
            self.check()?;
            let now = Instant::now();
            let until = [end, self.deadline].into_iter().flatten().min();
            match until.map(|until| until.saturating_duration_since(now)) {
                Some(Duration::ZERO) => return self.check(),
                Some(left) => thread::park_timeout(left),
                None => thread::park(),
            }
        }
    }

    /// Completes when the request ends, with [`Error::Cancelled`] or [`Error::Deadline`]; otherwise never. Needs a tokio runtime
    /// with a timer.
    pub async fn cancelled(&self) -> Error {
        let Some(deadline) = self.deadline else {
            self.token.cancelled().await;
            return Error::Cancelled;
        };
        match tokio::time::timeout_at(deadline.into(), self.token.cancelled()).await {
            Ok(()) => Error::Cancelled,
            Err(_) => Error::Deadline,
        }
    }

    /// Waits for a future until the request ends. Needs a tokio runtime with a timer.
    ///
    /// # Errors
    /// Same as [`check`](Self::check), as soon as the request ends.
    pub async fn wait_for<T>(&self, future: impl Future<Output = T>) -> Result<T> {
        let (future, cancelled) = (pin!(future), pin!(self.cancelled()));
        match futures_util::future::select(future, cancelled).await {
            futures_util::future::Either::Left((value, _)) => Ok(value),
            futures_util::future::Either::Right((error, _)) => Err(error),
        }
    }
}

/// Wakes a thread that is parked.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::error::ErrorCode;

    const LONG: Duration = Duration::from_secs(60);
    /// Milliseconds on an idle machine.
    const SOON: Duration = Duration::from_secs(5);

    fn code(result: Result<()>) -> Option<ErrorCode> {
        result.err().map(|error| error.code())
    }

    #[test]
    fn cancel_wakes_a_sleeper() {
        let cancellation = Cancellation::default();
        let sleeper = cancellation.clone();
        let thread = thread::spawn(move || (sleeper.sleep(LONG), Instant::now()));
        thread::sleep(Duration::from_millis(20));
        let start = Instant::now();
        cancellation.cancel();
        let (slept, woken) = thread.join().unwrap();
        assert_eq!(code(slept), Some(ErrorCode::Cancelled));
        assert!(woken.duration_since(start) < SOON);
        assert_eq!(code(cancellation.sleep(LONG)), Some(ErrorCode::Cancelled));
    }

    #[test]
    fn a_deadline_is_a_timeout() {
        let deadline = Instant::now() + Duration::from_millis(20);
        let cancellation = Cancellation::default().with_deadline(deadline);
        assert_eq!(code(cancellation.sleep(LONG)), Some(ErrorCode::Timeout));
        assert_eq!(code(cancellation.check()), Some(ErrorCode::Timeout));
        let later = cancellation.with_deadline(Instant::now() + LONG);
        assert_eq!(later.deadline(), Some(deadline));
        let far = Cancellation::default().with_deadline(Instant::now() + LONG);
        assert!(far.check().is_ok());
    }

    #[test]
    fn a_child_is_cancelled_with_its_parent_only() {
        let parent = Cancellation::default();
        let (first, second) = (parent.child(), parent.child());
        first.cancel();
        assert!(parent.check().is_ok() && second.check().is_ok());
        parent.cancel();
        assert_eq!(code(second.check()), Some(ErrorCode::Cancelled));
    }

    #[test]
    fn sleep_takes_its_time() {
        let start = Instant::now();
        let cancellation = Cancellation::default();
        cancellation.sleep(Duration::from_millis(30)).unwrap();
        assert!(start.elapsed() >= Duration::from_millis(30));
    }

    #[test]
    fn a_future_ends_with_the_request() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let cancellation = Cancellation::default();
        let value = runtime.block_on(cancellation.wait_for(async { 7 }));
        assert_eq!(value.unwrap(), 7);
        let limited = cancellation.with_deadline(Instant::now() + Duration::from_millis(20));
        let ended = runtime.block_on(limited.wait_for(std::future::pending::<()>()));
        assert_eq!(code(ended), Some(ErrorCode::Timeout));
        cancellation.cancel();
        let ended = runtime.block_on(cancellation.wait_for(std::future::pending::<()>()));
        assert_eq!(code(ended), Some(ErrorCode::Cancelled));
    }
}
