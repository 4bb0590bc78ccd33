//! Decompresses a gzip file, and prints how long that takes: `gunzip FILE [THREADS]`, where 0 is zlib-rs, 1 one thread, and N others
//! are N threads besides the one that reads.
#![allow(clippy::print_stdout, missing_docs)]

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::time::Instant;

use flate2::bufread::MultiGzDecoder;
use imgcheck_deflate::{Gzip, decompress};

const BUFFER: usize = 512 << 10;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        println!("which file? gunzip FILE [THREADS]");
        return Ok(());
    };
    let threads = arguments.next().and_then(|it| it.parse().ok()).unwrap_or(1);
    let (begun, mut file) = (Instant::now(), File::open(path)?);
    let mut total = 0;
    match threads {
        0 => total = length(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, file)))?,
        1 => total = length(Gzip::new(file))?,
        _ => decompress(&mut file, threads, &mut |plain| {
            total += plain.len();
            Ok(true)
        })?,
    }
    let seconds = begun.elapsed().as_secs_f64();
    let rate = total as f64 / 1e6 / seconds;
    println!("{total} bytes in {seconds:.2} s, {rate:.0} MB/s");
    Ok(())
}

/// Reads to the end.
fn length(mut reader: impl Read) -> io::Result<usize> {
    let (mut buffer, mut total) = (vec![0; BUFFER], 0);
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(total),
            count => total += count,
        }
    }
}
