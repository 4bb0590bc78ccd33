//! Decompression on several threads. One reads the input in chunks, others decompress them before what comes before them is known, and this
//! one puts the results together: a result counts only if it begins at the very bit at which the blocks before it end. Everything else is
//! decompressed in order, on this thread.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::mem;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, ScopedJoinHandle};

use crate::checksum::Checksum;
use crate::chunk::{Chunk, Found, Sizes};
use crate::chunks::{Buffers, Chunks};
use crate::members::{Members, Reason};
use crate::stream::{Input, WINDOW};
use crate::tasks::{Closed, Task, Tasks, start};

/// Bytes that are decompressed in order at a time.
const PIECE: usize = 256 << 10;
/// Pieces of output that wait for those before them.
const WAITING: usize = 4;

/// Receives the output; false if no more is wanted.
pub type Sink<'a> = dyn FnMut(&[u8]) -> io::Result<bool> + 'a;

/// Decompresses all members of a gzip file, with so many threads besides this one and one that reads.
///
/// # Errors
/// The input cannot be read, or is damaged or truncated; those of `sink`; a thread cannot be started.
pub fn decompress(
    input: &mut (dyn Read + Send),
    threads: usize,
    sink: &mut Sink<'_>,
) -> io::Result<()> {
    decompress_in(Sizes::default(), input, threads, sink)
}

/// [`decompress`] in chunks of other sizes.
///
/// # Errors
/// The same.
pub fn decompress_in(
    sizes: Sizes,
    input: &mut (dyn Read + Send),
    threads: usize,
    sink: &mut Sink<'_>,
) -> io::Result<()> {
    let tasks = Tasks::default();
    thread::scope(|scope| {
        let _closed = Closed(&tasks);
        let mut input = Chunks::new(input, sizes);
        let (begin, begun) = channel();
        let (spare, returned) = channel();
        let (done, first) = channel();
        done.send(input.first()).map_err(|_| stopped())?;
        begin.send(first).map_err(|_| stopped())?;
        let end = match input.is_over {
            true => {
                drop(begin);
                End::Read(input.error)
            }
            false => {
                let threads = start(scope, threads, &tasks, sizes);
                let buffers = Buffers::new(sizes, threads + 1 + WAITING, returned);
                let tasks = (threads > 0).then_some(&tasks);
                let read = move || input.read_all(tasks, buffers, &begin);
                End::Reader(thread::Builder::new().spawn_scoped(scope, read)?)
            }
        };
        let mut decompression = Decompression {
            size: sizes.input,
            tasks: &tasks,
            sink,
            members: Members::new(),
            position: 0,
            is_boundary: false,
            begun,
            pieces: VecDeque::new(),
            checksum: Checksum::default(),
            spare,
            spare_pieces: Vec::new(),
            is_wanted: true,
        };
        let result = decompression.run(end);
        // What comes before an error is output, and may have an error of its own.
        decompression.output(0)?;
        result
    })
}

/// Why the input ended.
enum End<'scope> {
    Read(Option<io::Error>),
    Reader(ScopedJoinHandle<'scope, Option<io::Error>>),
}

