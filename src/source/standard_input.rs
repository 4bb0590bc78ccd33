//! An image archive on standard input.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::archive_file::{ArchiveFormat, ArchiveInput};
use super::image::Image;
use super::request::{LayerConsumer, Request, Source};
use crate::cancellation::Cancellation;
use crate::error::{Error, Result};

/// Bytes that are read at once.
const BUFFER: usize = 1 << 20;

/// How long to wait for input before looking at the cancellation.
const INTERVAL: Duration = Duration::from_millis(50);

/// `-`, `docker-archive:-[:REFERENCE]` or `oci-archive:-[:REFERENCE]`.
pub(super) struct StandardInput {
    pub format: ArchiveFormat,
    pub reference: Option<String>,
}

impl Source for StandardInput {
    fn images(&self, request: &Request, layers: &mut dyn LayerConsumer) -> Result<Vec<Image>> {
        let subject = "standard input";
        let selection = request.selection(self.reference.as_deref())?;
        let input = io::stdin().as_fd().try_clone_to_owned();
        let input = Interruptible {
            file: input.map_err(|error| Error::io(subject, error))?.into(),
            cancellation: request.cancellation.clone(),
        };
        let bytes = BufReader::with_capacity(BUFFER, input);
        ArchiveInput::new(subject.to_owned(), bytes)?.read(self.format, &selection, request, layers)
    }
}

/// A file or pipe from which reading ends with the request.
struct Interruptible {
    file: File,
    cancellation: Cancellation,
}

impl Read for Interruptible {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.cancellation.check()?;
            let mut events = [PollFd::new(&self.file, PollFlags::IN)];
            let timeout = Timespec::try_from(INTERVAL).map_err(io::Error::other)?;
            match poll(&mut events, Some(&timeout)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return self.file.read(buffer),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::fd::OwnedFd;
    use std::time::Instant;

    use super::*;
    use crate::error::ErrorCode;

    #[test]
    fn a_cancelled_request_does_not_wait_for_input() {
        let (reader, mut writer) = io::pipe().unwrap();
        let cancellation = Cancellation::default();
        let mut input = Interruptible {
            file: OwnedFd::from(reader).into(),
            cancellation: cancellation.clone(),
        };
        io::Write::write_all(&mut writer, b"x").unwrap();
        assert_eq!(input.read(&mut [0; 8]).unwrap(), 1);
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            cancellation.cancel();
        });
        let start = Instant::now();
        let error = Error::io("input", input.read(&mut [0; 8]).unwrap_err());
        assert_eq!(error.code(), ErrorCode::Cancelled);
        assert!(start.elapsed() < Duration::from_secs(2));
        canceller.join().unwrap();
        drop(writer);
    }
}
