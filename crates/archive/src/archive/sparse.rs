//! Maps of sparse files: which segments of the expanded file are stored; the rest is zeros.

/// A stored segment of a sparse file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Offset in the expanded file.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// Offset in the stored content.
    pub stored: u64,
}

/// Checks a map of (offset, length) pairs against the expanded and the stored size: segments must be in order, must not overlap, must be
/// inside the file, and must be exactly what is stored. The error says what is wrong.
pub(super) fn segments(
    map: &[u64],
    expanded: u64,
    stored: u64,
) -> Result<Vec<Segment>, &'static str> {
    let (pairs, []) = map.as_chunks::<2>() else {
        return Err("a sparse map has an offset without a length");
    };
    let mut segments = Vec::with_capacity(pairs.len());
    let (mut end, mut used) = (0_u64, 0_u64);
    for &[offset, length] in pairs {
        if offset < end {
            return Err("the ranges of a sparse map overlap");
        }
        end = offset
            .checked_add(length)
            .filter(|end| *end <= expanded)
            .ok_or("a range of a sparse map lies outside the file")?;
        if length > 0 {
            segments.push(Segment {
                offset,
                length,
                stored: used,
            });
        }
        used += length;
    }
    if used != stored {
        return Err("a sparse map does not match the stored size");
    }
    Ok(segments)
}

/// A stored segment or a hole, when a file is read sequentially.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub length: u64,
    pub hole: bool,
}

/// The stored segments and the holes between them, in order.
pub(super) fn pieces(segments: &[Segment], expanded: u64) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(segments.len() * 2 + 1);
    let mut end = 0;
    for segment in segments {
        pieces.push(Piece {
            length: segment.offset - end,
            hole: true,
        });
        pieces.push(Piece {
            length: segment.length,
            hole: false,
        });
        end = segment.offset + segment.length;
    }
    pieces.push(Piece {
        length: expanded - end,
        hole: true,
    });
    pieces.retain(|piece| piece.length > 0);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_becomes_ranges_and_holes() {
        let found = segments(&[4, 2, 10, 3, 20, 0], 20, 5).unwrap_or_default();
        assert_eq!(
            found,
            [
                Segment {
                    offset: 4,
                    length: 2,
                    stored: 0
                },
                Segment {
                    offset: 10,
                    length: 3,
                    stored: 2
                }
            ]
        );
        let lengths: Vec<_> = pieces(&found, 20)
            .iter()
            .map(|piece| (piece.length, piece.hole))
            .collect();
        assert_eq!(
            lengths,
            [(4, true), (2, false), (4, true), (3, false), (7, true)]
        );
    }

    #[test]
    fn impossible_maps_are_errors() {
        for (map, expanded, stored) in [
            (&[0][..], 9, 0),
            (&[0, 10], 9, 10),
            (&[4, 2, 5, 2], 9, 4),
            (&[u64::MAX, 1], 9, 1),
            (&[0, 4], 9, 5),
            (&[0, 4], 9, 3),
        ] {
            assert!(segments(map, expanded, stored).is_err(), "{map:?}");
        }
    }
}
