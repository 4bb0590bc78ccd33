//! The file that is being identified.

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::depth::Depth;
use super::error::ElfError;
use super::object::Object;
use super::pattern::Pattern;

/// Longest function body that is read, in bytes; getters have some hundred.
const MAX_BODY: u64 = 64 << 10;
/// How much is read of a function of size 0, as written in assembler.
const MIN_BODY: u64 = 16;

/// A defined symbol that a recipe asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Export {
    pub name: String,
    pub address: u64,
    pub size: u64,
    pub object: bool,
}

/// What identification and the readers look at.
pub(crate) struct Candidate<'a> {
    pub object: &'a Object<'a>,
    /// The exports that recipes ask for.
    pub exports: &'a [Export],
    pub soname: Option<&'a str>,
    pub needed: &'a [String],
    pub depth: Depth,
    /// It has GPU code, and so little machine code that all of it may be searched.
    pub is_small_gpu_file: bool,
}

impl Candidate<'_> {
    /// An export by its name.
    pub fn export(&self, name: &str) -> Option<&Export> {
        self.exports.iter().find(|export| export.name == name)
    }

    /// The body of an exported function; empty if there is no such export, or its body is not in the file.
    pub fn body(&self, name: &str) -> Result<Cow<'_, [u8]>, ElfError> {
        match self.export(name) {
            Some(export) => {
                let length = export.size.clamp(MIN_BODY, MAX_BODY);
                self.object.at_address(export.address, length)
            }
            None => Ok(Cow::Borrowed(&[])),
        }
    }

    /// Whether the constants of the file contain text that matches a pattern.
    pub fn contains(&self, pattern: &Pattern) -> Result<bool, ElfError> {
        for range in self.object.constants() {
            let found = self.object.windows(range, 0, |_, bytes| {
                if pattern.is_match(bytes) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
            if found.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
