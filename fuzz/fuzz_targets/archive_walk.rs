//! The walk over a tar archive: reading from a file or a stream, and reading or skipping contents, give the same members and the
//! same error.

use std::io::BufReader;

use imgcheck_archive::archive::{
    ArchiveError, FileRange, Input, Member, RangeInput, StreamInput, Walk,
};
use imgcheck_base::limits::{Limit, Limits};
use imgcheck_fuzz::file;
use testkit::repair_checksums;

/// Holes cost nothing in an archive: of each member, no more than this is read.
const READ: usize = 1 << 16;
/// A buffer so small that nothing lies in one whole.
const SMALL: usize = 61;

/// What a walk gave.
#[derive(Debug, PartialEq)]
struct Walked {
    members: Vec<Member>,
    end: String,
}

pub fn fuzz(bytes: &[u8]) {
    every_way(bytes);
    every_way(&repair_checksums(bytes));
}

fn every_way(bytes: &[u8]) {
    let range = || RangeInput::new(FileRange::new(file(bytes), 0, bytes.len() as u64));
    let stream = || StreamInput::new(BufReader::with_capacity(SMALL, bytes));
    let expected = walk(bytes, false);
    check(&expected, bytes.len() as u64);
    for read in [false, true] {
        assert_eq!(expected, walk(bytes, read), "read: {read}");
        assert_eq!(expected, walk(range(), read), "a file, read: {read}");
        assert_eq!(expected, walk(stream(), read), "a stream, read: {read}");
    }
}

fn walk<I: Input>(input: I, read: bool) -> Walked {
    let mut walk = Walk::new(input, Limits::default());
    let mut members = Vec::new();
    let end = loop {
        match walk.advance() {
            Ok(Some(member)) => members.push(member),
            Ok(None) => break format!("whole, end marker: {}", walk.has_end_marker()),
            Err(error) => break error.to_string(),
        }
        if read && let Err(error) = contents(&mut walk) {
            break error.to_string();
        }
    };
    Walked { members, end }
}

fn contents<I: Input>(walk: &mut Walk<I>) -> Result<(), ArchiveError> {
    let mut left = READ;
    while left > 0 {
        let length = walk.content()?.len();
        if length == 0 {
            break;
        }
        left = left.saturating_sub(length);
    }
    Ok(())
}

/// What holds of every member, whatever its header says.
fn check(walked: &Walked, archive: u64) {
    let longest = Limits::default().of(Limit::PathBytes);
    for (at, member) in walked.members.iter().enumerate() {
        assert!(member.path.len() as u64 <= longest);
        assert!(member.link.len() as u64 <= longest);
        // The walk came beyond all members but perhaps the last.
        if at + 1 < walked.members.len() {
            assert!(member.offset + member.stored <= archive);
        }
        let (mut end, mut stored) = (0, 0);
        for segment in member.sparse.iter().flatten() {
            assert!(segment.offset >= end, "segments overlap");
            assert_eq!(
                segment.stored, stored,
                "segments are stored one after another"
            );
            end = segment.offset + segment.length;
            stored += segment.length;
        }
        assert!(end <= member.size, "a segment beyond the end of its file");
        assert!(stored <= member.stored, "segments that are not stored");
    }
}
