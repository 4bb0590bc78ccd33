//! Libraries that the recipes identify, with machine code, data and strings of any kind where versions are looked for.
//!
//! The input is how the file streams by ([`imgcheck_fuzz::streamed`]), a byte for the machine, and records: a kind, a name behind
//! its length, bytes behind theirs.

use imgcheck_fuzz::streamed::{Way, compare};
use testkit::elf::{SharedObject, Symbol, SymbolKind};

const MACHINES: [u16; 2] = [62, 183];

pub fn fuzz(bytes: &[u8]) {
    let Some((way, [machine, records @ ..])) = Way::read(bytes) else {
        return;
    };
    let mut library = SharedObject {
        machine: MACHINES[usize::from(*machine) % MACHINES.len()],
        hole: way.hole(),
        ..SharedObject::default()
    };
    let mut rest = records;
    while let Some((kind, name, content, behind)) = record(rest) {
        add(&mut library, kind, name, content);
        rest = behind;
    }
    compare(library.bytes(), way);
}

/// The next record: its kind, name and bytes, and what follows. One that is cut has what is there.
fn record(bytes: &[u8]) -> Option<(u8, String, Vec<u8>, &[u8])> {
    let (head, rest) = bytes.split_at_checked(4)?;
    let length = usize::from(u16::from_le_bytes([head[2], head[3]]));
    let (name, rest) = rest.split_at(usize::from(head[1]).min(rest.len()));
    let (content, rest) = rest.split_at(length.min(rest.len()));
    // A name ends at the first zero, as it does in the file.
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    Some((
        head[0],
        String::from_utf8_lossy(name).into_owned(),
        content.to_vec(),
        rest,
    ))
}

fn add(library: &mut SharedObject, kind: u8, name: String, content: Vec<u8>) {
    let mut symbol = |name, kind| library.symbols.push(Symbol { name, kind });
    match kind % 8 {
        0 => symbol(name, SymbolKind::Function(content)),
        1 => symbol(name, SymbolKind::Object(content)),
        2 => symbol(name, SymbolKind::Import),
        3 => symbol(name, SymbolKind::LazyImport),
        4 => library.data.extend(content),
        5 => library.sections.push((name, content)),
        6 => library.soname = Some(name),
        _ => library.needed.push(name),
    }
}
