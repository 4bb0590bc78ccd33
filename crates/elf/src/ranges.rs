//! Ranges of a file.

use std::ops::Range;

/// The ranges in order, joined where they overlap or touch.
pub(crate) fn merged(ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in disjoint(ranges) {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

/// The ranges in order, each without what earlier ones contain, so that headers that name the same bytes cause one read.
pub(crate) fn disjoint(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut end = 0;
    for range in &mut ranges {
        range.start = range.start.max(end);
        end = end.max(range.end);
    }
    ranges.retain(|range| range.start < range.end);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_in_one_range() {
        let backwards = Range { start: 20, end: 10 };
        let ranges = vec![5..9, 0..4, 6..7, 8..12, 12..14, 3..3, backwards];
        assert_eq!(disjoint(ranges.clone()), [0..4, 5..9, 9..12, 12..14]);
        assert_eq!(merged(ranges), [0..4, 5..14]);
    }
}
