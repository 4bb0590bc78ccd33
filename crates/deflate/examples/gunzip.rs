//! Decompresses a gzip file and gives its length: `gunzip FILE THREADS`.
#![allow(clippy::print_stdout, missing_docs)]

use std::fs::File;
use std::io::{self, Read};
use std::time::Instant;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_default();
    let how = arguments.next().unwrap_or_default();
    let limit: u64 = arguments.next().and_then(|it| it.parse().ok()).unwrap_or(u64::MAX);
    let begun = Instant::now();
    let mut file = File::open(&path)?.take(limit);
    if let Ok(threads) = how.parse() {
        let mut total = 0;
        let mut sizes = imgcheck_deflate::Sizes::default();
        if let Some(size) = std::env::var("SIZE").ok().and_then(|it| it.parse::<usize>().ok()) {
            sizes = imgcheck_deflate::Sizes { input: size << 10, overlap: (size << 10).min(256 << 10), output: size * 3 << 10, symbols: std::env::var("SYMBOLS").ok().and_then(|it| it.parse::<usize>().ok()).unwrap_or(768) << 10 };
        }
        let result = imgcheck_deflate::decompress_in(sizes, &mut file, threads, &mut |plain| {
            total += plain.len() as u64;
            Ok(true)
        });
        let time = begun.elapsed();
        println!("{}", std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default());
        println!("{how} {result:?} {total} bytes {time:.2?} {:.0} MB/s", total as f64 / 1e6 / time.as_secs_f64());
        return Ok(());
    }
    let mut reader: Box<dyn Read> = match how.as_str() {
        "zlib" => Box::new(flate2::bufread::MultiGzDecoder::new(io::BufReader::with_capacity(512 << 10, file))),
        _ => Box::new(imgcheck_deflate::Gzip::new(file)),
    };
    let (mut buffer, mut total) = (vec![0; 512 << 10], 0_u64);
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => total += count as u64,
            Err(error) => {
                println!("{error}");
                break;
            }
        }
    }
    let time = begun.elapsed();
    println!("{how} {total} bytes {time:.2?} {:.0} MB/s", total as f64 / 1e6 / time.as_secs_f64());
    Ok(())
}
