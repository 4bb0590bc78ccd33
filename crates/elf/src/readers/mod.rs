//! How values are read from the bytes of a library. The recipe table says which reader a library needs.
//!
//! Machine code is matched by the byte patterns that compilers emit, not disassembled: x86-64 after Intel SDM volume 2,
//! AArch64 after the Arm ARM (DDI 0487), section C6.2.

mod compiled;
mod cudart;
mod cudnn;
mod cudnn_dispatcher;
mod driver;
mod getter;
mod memory;
mod nvrtc;
mod property;
mod text;
mod values;

use regex::bytes::Regex;
use serde::Deserialize;

use super::candidate::Candidate;
use super::error::ElfError;
use super::facts::ReadingKind;
use super::number_format::NumberFormat;
use super::pattern::Pattern;
pub(super) use getter::constant_function;
use text::StringPattern;
use values::Values;

/// A file in which one reader finds more values was made to do so. Real ones have a handful.
const MAX_VALUES: usize = 64;

/// What reads a value.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Reader {
    /// A string among the constants.
    String(StringPattern),
    /// The SONAME; group 1 of the pattern is the value.
    Soname(Pattern),
    /// The constant that this export returns.
    Returned(String),
    /// The constant that this export stores.
    Stored(String),
    /// The numbers that this export stores through its arguments: `void version(int *major, int *minor, int *patch)`.
    StoredNumbers(String),
    /// What a property getter stores as major, minor and patch level.
    Property(String),
    /// The first of the two numbers that this export copies from constants into the structure of its caller.
    Copied(String),
    /// The second of these.
    CopiedSecond(String),
    /// The numbers of the version structure that this export returns a pointer to.
    PointedNumbers(String),
    /// The version of the CUDA runtime.
    Cudart,
    /// The versions of CUDA runtimes that are linked statically.
    StaticCudart,
    /// The version of NCCL, which its getter stores as the CUDA runtime does.
    Nccl,
    /// The version of NVRTC.
    Nvrtc,
    /// The CUDA version of a driver.
    DriverCuda,
    /// The CUDA version that a forward-compatibility driver is for.
    CompatCuda,
    /// The branches of the host's driver that a forward-compatibility driver works with.
    CompatDrivers,
    /// The cuDNN version that a library was compiled against.
    CompiledCudnn,
    /// The CUDA version that a library was compiled against.
    CompiledCuda,
    /// The version in data objects that a sublibrary of cuDNN exports.
    CudnnObject,
    /// The version in the dispatcher of cuDNN.
    CudnnDispatcher,
    /// The version after the name of a function that checks it.
    CudnnCheck,
    /// The version with which a sublibrary of cuDNN compares that of its caller.
    CudnnComparison,
    /// The version in the records of an engine of cuDNN.
    CudnnRecords,
}

impl Reader {
    /// The exports that it looks at.
    pub fn exports(&self) -> Vec<&str> {
        match self {
            Reader::Returned(export)
            | Reader::Stored(export)
            | Reader::StoredNumbers(export)
            | Reader::Property(export)
            | Reader::Copied(export)
            | Reader::CopiedSecond(export)
            | Reader::PointedNumbers(export) => vec![export],
            Reader::Cudart => vec![cudart::EXPORT],
            Reader::Nccl => vec![NCCL],
            Reader::Nvrtc => vec![nvrtc::EXPORT],
            Reader::CudnnComparison => cudnn::NEAR.to_vec(),
            _ => Vec::new(),
        }
    }

    /// The pattern of the exported data objects that it looks at.
    pub fn object(&self) -> Option<&Regex> {
        matches!(self, Reader::CudnnObject).then_some(&*cudnn::OBJECT)
    }

    /// How far its values can be trusted.
    pub fn kind(&self) -> ReadingKind {
        match self {
            Reader::String(_) | Reader::Soname(_) | Reader::CompatCuda | Reader::CompatDrivers => {
                ReadingKind::String
            }
            _ => ReadingKind::Code,
        }
    }

    /// Reads the values of a file. `format` is how an export gives a number.
    pub fn read(&self, candidate: &Candidate, format: NumberFormat) -> Result<Values, ElfError> {
        let values = match self {
            Reader::String(pattern) => pattern.read(candidate)?,
            Reader::Soname(pattern) => text::soname(candidate, pattern),
            Reader::Returned(export) => getter::returned(candidate, export, format)?,
            Reader::Stored(export) => getter::stored(candidate, export, format)?,
            Reader::StoredNumbers(export) => getter::stored_numbers(candidate, export)?,
            Reader::Property(export) => property::version(candidate, export)?,
            Reader::Copied(export) => memory::copied(candidate, export, 0, format)?,
            Reader::CopiedSecond(export) => memory::copied(candidate, export, 1, format)?,
            Reader::PointedNumbers(export) => memory::pointed_numbers(candidate, export)?,
            Reader::Cudart => cudart::version(candidate)?,
            Reader::StaticCudart => cudart::static_versions(candidate)?,
            Reader::Nccl => {
                cudart::stored_through_argument(candidate, NCCL, NumberFormat::ThousandsBefore2_9)?
            }
            Reader::Nvrtc => nvrtc::version(candidate)?,
            Reader::DriverCuda => driver::cuda(candidate)?,
            Reader::CompatCuda => driver::compatibility(candidate, "CUDA Version")?,
            Reader::CompatDrivers => driver::compatibility(candidate, "Driver")?,
            Reader::CompiledCudnn => compiled::cudnn(candidate)?,
            Reader::CompiledCuda => compiled::cuda(candidate)?,
            Reader::CudnnObject => cudnn::objects(candidate)?,
            Reader::CudnnDispatcher => cudnn_dispatcher::version(candidate)?,
            Reader::CudnnCheck => cudnn::checks(candidate)?,
            Reader::CudnnComparison => cudnn::comparison(candidate)?,
            Reader::CudnnRecords => cudnn::records(candidate)?,
        };
        Ok(match values.len() {
            ..=MAX_VALUES => values,
            _ => Vec::new(),
        })
    }
}

/// The getter of NCCL.
const NCCL: &str = "ncclGetVersion";
