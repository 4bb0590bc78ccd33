//! Images around fuzzed documents: a text with the files of an image, in which names of digests stand for digests.
//!
//! ```text
//! === manifest.json
//! [{"Config": "config.json", "Layers": ["layer.tar"]}]
//! === config.json
//! …
//! === blob
//! {"layers": [{"digest": "@digest3@", "size": @size3@}]}
//! ```
//!
//! `@digest3@` is the digest of the fourth file, `@hex3@` the same without `sha256:`, and `@size3@` its length; a file can name those
//! behind it. A file that is called `blob` lies where an OCI layout has it.

use imgcheck_archive::archive::BLOCK;
use testkit::sha256;

/// What a file of the text begins with.
const BEGIN: &str = "=== ";
/// A file that is called by its digest.
const BLOB: &str = "blob";

/// One file of an image.
#[derive(Debug, Clone)]
pub struct Document {
    /// Its name in the image.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The files of a text.
pub fn documents(text: &str) -> Vec<Document> {
    let parts = parts_of(text);
    let mut documents: Vec<Document> = Vec::new();
    for (at, (name, content)) in parts.iter().enumerate().rev() {
        let mut content = (*content).to_owned();
        // The last of the files was made first.
        for (behind, document) in (at + 1..parts.len()).rev().zip(&documents) {
            let digest = sha256(&document.bytes);
            let hex = digest.trim_start_matches("sha256:");
            content = content
                .replace(&format!("@digest{behind}@"), &digest)
                .replace(&format!("@hex{behind}@"), hex)
                .replace(
                    &format!("@size{behind}@"),
                    &document.bytes.len().to_string(),
                );
        }
        let bytes = content.into_bytes();
        let name = match *name {
            BLOB => format!("blobs/{}", sha256(&bytes).replace(':', "/")),
            name => name.to_owned(),
        };
        documents.push(Document { name, bytes });
    }
    documents.reverse();
    documents
}

/// Names and contents. So few that their digests cost next to nothing.
fn parts_of(text: &str) -> Vec<(&str, &str)> {
    let parts = text.strip_prefix(BEGIN).unwrap_or(text).split("\n=== ");
    parts
        .take(12)
        .map(|part| part.split_once('\n').unwrap_or((part, "")))
        .collect()
}

/// The files as an archive.
pub fn archive(documents: &[Document]) -> Vec<u8> {
    let mut archive = Vec::new();
    for document in documents {
        let mut header = [0_u8; BLOCK as usize];
        let name = document.name.as_bytes();
        let name = &name[..name.len().min(100)];
        header[..name.len()].copy_from_slice(name);
        header[100..108].copy_from_slice(b"0000644\0");
        header[124..136].copy_from_slice(format!("{:011o}\0", document.bytes.len()).as_bytes());
        header[156] = b'0';
        archive.extend_from_slice(&header);
        archive.extend_from_slice(&document.bytes);
        archive.resize(archive.len().next_multiple_of(BLOCK as usize), 0);
    }
    archive.resize(archive.len() + 2 * BLOCK as usize, 0);
    testkit::repair_checksums(&archive)
}
