//! Reads bbolt databases, in which containerd keeps its metadata (bbolt, `internal/common/page.go`, `meta.go`, `bucket.go`).
//!
//! The lock of the database is not taken, so its owner never waits. That is sound because a writer copies each page that it changes, and
//! reuses the old page only two transactions later: what was read is one state if no transaction ended meanwhile.

use std::fs::File;
use std::io;
use std::sync::Arc;

use imgcheck_archive::archive::FileRange;
use imgcheck_base::error::{Error, Result};

const MAGIC: u32 = 0xed0c_daed;
const VERSION: u32 = 2;
const PAGE_HEADER: usize = 16;
const META: usize = 64;
const ELEMENT: usize = 16;
const BRANCH: u16 = 1;
const LEAF: u16 = 2;
/// Flag of an element whose value is a bucket: the number of its first page, a sequence, and its only page if it is small.
const BUCKET: u32 = 1;
const BUCKET_HEADER: usize = 16;
/// Attempts to read while transactions end.
const ATTEMPTS: usize = 20;

/// An open database.
#[derive(Debug)]
pub struct Database {
    file: Arc<File>,
    /// For messages.
    name: String,
}

/// What a meta page says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Meta {
    transaction: u64,
    page_size: u64,
    root: u64,
}

/// Keys in the order of their bytes, each with a value or another bucket.
#[derive(Debug)]
pub struct Bucket<'d> {
    database: &'d Database,
    page_size: u64,
    pages: Pages,
}

#[derive(Debug)]
enum Pages {
    /// The number of the first page.
    Tree(u64),
    Inline(Vec<u8>),
}

#[derive(Debug)]
struct Element {
    key: Vec<u8>,
    is_bucket: bool,
    value: Vec<u8>,
}

impl Database {
    /// A database in this file, whose name is for messages.
    pub fn new(file: File, name: String) -> Self {
        let file = Arc::new(file);
        Database { file, name }
    }

    /// What `read` finds in the outermost bucket, all of it in one state of the database. It may be called several times.
    ///
    /// # Errors
    /// The file is no database, or damaged; or it changes all the time.
    pub fn read<T>(&self, read: impl Fn(Bucket) -> Result<T>) -> Result<T> {
        for _ in 0..ATTEMPTS {
            let meta = self.newest_meta()?;
            let found = read(Bucket {
                database: self,
                page_size: meta.page_size,
                pages: Pages::Tree(meta.root),
            });
            if self.newest_meta()? == meta {
                return found;
            }
        }
        let problem = io::Error::other("it changes all the time");
        Err(Error::io(&self.name, problem)
            .with_help("try again while no image is pulled or removed"))
    }

    /// The newer one of the two meta pages. The other one may be half written, and be the first, which tells where the second is.
    fn newest_meta(&self) -> Result<Meta> {
        let first = self.meta(0)?;
        let sizes: Vec<u64> = match first {
            Some(meta) => vec![meta.page_size],
            None => (9..=16).map(|bits| 1 << bits).collect(),
        };
        let mut newest = first;
        for size in sizes {
            let second = self.meta(size)?;
            newest = newest
                .into_iter()
                .chain(second)
                .max_by_key(|meta| meta.transaction);
        }
        newest.ok_or_else(|| self.damaged("it is not a bbolt database"))
    }

    fn meta(&self, offset: u64) -> Result<Option<Meta>> {
        let Some(page) = self.bytes(offset, (PAGE_HEADER + META) as u64)? else {
            return Ok(None);
        };
        let meta = &page[PAGE_HEADER..];
        let page_size = u64::from(u32_at(meta, 8));
        let is_sound = u32_at(meta, 0) == MAGIC
            && u32_at(meta, 4) == VERSION
            && page_size > 0
            && u64_at(meta, 56) == fnv1a(&meta[..56]);
        Ok(is_sound.then(|| Meta {
            transaction: u64_at(meta, 48),
            page_size,
            root: u64_at(meta, 16),
        }))
    }

    fn page(&self, number: u64, page_size: u64) -> Result<Vec<u8>> {
        let outside = || self.damaged(format!("page {number} is not in it"));
        let offset = number.checked_mul(page_size).ok_or_else(outside)?;
        let header = self
            .bytes(offset, PAGE_HEADER as u64)?
            .ok_or_else(outside)?;
        let length = page_size.checked_mul(u64::from(u32_at(&header, 12)) + 1);
        let page = self.bytes(offset, length.ok_or_else(outside)?)?;
        page.filter(|page| page.len() >= PAGE_HEADER)
            .ok_or_else(outside)
    }

    /// `None` if they are not all in the file.
    fn bytes(&self, offset: u64, length: u64) -> Result<Option<Vec<u8>>> {
        let is_inside = offset
            .checked_add(length)
            .is_some_and(|end| end <= self.length().unwrap_or(0));
        if !is_inside {
            return Ok(None);
        }
        let mut bytes = vec![0; length as usize];
        let range = FileRange::new(Arc::clone(&self.file), offset, length);
        let read = range.read_at(0, &mut bytes);
        read.map_err(|error| Error::io(&self.name, error))?;
        Ok(Some(bytes))
    }

    fn length(&self) -> Result<u64> {
        let metadata = self.file.metadata();
        Ok(metadata
            .map_err(|error| Error::io(&self.name, error))?
            .len())
    }

    fn damaged(&self, problem: impl Into<String>) -> Error {
        Error::damaged(&self.name, problem)
    }
}

