//! Sparse members: where each format stores its map.

use tar::Header;

use super::super::header::number;
use super::super::member::Member;
use super::super::pax::{Map, PaxSparse, decimal};
use super::super::sparse::segments;
use super::super::{ArchiveError, BLOCK, Input};
use super::{Walk, field, invalid};
use imgcheck_base::limits::Limit;

impl<I: Input> Walk<I> {
    /// GNU tar's own sparse format (type `S`): the map is in the header and in blocks that follow it.
    pub(super) fn old_sparse(
        &mut self,
        start: u64,
        header: &Header,
        member: &mut Member,
    ) -> Result<(), ArchiveError> {
        let gnu = header
            .as_gnu()
            .ok_or_else(|| invalid(start, "a sparse member in a header that is not GNU's"))?;
        let expanded = field(start, "sparse size", number(&gnu.realsize))?;
        let mut map = Vec::new();
        let mut more = gnu.is_extended();
        self.sparse_pairs(start, &gnu.sparse, &mut map)?;
        while more {
            let mut block = tar::GnuExtSparseHeader::new();
            self.exactly(block.as_mut_bytes(), "a sparse map")?;
            self.sparse_pairs(start, block.sparse(), &mut map)?;
            more = block.is_extended();
        }
        member.offset = self.position;
        self.set_sparse(start, &map, expanded, member)
    }

    fn sparse_pairs(
        &self,
        start: u64,
        pairs: &[tar::GnuSparseHeader],
        map: &mut Vec<u64>,
    ) -> Result<(), ArchiveError> {
        for pair in pairs
            .iter()
            .take_while(|pair| pair.offset[0] != 0 && pair.numbytes[0] != 0)
        {
            map.push(field(start, "sparse offset", number(&pair.offset))?);
            map.push(field(start, "sparse length", number(&pair.numbytes))?);
        }
        self.check_segments(start, map.len() as u64 / 2)
    }

    /// The pax sparse formats: 0.0 and 0.1 with the map in the extended header, 1.0 with it in front of the content.
    pub(super) fn pax_sparse(
        &mut self,
        start: u64,
        map: Map,
        sparse: PaxSparse,
        member: &mut Member,
    ) -> Result<(), ArchiveError> {
        let expanded = field(start, "GNU.sparse size", sparse.real_size)?;
        let map = match map {
            Map::Header => sparse.numbers.unwrap_or_default(),
            Map::Stored => self.stored_map(start, member)?,
        };
        self.check_segments(start, map.len() as u64 / 2)?;
        self.set_sparse(start, &map, expanded, member)
    }

    /// Format 1.0: decimal lines, the number of ranges and then offset and length of each, padded to whole blocks.
    fn stored_map(&mut self, start: u64, member: &mut Member) -> Result<Vec<u64>, ArchiveError> {
        let mut text = Vec::new();
        let mut numbers = Vec::new();
        let mut expected = 1_u64;
        while (numbers.len() as u64) < expected {
            let Some(end) = memchr::memchr(b'\n', &text) else {
                if text.len() > BLOCK as usize || member.stored < BLOCK {
                    return Err(invalid(start, "a sparse map does not end"));
                }
                let mut block = [0; BLOCK as usize];
                self.exactly(&mut block, "a sparse map")?;
                member.stored -= BLOCK;
                text.extend_from_slice(&block);
                continue;
            };
            let value = field(start, "sparse map", decimal(&text[..end]))?;
            text.drain(..=end);
            if numbers.is_empty() {
                self.check_segments(start, value)?;
                expected = value.saturating_mul(2).saturating_add(1);
            }
            numbers.push(value);
        }
        numbers.remove(0);
        member.offset = self.position;
        Ok(numbers)
    }

    fn set_sparse(
        &self,
        start: u64,
        map: &[u64],
        expanded: u64,
        member: &mut Member,
    ) -> Result<(), ArchiveError> {
        let segments =
            segments(map, expanded, member.stored).map_err(|problem| invalid(start, problem))?;
        member.size = expanded;
        member.sparse = Some(segments);
        Ok(())
    }

    fn check_segments(&self, start: u64, count: u64) -> Result<(), ArchiveError> {
        self.check(start, Limit::SparseSegments, count)
    }
}
