//! ISA-L beside zlib-rs on one gzip file, in turns: `cargo bench -p imgcheck-isal -- LAYER.tar.gz`.
#![allow(clippy::print_stdout, missing_docs)]

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::time::{Duration, Instant};

use imgcheck_isal::Member;

const BUFFER: usize = 512 << 10;
const ROUNDS: usize = 5;

fn main() -> io::Result<()> {
    let Some(path) = std::env::args().skip(1).find(|it| !it.starts_with("--")) else {
        println!("which file? cargo bench -p imgcheck-isal -- LAYER.tar.gz");
        return Ok(());
    };
    let decoders: [(&str, Decoder); 2] = [("ISA-L", isa_l), ("zlib-rs", zlib_rs)];
    let mut times = decoders.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for ((_, decode), times) in decoders.iter().zip(&mut times) {
            let begun = Instant::now();
            let bytes = decode(BufReader::with_capacity(BUFFER, File::open(&path)?))?;
            times.push((begun.elapsed(), bytes));
        }
    }
    for ((name, _), mut times) in decoders.iter().zip(times) {
        times.sort_unstable();
        let (time, bytes) = times[ROUNDS / 2];
        println!("{name:8} {time:6.2?} {:6.0} MB/s", rate(bytes, time));
    }
    Ok(())
}

/// Decompresses the first member and gives its length.
type Decoder = fn(BufReader<File>) -> io::Result<u64>;

fn rate(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}

fn isa_l(mut input: BufReader<File>) -> io::Result<u64> {
    let (mut member, mut output, mut total) = (Member::default(), vec![0; BUFFER], 0);
    loop {
        let step = member
            .inflate(input.fill_buf()?, &mut output)
            .map_err(io::Error::other)?;
        input.consume(step.consumed);
        total += step.produced as u64;
        if step.end {
            return Ok(total);
        }
        if step.produced == 0 && input.fill_buf()?.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn zlib_rs(input: BufReader<File>) -> io::Result<u64> {
    let (mut decoder, mut output, mut total) =
        (flate2::bufread::GzDecoder::new(input), vec![0; BUFFER], 0);
    loop {
        match decoder.read(&mut output)? {
            0 => return Ok(total),
            count => total += count as u64,
        }
    }
}