impl<'d> Bucket<'d> {
    /// The bucket below these keys, of which there is at least one; `None` if there is no such bucket.
    ///
    /// # Errors
    /// The database is damaged.
    pub fn descend(&self, keys: &[&str]) -> Result<Option<Bucket<'d>>> {
        let mut found = None;
        for key in keys {
            let element = found.as_ref().unwrap_or(self).find(key)?;
            match element.filter(|element| element.is_bucket) {
                Some(element) => found = Some(self.below(element.value)?),
                None => return Ok(None),
            }
        }
        Ok(found)
    }

    /// The value of a key, if it has one.
    ///
    /// # Errors
    /// The database is damaged.
    pub fn value(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let found = self.find(key)?.filter(|element| !element.is_bucket);
        Ok(found.map(|element| element.value))
    }

    /// The value of a key, if it is text.
    ///
    /// # Errors
    /// The database is damaged.
    pub fn text(&self, key: &str) -> Result<Option<String>> {
        Ok(self
            .value(key)?
            .and_then(|value| String::from_utf8(value).ok()))
    }

    /// The buckets in this one with their keys, as far as these are text.
    ///
    /// # Errors
    /// The database is damaged.
    pub fn buckets(&self) -> Result<Vec<(String, Bucket<'d>)>> {
        let elements = self.elements(None)?.into_iter();
        let buckets = elements.filter(|element| element.is_bucket);
        let named = buckets
            .filter_map(|element| Some((String::from_utf8(element.key).ok()?, element.value)));
        named
            .map(|(key, value)| Ok((key, self.below(value)?)))
            .collect()
    }

    fn below(&self, value: Vec<u8>) -> Result<Bucket<'d>> {
        if value.len() < BUCKET_HEADER {
            return Err(self.damaged("a bucket is cut off"));
        }
        let pages = match u64_at(&value, 0) {
            0 => Pages::Inline(value[BUCKET_HEADER..].to_vec()),
            root => Pages::Tree(root),
        };
        Ok(Bucket {
            database: self.database,
            page_size: self.page_size,
            pages,
        })
    }

    fn find(&self, key: &str) -> Result<Option<Element>> {
        let elements = self.elements(Some(key.as_bytes()))?;
        Ok(elements
            .into_iter()
            .find(|element| element.key == key.as_bytes()))
    }

    /// All elements, or at least the one with the given key.
    fn elements(&self, wanted: Option<&[u8]>) -> Result<Vec<Element>> {
        let mut elements = Vec::new();
        let root = match &self.pages {
            Pages::Inline(page) => {
                self.read_leaf(page, &mut elements)?;
                return Ok(elements);
            }
            Pages::Tree(root) => *root,
        };
        // No page is read twice, so all of them are no longer than the file.
        let mut left = self.database.length()?;
        let mut pages = vec![root];
        while let Some(number) = pages.pop() {
            let page = self.database.page(number, self.page_size)?;
            let rest = left.checked_sub(page.len() as u64);
            left = rest.ok_or_else(|| self.damaged("its pages form a circle"))?;
            match u16_at(&page, 8) {
                LEAF => self.read_leaf(&page, &mut elements)?,
                BRANCH => pages.extend(self.children(&page, wanted)?),
                _ => {
                    return Err(
                        self.damaged(format!("page {number} is neither a branch nor a leaf"))
                    );
                }
            }
        }
        Ok(elements)
    }

    fn read_leaf(&self, page: &[u8], elements: &mut Vec<Element>) -> Result<()> {
        for at in self.element_offsets(page)? {
            let key_at = at.saturating_add(u32_at(page, at + 4) as usize);
            let value_at = key_at.saturating_add(u32_at(page, at + 8) as usize);
            let end = value_at.saturating_add(u32_at(page, at + 12) as usize);
            let (Some(key), Some(value)) = (page.get(key_at..value_at), page.get(value_at..end))
            else {
                return Err(self.damaged("an element is cut off"));
            };
            elements.push(Element {
                key: key.to_vec(),
                is_bucket: u32_at(page, at) & BUCKET != 0,
                value: value.to_vec(),
            });
        }
        Ok(())
    }

    /// The pages below a branch: all, or the only one that can contain the given key.
    fn children(&self, page: &[u8], wanted: Option<&[u8]>) -> Result<Vec<u64>> {
        let mut children = Vec::new();
        for at in self.element_offsets(page)? {
            let key_at = at.saturating_add(u32_at(page, at) as usize);
            let key = page.get(key_at..key_at.saturating_add(u32_at(page, at + 4) as usize));
            let key = key.ok_or_else(|| self.damaged("an element is cut off"))?;
            children.push((key, u64_at(page, at + 8)));
        }
        if let Some(wanted) = wanted {
            // The first branch takes smaller keys, too.
            let behind = children.partition_point(|(key, _)| *key <= wanted).max(1);
            children = children.into_iter().take(behind).skip(behind - 1).collect();
        }
        Ok(children
            .into_iter()
            .rev()
            .map(|(_, number)| number)
            .collect())
    }

    fn element_offsets(&self, page: &[u8]) -> Result<impl Iterator<Item = usize> + use<>> {
        let count = match page.len() {
            0..PAGE_HEADER => 0,
            _ => usize::from(u16_at(page, 10)),
        };
        if page.len() < PAGE_HEADER + count * ELEMENT {
            return Err(self.damaged("a page is cut off"));
        }
        Ok((0..count).map(|index| PAGE_HEADER + index * ELEMENT))
    }

    fn damaged(&self, problem: impl Into<String>) -> Error {
        self.database.damaged(problem)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u64_of(bytes, at, 2) as u16
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u64_of(bytes, at, 4) as u32
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64_of(bytes, at, 8)
}

/// Little-endian, like all machines that imgcheck is built for; 0 beyond the end.
fn u64_of(bytes: &[u8], at: usize, length: usize) -> u64 {
    let bytes = bytes.get(at..at + length).unwrap_or_default();
    bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// FNV-1a, 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
