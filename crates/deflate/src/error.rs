//! What is wrong with compressed data.

use std::fmt;
use std::io;

/// What is wrong with a gzip member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalid {
    /// It does not begin as a gzip member does, uses an unknown method, or has reserved flags or a wrong header checksum.
    Header,
    /// A block has the reserved type.
    BlockType,
    /// The length of a stored block contradicts its complement.
    StoredLength,
    /// The code lengths of a block make too many or too few Huffman codes, or none for the end of the block.
    CodeLengths,
    /// A code that has no meaning.
    Symbol,
    /// A copy from before the first byte.
    Distance,
    /// The data has a different checksum or length than the end of the member says.
    Checksum,
    /// Bytes other than zeros follow the last member.
    Trailing,
}

impl fmt::Display for Invalid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Invalid::Header => "invalid gzip header",
            Invalid::BlockType => "invalid block type in the deflate data",
            Invalid::StoredLength => "invalid length of a stored block in the deflate data",
            Invalid::CodeLengths => "invalid Huffman codes in the deflate data",
            Invalid::Symbol => "invalid symbol in the deflate data",
            Invalid::Distance => "invalid distance in the deflate data",
            Invalid::Checksum => "the gzip checksum does not match",
            Invalid::Trailing => "bytes that are not gzip follow its end",
        })
    }
}

impl std::error::Error for Invalid {}

impl From<Invalid> for io::Error {
    fn from(invalid: Invalid) -> Self {
        io::Error::new(io::ErrorKind::InvalidData, invalid)
    }
}