impl End<'_> {
    fn error(self) -> io::Error {
        let error = match self {
            End::Read(error) => error,
            End::Reader(reader) => reader.join().unwrap_or_else(|_| Some(stopped())),
        };
        error.unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// A part of the output, or what follows it.
enum Piece {
    Plain(Vec<u8>, usize),
    Chunk(Receiver<(Chunk, Checksum)>),
    Trailer([u8; 8]),
}

struct Decompression<'a, 's> {
    /// Bytes of input of a chunk.
    size: usize,
    tasks: &'a Tasks,
    sink: &'a mut Sink<'s>,
    members: Members,
    /// The bit up to which the output of everything is in the pieces, and whether a block ends there, and another follows.
    position: u64,
    is_boundary: bool,
    /// Where the chunks will be, in order.
    begun: Receiver<Receiver<Chunk>>,
    pieces: VecDeque<Piece>,
    checksum: Checksum,
    /// Where chunks go that may be used again, and pieces that may.
    spare: Sender<Chunk>,
    spare_pieces: Vec<Vec<u8>>,
    is_wanted: bool,
}

impl Decompression<'_, '_> {
    fn run(&mut self, end: End<'_>) -> io::Result<()> {
        while self.is_wanted {
            let next = match self.begun.try_recv() {
                Err(TryRecvError::Empty) if self.pieces.is_empty() => self.begun.recv().ok(),
                // The reader may wait for a chunk that is in a piece.
                Err(TryRecvError::Empty) => {
                    self.output(self.pieces.len() - 1)?;
                    continue;
                }
                next => next.ok(),
            };
            let Some(chunk) = next else {
                return Err(end.error());
            };
            let mut chunk = chunk.recv().map_err(|_| stopped())?;
            let bytes = mem::take(&mut chunk.input);
            let is_end = self.put_together(chunk, &bytes)?;
            self.output(WAITING)?;
            if is_end {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads to the end of a chunk: what was found in it, if that begins where a block ends, and all else in order. Returns whether that
    /// was the end of all.
    fn put_together(&mut self, chunk: Chunk, bytes: &[u8]) -> io::Result<bool> {
        let (start, is_last) = (chunk.offset * 8, chunk.is_last);
        let size = self.size;
        let mut chunk = Some(chunk);
        let is_end = loop {
            let bit = (self.position - start) as usize;
            let found = chunk.as_ref().and_then(|chunk| chunk.found);
            let found = found.filter(|found| found.start >= bit);
            if let Some(found) = found
                && found.start == bit
                && self.is_boundary
                && self.members.window().len() == WINDOW
                && let Some(chunk) = chunk.take()
            {
                self.position = start + found.end as u64;
                self.is_boundary = !found.is_end;
                self.resolve(chunk, found);
                continue;
            }
            if self.is_boundary && bit >= size * 8 && !is_last {
                break false;
            }
            let until = match found {
                Some(found) if found.start > bit => found.start,
                _ if is_last => usize::MAX,
                _ => size * 8,
            };
            let mut input = Input { bytes, bit };
            let reason = self.in_order(&mut input, is_last, until)?;
            self.position = start + input.bit as u64;
            self.is_boundary = reason == Reason::Block;
            match reason {
                Reason::Input => break false,
                Reason::End => break true,
                Reason::Output | Reason::Block | Reason::Member(_) => {}
            }
            if !self.is_wanted {
                break true;
            }
        };
        if let Some(chunk) = chunk {
            self.reuse(chunk);
        }
        Ok(is_end)
    }

    fn resolve(&mut self, mut chunk: Chunk, found: Found) {
        let end = chunk.know(&found, self.members.window());
        self.members.pass_over(&end, found.is_end);
        let (done, result) = channel();
        self.tasks.add(Task::Resolve(chunk, done), true);
        self.pieces.push_back(Piece::Chunk(result));
    }

    fn in_order(
        &mut self,
        input: &mut Input<'_>,
        is_last: bool,
        until: usize,
    ) -> io::Result<Reason> {
        let mut plain = self.spare_pieces.pop().unwrap_or_else(|| vec![0; PIECE]);
        let (length, reason) = self.members.read(input, is_last, until, &mut plain)?;
        self.pieces.push_back(Piece::Plain(plain, length));
        if let Reason::Member(trailer) = reason {
            self.pieces.push_back(Piece::Trailer(trailer));
        }
        self.output(WAITING)?;
        Ok(reason)
    }

    fn reuse(&self, chunk: Chunk) {
        // Nobody needs it if all was read.
        let _ = self.spare.send(chunk);
    }

    fn output_piece(&mut self) -> io::Result<()> {
        match self.pieces.pop_front() {
            Some(Piece::Plain(plain, length)) => {
                let output = &plain[..length];
                self.checksum.update(output);
                self.is_wanted = self.is_wanted && (output.is_empty() || (self.sink)(output)?);
                self.spare_pieces.push(plain);
            }
            Some(Piece::Chunk(result)) => {
                let (chunk, checksum) = result.recv().map_err(|_| stopped())?;
                self.checksum.append(&checksum);
                self.is_wanted = self.is_wanted && (self.sink)(chunk.output())?;
                self.reuse(chunk);
            }
            Some(Piece::Trailer(trailer)) => self.checksum.verify(trailer)?,
            None => {}
        }
        Ok(())
    }

    /// Outputs all pieces but the last `waiting`.
    fn output(&mut self, waiting: usize) -> io::Result<()> {
        while self.is_wanted && self.pieces.len() > waiting {
            let output = self.output_piece();
            self.is_wanted &= output.is_ok();
            output?;
        }
        Ok(())
    }
}

fn stopped() -> io::Error {
    io::Error::other("a thread of the decompressor stopped")
}
