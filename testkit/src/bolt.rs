//! bbolt databases, as containerd writes them (bbolt, `internal/common`): two meta pages, a free list, trees of pages.

use std::collections::BTreeMap;

const PAGE: usize = 4096;
const HEADER: usize = 16;
const ELEMENT: usize = 16;
/// Elements of a page; containerd's have as many as fit.
const FAN_OUT: usize = 8;
/// A bucket with at most so many elements is in the value of its own element, if it has no bucket itself.
const INLINE: usize = 4;

/// Keys with values and buckets.
#[derive(Debug, Default, Clone)]
pub struct Bucket(BTreeMap<String, Entry>);

#[derive(Debug, Clone)]
enum Entry {
    Value(Vec<u8>),
    Bucket(Bucket),
}

impl Bucket {
    /// Sets a value below a path of buckets, which are made.
    pub fn set(&mut self, path: &[&str], value: impl Into<Vec<u8>>) {
        let (first, rest) = path.split_first().expect("a path has a key");
        if rest.is_empty() {
            self.0
                .insert((*first).to_owned(), Entry::Value(value.into()));
            return;
        }
        let below = self.0.entry((*first).to_owned());
        match below.or_insert_with(|| Entry::Bucket(Bucket::default())) {
            Entry::Bucket(bucket) => bucket.set(rest, value),
            Entry::Value(_) => panic!("{first} is a value"),
        }
    }

    /// The database with this outermost bucket.
    pub fn database(&self) -> Vec<u8> {
        let mut pages = vec![Vec::new(), Vec::new(), page(2, 0x10, &[])];
        let root = self.write(&mut pages);
        for (number, transaction) in [(0, 6_u64), (1, 7)] {
            let mut meta = Vec::new();
            meta.extend(0xed0c_daed_u32.to_le_bytes());
            meta.extend(2_u32.to_le_bytes());
            meta.extend((PAGE as u32).to_le_bytes());
            meta.extend(0_u32.to_le_bytes());
            for field in [root, 0, 2, pages.len() as u64, transaction] {
                meta.extend(field.to_le_bytes());
            }
            let sum = meta.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
            });
            meta.extend(sum.to_le_bytes());
            pages[number] = [header(number as u64, 4, 0, 0), meta].concat();
            pages[number].resize(PAGE, 0);
        }
        pages.concat()
    }

    /// The number of the first page.
    fn write(&self, pages: &mut Vec<Vec<u8>>) -> u64 {
        let entries: Vec<(&String, &Entry)> = self.0.iter().collect();
        let mut level = Vec::new();
        for chunk in entries.chunks(FAN_OUT) {
            let elements: Vec<(u32, Vec<u8>, Vec<u8>)> = chunk
                .iter()
                .map(|(key, entry)| element(key, entry, pages))
                .collect();
            let number = pages.len() as u64;
            pages.push(leaf(number, &elements));
            level.push((chunk[0].0.clone().into_bytes(), number));
        }
        if level.is_empty() {
            level.push((Vec::new(), pages.len() as u64));
            pages.push(leaf(pages.len() as u64, &[]));
        }
        while level.len() > 1 {
            let mut above = Vec::new();
            for chunk in level.chunks(FAN_OUT) {
                let number = pages.len() as u64;
                pages.push(branch(number, chunk));
                above.push((chunk[0].0.clone(), number));
            }
            level = above;
        }
        level[0].1
    }

    fn is_inline(&self) -> bool {
        self.0.len() <= INLINE
            && self
                .0
                .values()
                .all(|entry| matches!(entry, Entry::Value(_)))
    }
}

fn element(key: &str, entry: &Entry, pages: &mut Vec<Vec<u8>>) -> (u32, Vec<u8>, Vec<u8>) {
    let key = key.as_bytes().to_vec();
    match entry {
        Entry::Value(value) => (0, key, value.clone()),
        Entry::Bucket(bucket) if bucket.is_inline() => {
            let elements: Vec<_> = bucket
                .0
                .iter()
                .map(|(key, entry)| element(key, entry, pages))
                .collect();
            (1, key, [vec![0; 16], leaf_content(0, &elements)].concat())
        }
        Entry::Bucket(bucket) => {
            let root = bucket.write(pages);
            (1, key, [root.to_le_bytes(), [0; 8]].concat())
        }
    }
}

fn leaf(number: u64, elements: &[(u32, Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut content = leaf_content(number, elements);
    assert!(content.len() <= PAGE, "the elements of a page are too long");
    content.resize(PAGE, 0);
    content
}

fn leaf_content(number: u64, elements: &[(u32, Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut content = header(number, 2, elements.len(), 0);
    let mut data = Vec::new();
    for (index, (flags, key, value)) in elements.iter().enumerate() {
        let position = (elements.len() - index) * ELEMENT + data.len();
        for field in [
            *flags,
            position as u32,
            key.len() as u32,
            value.len() as u32,
        ] {
            content.extend(field.to_le_bytes());
        }
        data.extend(key);
        data.extend(value);
    }
    [content, data].concat()
}

fn branch(number: u64, children: &[(Vec<u8>, u64)]) -> Vec<u8> {
    let mut content = header(number, 1, children.len(), 0);
    let mut data = Vec::new();
    for (index, (key, child)) in children.iter().enumerate() {
        let position = (children.len() - index) * ELEMENT + data.len();
        content.extend((position as u32).to_le_bytes());
        content.extend((key.len() as u32).to_le_bytes());
        content.extend(child.to_le_bytes());
        data.extend(key);
    }
    let mut content = [content, data].concat();
    content.resize(PAGE, 0);
    content
}

fn page(number: u64, flags: u16, content: &[u8]) -> Vec<u8> {
    let mut page = [header(number, flags, 0, 0), content.to_vec()].concat();
    page.resize(PAGE, 0);
    page
}

fn header(number: u64, flags: u16, count: usize, overflow: u32) -> Vec<u8> {
    let mut header = number.to_le_bytes().to_vec();
    header.extend(flags.to_le_bytes());
    header.extend((count as u16).to_le_bytes());
    header.extend(overflow.to_le_bytes());
    assert_eq!(header.len(), HEADER);
    header
}
