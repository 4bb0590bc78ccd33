//! Walks an archive from member to member.

mod sparse_members;

use std::io;

use tar::Header;

use super::header::{self, checksum_is_right, number, until_nul};
use super::member::{Member, MemberKind, Owner, has_content};
use super::pax::Pax;
use super::sparse::{Piece, pieces};
use super::{ArchiveError, BLOCK, Input};
use imgcheck_base::limits::{Limit, Limits};

/// Walks an archive. [`Walk::advance`] goes to the next member, [`Walk::content`] reads the current one, completely or in part.
#[derive(Debug)]
pub struct Walk<I> {
    input: I,
    limits: Limits,
    position: u64,
    members: u64,
    /// Bytes of the last slice that `content` returned, which are not consumed yet.
    handed: usize,
    /// Stored bytes of the current member that are not consumed yet.
    stored: u64,
    padding: u64,
    piece: Piece,
    pieces: std::vec::IntoIter<Piece>,
    end_marker: bool,
}

const NOTHING: Piece = Piece {
    length: 0,
    hole: true,
};
const ZEROS: &[u8] = &[0; 16 << 10];

/// The extended headers of a member.
#[derive(Default)]
struct Extensions {
    pax: Pax,
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
}

impl<I: Input> Walk<I> {
    /// Starts at the beginning of an archive.
    pub fn new(input: I, limits: Limits) -> Self {
        Walk {
            input,
            limits,
            position: 0,
            members: 0,
            handed: 0,
            stored: 0,
            padding: 0,
            piece: NOTHING,
            pieces: Vec::new().into_iter(),
            end_marker: false,
        }
    }

    /// Offset in the archive.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The input, at or after the last member that was returned.
    pub fn into_input(self) -> I {
        self.input
    }

    /// Goes to the next member; `None` at the end of the archive.
    ///
    /// The end is two blocks of zeros, or simply the end of the input at a block boundary, as tar programs accept it.
    pub fn advance(&mut self) -> Result<Option<Member>, ArchiveError> {
        self.leave()?;
        let mut extensions = Extensions::default();
        let mut extended = false;
        loop {
            let start = self.position;
            let Some(header) = self.header()? else {
                return if extended {
                    Err(self.truncated("an extended header"))
                } else {
                    Ok(None)
                };
            };
            let size = field(start, "size", number(&header.as_old().size))?;
            match header.entry_type().as_byte() {
                b'x' | b'X' => {
                    self.check(start, Limit::PaxBytes, size)?;
                    let data = self.extension(size)?;
                    extensions.pax =
                        Pax::parse(&data).map_err(|problem| invalid(start, problem))?;
                }
                b'L' => extensions.path = self.long_name(start, size)?,
                b'K' => extensions.link = self.long_name(start, size)?,
                // Go, and container engines with it, ignore a global header (git writes one with its commit) and the extended
                // headers before it.
                b'g' => {
                    self.skip(size, "an extended header")?;
                    extensions = Extensions::default();
                    extended = false;
                    continue;
                }
                b'V' => self.skip(size, "a volume label")?,
                _ => return self.member(start, &header, size, extensions).map(Some),
            }
            extended = true;
        }
    }

    /// The next bytes of the current member, with holes expanded; empty at its end.
    pub fn content(&mut self) -> Result<&[u8], ArchiveError> {
        self.consume_handed();
        if self.piece.length == 0 {
            let Some(piece) = self.pieces.next() else {
                return Ok(&[]);
            };
            self.piece = piece;
        }
        let limit = usize::try_from(self.piece.length).unwrap_or(usize::MAX);
        if self.piece.hole {
            let count = limit.min(ZEROS.len());
            self.piece.length -= count as u64;
            return Ok(&ZEROS[..count]);
        }
        let count = self.input.fill_buf()?.len().min(limit);
        if count == 0 {
            return Err(self.truncated("the content of a member"));
        }
        self.handed = count;
        self.piece.length -= count as u64;
        Ok(&self.input.fill_buf()?[..count])
    }

    /// Makes [`Walk::content`] return the last `count` bytes again.
    pub fn give_back(&mut self, count: usize) {
        // Bytes of a hole do not come from the input.
        self.handed = self.handed.saturating_sub(count);
        self.piece.length += count as u64;
    }

    fn consume_handed(&mut self) {
        let count = std::mem::take(&mut self.handed);
        self.input.consume(count);
        self.position += count as u64;
        self.stored -= count as u64;
    }

    /// Skips the rest of the current member.
    fn leave(&mut self) -> Result<(), ArchiveError> {
        self.consume_handed();
        let stored = std::mem::take(&mut self.stored);
        self.skip_exactly(stored, "the content of a member")?;
        // Some writers omit the padding of the last member.
        let padding = std::mem::take(&mut self.padding);
        self.position += self.input.skip(padding)?;
        self.piece = NOTHING;
        self.pieces = Vec::new().into_iter();
        Ok(())
    }

