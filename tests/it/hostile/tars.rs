//! Archives that no program writes, header by header.

use std::path::Path;

use imgcheck_base::digest::sha256;
use serde_json::{Value, json};
use tar::{EntryType, Header};
use testkit::{Compression, Item, compress, file, hex, write_archive};

/// A header of GNU tar for a member of this name, to be changed before it is [written](member).
pub fn header(name: &[u8], kind: EntryType) -> Header {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    header.set_mode(0o755);
    header.set_size(0);
    header
}

/// A member: its header with a right checksum, and its content in whole blocks.
pub fn member(mut header: Header, content: &[u8]) -> Vec<u8> {
    header.set_cksum();
    let mut bytes = [header.as_bytes(), content].concat();
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

/// A regular file, or what has content like one.
pub fn plain(name: &[u8], kind: EntryType, content: &[u8]) -> Vec<u8> {
    let mut header = header(name, kind);
    header.set_size(content.len() as u64);
    member(header, content)
}

/// An extended header with these records.
pub fn pax(records: &[(&str, &[u8])]) -> Vec<u8> {
    let record = |(key, value): &(&str, &[u8])| {
        let rest = key.len() + value.len() + 3;
        let digits = |length: usize| length.to_string().len();
        let length = rest + digits(rest + digits(rest));
        [format!("{length} {key}=").as_bytes(), value, b"\n"].concat()
    };
    let records: Vec<u8> = records.iter().flat_map(record).collect();
    plain(b"pax", EntryType::XHeader, &records)
}

/// The members with the mark of the end.
pub fn ended(members: &[Vec<u8>]) -> Vec<u8> {
    [members.concat(), vec![0; 1024]].concat()
}

/// A layer as it is stored, with the digest that its archive has, or claims to have.
pub struct Layer {
    pub stored: Vec<u8>,
    pub diff_id: String,
}

/// A layer of these members.
pub fn layer(members: &[Vec<u8>]) -> Layer {
    whole(ended(members), Compression::Plain)
}

/// A layer that is honest about its digest.
pub fn whole(plain: Vec<u8>, compression: Compression) -> Layer {
    Layer {
        stored: compress(&plain, compression),
        diff_id: sha256(&plain),
    }
}

/// A layer whose digest is never compared.
pub fn endless(stored: Vec<u8>) -> Layer {
    Layer {
        diff_id: sha256(&stored),
        stored,
    }
}

/// The members of a docker archive with these layers.
pub fn docker(layers: &[Layer]) -> Vec<Item> {
    let names: Vec<String> = (0..layers.len())
        .map(|at| format!("{at}/layer.tar"))
        .collect();
    let stored = layers
        .iter()
        .zip(&names)
        .map(|(layer, name)| file(name, &layer.stored));
    let config = config(layers.iter().map(|layer| layer.diff_id.clone()).collect());
    let mut items: Vec<Item> = stored.collect();
    items.extend(described(config, &names));
    items
}

/// An image configuration for layers of these digests.
pub fn config(diff_ids: Vec<String>) -> Value {
    json!({
        "architecture": "amd64", "os": "linux", "config": {},
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
    })
}

/// The documents of a docker archive.
pub fn described(config: Value, layers: &[String]) -> [Item; 2] {
    let config = config.to_string().into_bytes();
    let name = format!("{}.json", hex(&config));
    let manifest = json!([{"Config": name, "RepoTags": ["hostile:1"], "Layers": layers}]);
    [
        file(&name, config),
        file("manifest.json", manifest.to_string()),
    ]
}

/// Writes an image with these layers, and gives the arguments to check it.
pub fn image(scratch: &Path, layers: &[Layer]) -> Vec<String> {
    archive(scratch, &docker(layers))
}

/// Writes an image with a layer of these members, and gives the arguments to check it.
pub fn members(scratch: &Path, members: &[Vec<u8>]) -> Vec<String> {
    image(scratch, &[layer(members)])
}

/// Writes an archive of these members, and gives the arguments to check it.
pub fn archive(scratch: &Path, items: &[Item]) -> Vec<String> {
    write_archive(&scratch.join("image.tar"), items);
    check()
}

/// The arguments to check `image.tar`.
pub fn check() -> Vec<String> {
    arguments(&["check", "image.tar", "--format", "json"])
}

/// Arguments of the program.
pub fn arguments(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
