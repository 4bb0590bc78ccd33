//! Several threads give what one gives.
#![allow(clippy::unwrap_used)]

use std::io::{self, Read, Write};

use flate2::{Compression, GzBuilder};
use imgcheck_deflate::{Gzip, Sizes, decompress, decompress_in};

/// Everything before the end or the error, and which.
type Outcome = (Vec<u8>, Result<(), (io::ErrorKind, String)>);

fn parallel(input: &mut (dyn Read + Send), threads: usize) -> Outcome {
    let mut plain = Vec::new();
    let result = decompress(input, threads, &mut |piece| {
        plain.extend_from_slice(piece);
        Ok(true)
    });
    (
        plain,
        result.map_err(|error| (error.kind(), error.to_string())),
    )
}

/// In so small chunks that hardly any block is in one.
fn in_small_chunks(mut input: &[u8], size: usize, output: usize) -> Outcome {
    let (mut plain, overlap) = (Vec::new(), 1024);
    let sizes = Sizes {
        input: size,
        overlap,
        output,
        symbols: output / 2,
    };
    let result = decompress_in(sizes, &mut input, 2, &mut |piece| {
        plain.extend_from_slice(piece);
        Ok(true)
    });
    (
        plain,
        result.map_err(|error| (error.kind(), error.to_string())),
    )
}

fn serial(input: impl Read) -> Outcome {
    let mut plain = Vec::new();
    let result = Gzip::new(input).read_to_end(&mut plain);
    (
        plain,
        result
            .map(drop)
            .map_err(|error| (error.kind(), error.to_string())),
    )
}

/// As if by chance, but always the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % end
    }
}

/// Text, machine code of sorts, zeros and noise, in parts that are longer and shorter than a window.
fn sample(length: usize) -> Vec<u8> {
    let (mut numbers, mut plain) = (Numbers(7), Vec::new());
    let words: Vec<Vec<u8>> = (0..3000)
        .map(|_| {
            (0..2 + numbers.below(9))
                .map(|_| b'a' + numbers.below(26) as u8)
                .collect()
        })
        .collect();
    while plain.len() < length {
        let part = numbers.below(200_000) as usize;
        let end = plain.len() + part;
        match numbers.below(5) {
            0 => plain.resize(end, 0),
            1 => plain.extend((0..part).map(|_| numbers.below(256) as u8)),
            2 => plain.extend((0..part).map(|_| (numbers.below(12) * numbers.below(12)) as u8)),
            _ => {
                while plain.len() < end {
                    plain.extend_from_slice(&words[numbers.below(3000) as usize]);
                    plain.push(b' ');
                }
            }
        }
    }
    plain
}

fn gzip(plain: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::new(level));
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn all_levels_and_threads_give_the_same() {
    let plain = sample(12 << 20);
    for level in [0, 1, 4, 6, 9] {
        let member = gzip(&plain, level);
        for threads in [0, 1, 3, 8] {
            let (found, result) = parallel(&mut &member[..], threads);
            assert_eq!(result, Ok(()), "level {level}, {threads} threads");
            assert!(found == plain, "level {level}, {threads} threads");
        }
    }
}

#[test]
fn chunks_of_all_sizes_give_the_same() {
    let plain = sample(3 << 20);
    for level in [1, 6, 9] {
        let member = gzip(&plain, level);
        for (size, output) in [
            (1024, 4096),
            (5000, 100_000),
            (40_000, 200_000),
            (300_000, 33_000),
        ] {
            let (found, result) = in_small_chunks(&member, size, output);
            assert_eq!(result, Ok(()), "level {level}, chunks of {size}");
            assert!(found == plain, "level {level}, chunks of {size}");
        }
    }
}