    fn member(
        &mut self,
        start: u64,
        header: &Header,
        size: u64,
        extensions: Extensions,
    ) -> Result<Member, ArchiveError> {
        self.members += 1;
        self.check(start, Limit::Entries, self.members)?;
        let Extensions {
            pax,
            path: long_path,
            link: long_link,
        } = extensions;
        let path = long_path
            .or(pax.path)
            .unwrap_or_else(|| header::path(header));
        let link = long_link
            .or(pax.link)
            .unwrap_or_else(|| until_nul(&header.as_old().linkname).to_vec());
        let mode = field(start, "mode", number(&header.as_old().mode))?;
        // Unlike its mode, a wrong owner is not worth an error.
        let id = |field: &[u8]| number(field).unwrap_or(0);
        let owner = Owner::new(
            pax.uid.unwrap_or_else(|| id(&header.as_old().uid)),
            pax.gid.unwrap_or_else(|| id(&header.as_old().gid)),
        );
        let kind = match MemberKind::of(header.entry_type().as_byte(), &path) {
            MemberKind::Special if header::is_whiteout_device(header) => MemberKind::WhiteoutDevice,
            kind => kind,
        };
        let mut member = Member {
            path,
            kind,
            link,
            mode: (mode & 0o7777) as u32 | pax.capabilities,
            owner,
            size: 0,
            offset: self.position,
            stored: if has_content(header.entry_type().as_byte()) {
                pax.size.unwrap_or(size)
            } else {
                0
            },
            sparse: None,
        };
        self.padding = padding(member.stored);
        if kind == MemberKind::File {
            member.size = member.stored;
            if header.entry_type().is_gnu_sparse() {
                self.old_sparse(start, header, &mut member)?;
            } else if let Some(map) = pax.sparse.map() {
                member.path = pax.sparse.name.clone().unwrap_or(member.path);
                self.pax_sparse(start, map, pax.sparse, &mut member)?;
            }
        }
        for path in [&member.path, &member.link] {
            self.check(start, Limit::PathBytes, path.len() as u64)?;
        }
        self.stored = member.stored;
        match &member.sparse {
            Some(segments) => self.pieces = pieces(segments, member.size).into_iter(),
            None => {
                self.piece = Piece {
                    length: member.stored,
                    hole: false,
                }
            }
        }
        Ok(member)
    }

    fn check(&self, offset: u64, limit: Limit, met: u64) -> Result<(), ArchiveError> {
        let checked = self.limits.check(limit, met);
        checked.map_err(|exceeded| ArchiveError::Limit { offset, exceeded })
    }

    /// Whether the walk ended at the end marker, two blocks of zeros (POSIX `pax`, "ustar Interchange Format"). Some programs omit it;
    /// then only a digest distinguishes a complete archive from one that was truncated between two members.
    pub fn has_end_marker(&self) -> bool {
        self.end_marker
    }

    /// The next header block; `None` at the end of the archive.
    fn header(&mut self) -> Result<Option<Header>, ArchiveError> {
        let start = self.position;
        let mut header = Header::new_old();
        match self.fill(header.as_mut_bytes())? {
            0 => return Ok(None),
            BLOCK => {}
            _ => return Err(self.truncated("a header")),
        }
        if is_zero(&header) {
            let mut second = Header::new_old();
            let length = self.fill(second.as_mut_bytes())?;
            self.end_marker = length == BLOCK && is_zero(&second);
            return if length < BLOCK || self.end_marker {
                Ok(None)
            } else {
                Err(invalid(start, "a single block of zeros inside the archive"))
            };
        }
        if !checksum_is_right(&header) {
            return Err(invalid(start, "its checksum is wrong"));
        }
        Ok(Some(header))
    }

    /// The name in a GNU extended header; `None` if it is empty.
    fn long_name(&mut self, start: u64, size: u64) -> Result<Option<Vec<u8>>, ArchiveError> {
        // A NUL ends it.
        self.check(start, Limit::PathBytes, size.saturating_sub(1))?;
        let mut name = self.extension(size)?;
        name.truncate(until_nul(&name).len());
        Ok(Some(name).filter(|name| !name.is_empty()))
    }

    fn extension(&mut self, size: u64) -> Result<Vec<u8>, ArchiveError> {
        let mut data = vec![0; size as usize];
        self.exactly(&mut data, "an extended header")?;
        self.position += self.input.skip(padding(size))?;
        Ok(data)
    }

    fn skip(&mut self, size: u64, inside: &str) -> Result<(), ArchiveError> {
        self.skip_exactly(size, inside)?;
        self.position += self.input.skip(padding(size))?;
        Ok(())
    }

    fn skip_exactly(&mut self, count: u64, inside: &str) -> Result<(), ArchiveError> {
        let skipped = self.input.skip(count)?;
        self.position += skipped;
        if skipped < count {
            Err(self.truncated(inside))
        } else {
            Ok(())
        }
    }

    fn exactly(&mut self, buffer: &mut [u8], inside: &str) -> Result<(), ArchiveError> {
        let length = buffer.len() as u64;
        if self.fill(buffer)? < length {
            Err(self.truncated(inside))
        } else {
            Ok(())
        }
    }

    /// Fills the buffer, unless the input ends.
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<u64> {
        let mut done = 0;
        while done < buffer.len() {
            let available = self.input.fill_buf()?;
            if available.is_empty() {
                break;
            }
            let count = available.len().min(buffer.len() - done);
            buffer[done..done + count].copy_from_slice(&available[..count]);
            self.input.consume(count);
            done += count;
        }
        self.position += done as u64;
        Ok(done as u64)
    }

    fn truncated(&self, inside: &str) -> ArchiveError {
        ArchiveError::Truncated {
            end: self.position,
            inside: inside.to_owned(),
        }
    }
}

fn is_zero(header: &Header) -> bool {
    header.as_bytes().iter().all(|byte| *byte == 0)
}

fn padding(size: u64) -> u64 {
    size.wrapping_neg() % BLOCK
}

fn field(offset: u64, name: &str, value: Option<u64>) -> Result<u64, ArchiveError> {
    value.ok_or_else(|| invalid(offset, format!("its {name} is not a number")))
}

fn invalid(offset: u64, problem: impl Into<String>) -> ArchiveError {
    ArchiveError::Header {
        offset,
        problem: problem.into(),
    }
}
