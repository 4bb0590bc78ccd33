//! Gzip of any number of members (RFC 1952), with zeros allowed after the last one, as gzip itself reads it.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// The first byte of a member.
const GZIP_MAGIC: u8 = 0x1f;

/// Decompresses all members. Reading ends with an error unless the last one is whole and its checksum right.
#[derive(Debug)]
pub(super) struct Gzip<R> {
    state: Option<State<R>>,
}

#[derive(Debug)]
enum State<R> {
    Member(Box<GzDecoder<R>>),
    Between(R),
}

impl<R: BufRead> Gzip<R> {
    pub fn new(input: R) -> Self {
        Gzip {
            state: Some(State::Member(Box::new(GzDecoder::new(input)))),
        }
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match self.state.take() {
                None => return Ok(0),
                Some(State::Member(mut member)) => {
                    let count = member.read(buffer)?;
                    if count > 0 {
                        self.state = Some(State::Member(member));
                        return Ok(count);
                    }
                    self.state = Some(State::Between(member.into_inner()));
                }
                Some(State::Between(mut input)) => match input.fill_buf()?.first() {
                    None => return Ok(0),
                    Some(&GZIP_MAGIC) => {
                        self.state = Some(State::Member(Box::new(GzDecoder::new(input))))
                    }
                    Some(_) => only_zeros(&mut input)?,
                },
            }
        }
    }
}

fn only_zeros(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let rest = input.fill_buf()?;
        if rest.is_empty() {
            return Ok(());
        }
        if rest.iter().any(|byte| *byte != 0) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "bytes that are not gzip follow its end",
            ));
        }
        let count = rest.len();
        input.consume(count);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn gunzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        Gzip::new(bytes).read_to_end(&mut plain)?;
        Ok(plain)
    }

    #[test]
    fn members_and_padding() {
        let two = [gzip(b"one "), gzip(b""), gzip(b"two")].concat();
        assert_eq!(gunzip(&two).unwrap(), b"one two");
        assert_eq!(
            gunzip(&[two.clone(), vec![0; 1000]].concat()).unwrap(),
            b"one two"
        );
    }

    #[test]
    fn damage_is_an_error() {
        let whole = gzip(b"some text that is long enough");
        for length in 0..whole.len() {
            assert!(gunzip(&whole[..length]).is_err(), "{length}");
        }
        assert!(gunzip(&[whole.clone(), b"garbage".to_vec()].concat()).is_err());
        assert!(gunzip(&[whole.clone(), vec![0, 0, 1]].concat()).is_err());
        let mut wrong = whole;
        let crc = wrong.len() - 6;
        wrong[crc] ^= 1;
        assert!(gunzip(&wrong).is_err());
    }
}