#[test]
fn members_of_all_lengths_follow_each_other() {
    let plain = sample(9 << 20);
    let (mut numbers, mut at, mut members) = (Numbers(3), 0, Vec::new());
    while at < plain.len() {
        let most = [100, 100_000, 4_000_000][numbers.below(3) as usize];
        let end = plain.len().min(at + numbers.below(most) as usize);
        members.extend(gzip(&plain[at..end], 1 + numbers.below(9) as u32));
        at = end;
    }
    members.extend([0; 1000]);
    assert!(parallel(&mut &members[..], 3) == (plain, Ok(())));
}

#[test]
fn damage_anywhere_is_found_at_the_same_place() {
    let plain = sample(6 << 20);
    let two = [gzip(&plain, 6), gzip(&plain[..1 << 20], 9)].concat();
    let mut numbers = Numbers(11);
    for _ in 0..40 {
        let mut wrong = two.clone();
        let at = numbers.below(two.len() as u64) as usize;
        wrong[at] ^= 1 << numbers.below(8);
        if numbers.below(2) == 0 {
            wrong.truncate(numbers.below(two.len() as u64) as usize);
        }
        let (expected, expected_result) = serial(&wrong[..]);
        let (found, result) = parallel(&mut &wrong[..], 3);
        assert_eq!(result, expected_result, "byte {at}");
        // One thread gives what is right before an error up to a whole buffer.
        let same = found.len().min(expected.len());
        assert!(found[..same] == expected[..same], "byte {at}");
        assert!(result.is_err() || found == expected, "byte {at}");
    }
}

#[test]
fn an_input_that_cannot_be_read_is_an_error_after_what_was_read() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::new(io::ErrorKind::ConnectionReset, "gone"))
        }
    }
    let plain = sample(4 << 20);
    let member = gzip(&plain, 6);
    let half = &member[..member.len() / 2];
    for threads in [0, 3] {
        let (found, result) = parallel(&mut half.chain(Broken), threads);
        assert_eq!(
            result,
            Err((io::ErrorKind::ConnectionReset, "gone".to_owned()))
        );
        assert!(found.len() > 1 << 20 && found == plain[..found.len()]);
    }
}

#[test]
fn nothing_more_is_read_when_nothing_more_is_wanted() {
    let member = gzip(&sample(4 << 20), 6);
    let mut pieces = 0;
    let wanted = |_: &[u8]| {
        pieces += 1;
        Ok(pieces < 3)
    };
    let mut wanted = wanted;
    assert!(decompress(&mut &member[..], 2, &mut wanted).is_ok());
    assert_eq!(pieces, 3);
}

#[test]
fn nothing_is_output_after_an_error() {
    let member = gzip(&sample(8 << 20), 6);
    let mut wrong = member.clone();
    let end = wrong.len();
    wrong[end - 5] ^= 1;
    let file = [wrong, member].concat();
    let (mut first, mut longest) = (true, 0);
    let result = decompress(&mut &file[..], 3, &mut |piece| {
        longest += piece.len();
        Ok(true)
    });
    assert_eq!(result.unwrap_err().kind(), io::ErrorKind::InvalidData);
    assert!(longest < 9 << 20, "{longest}");
    let result = decompress(&mut &file[..], 3, &mut |_| {
        assert!(std::mem::take(&mut first));
        Err(io::Error::new(io::ErrorKind::StorageFull, "full"))
    });
    assert_eq!(result.unwrap_err().kind(), io::ErrorKind::StorageFull);
}

/// Zeros take a thousandth: pieces come as they are made, and chunks do not grow with what is in them.
#[test]
fn a_bomb_is_output_in_pieces() {
    let member = gzip(&vec![0; 256 << 20], 9);
    let (mut total, mut longest) = (0, 0);
    let result = decompress(&mut &member[..], 3, &mut |piece| {
        total += piece.len();
        longest = longest.max(piece.len());
        Ok(true)
    });
    assert!(result.is_ok());
    assert_eq!(total, 256 << 20);
    assert!(longest <= 4 << 20, "{longest}");
}
