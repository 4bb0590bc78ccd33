//! Images with many processes: work that adds up although each part of it is small.

use super::attack::{Attack, Outcome};
use super::elf::cudart;
use super::forge::{known, layout};
use super::loader::distribution;
use testkit::elf::{SharedObject, Symbol, SymbolKind};
use testkit::{Item, file, symlink};

/// Attacks by what is done again for every process.
pub fn attacks() -> Vec<Attack> {
    vec![
        Attack {
            name: "environments-300-libraries-300-symbols-300",
            holds: "300 virtual environments that share one PyTorch, whose 300 libraries each call 300 undefined functions",
            outcome: Outcome::Refused("the limit loader-symbols"),
            make: |scratch| layout(scratch, &environments(300, 300, 300)),
        },
        Attack {
            name: "environments-200-libraries-2000",
            holds: "200 virtual environments that share one PyTorch with 2,000 libraries",
            outcome: Outcome::Refused("the limit loader-objects"),
            make: |scratch| layout(scratch, &environments(200, 2_000, 0)),
        },
        Attack {
            name: "environments-300-versions-300",
            holds: "300 virtual environments that share one PyTorch, whose 300 libraries each need 300 versions that no file defines",
            outcome: Outcome::Refused("the limit loader-faults"),
            make: |scratch| layout(scratch, &lacking_versions(300, 300, 300)),
        },
    ]
}

/// Virtual environments that share one PyTorch, which needs this many libraries, each with calls of undefined functions.
pub fn environments(count: usize, libraries: usize, symbols: usize) -> Vec<Item> {
    let calls = (0..symbols).map(|it| Symbol {
        name: format!("f{it}"),
        kind: SymbolKind::LazyImport,
    });
    let library = SharedObject {
        symbols: calls.collect(),
        ..shared_object()
    };
    with_libraries(count, libraries, &library, Vec::new())
}

/// The same with libraries that need versions of a library that defines another one.
fn lacking_versions(count: usize, libraries: usize, versions: usize) -> Vec<Item> {
    let symbol = |name: String, kind| Symbol { name, kind };
    let provider = SharedObject {
        soname: Some("libv.so".to_owned()),
        symbols: vec![symbol(
            "f@@V".to_owned(),
            SymbolKind::Function(b"\xc3".to_vec()),
        )],
        ..shared_object()
    };
    let calls = (0..versions).map(|it| symbol(format!("f@libv.so:V{it}"), SymbolKind::LazyImport));
    let library = SharedObject {
        needed: vec!["libv.so".to_owned()],
        symbols: calls.collect(),
        ..shared_object()
    };
    let provider = file("usr/lib64/libv.so", provider.bytes());
    with_libraries(count, libraries, &library, vec![provider])
}

fn shared_object() -> SharedObject {
    SharedObject {
        machine: 62,
        ..SharedObject::default()
    }
}

fn with_libraries(
    count: usize,
    libraries: usize,
    library: &SharedObject,
    mut items: Vec<Item>,
) -> Vec<Item> {
    let names: Vec<String> = (0..libraries).map(|it| format!("libx{it}.so")).collect();
    let module = SharedObject {
        needed: names.clone(),
        ..shared_object()
    };
    let bytes = library.bytes();
    items.extend(
        names
            .iter()
            .map(|name| file(&format!("usr/lib64/{name}"), &bytes)),
    );
    let site = "usr/lib/python3.11/site-packages/torch";
    let module_name = "_C.cpython-311-x86_64-linux-gnu.so";
    items.push(file(&format!("{site}/{module_name}"), module.bytes()));
    items.push(file("usr/lib64/libcudart.so.12", cudart().build()));
    items.push(file(&format!("{site}/__init__.py"), ""));
    items.push(distribution("torch", "2.8.0", ""));
    items.push(file(
        "lib64/ld-linux-x86-64.so.2",
        known(&["_dl_x"], b"\xc3").build(),
    ));
    let python = SharedObject {
        interpreter: Some("/lib64/ld-linux-x86-64.so.2".to_owned()),
        symbols: ["Py_GetVersion", "Py_BytesMain"]
            .map(|name| Symbol {
                name: name.to_owned(),
                kind: SymbolKind::Function(b"\xc3".to_vec()),
            })
            .into(),
        ..shared_object()
    };
    items.push(file("usr/bin/python3.11", python.bytes()));
    for it in 0..count {
        let configuration = "home = /usr/bin\nversion = 3.11.1\n";
        items.push(file(&format!("v/{it}/pyvenv.cfg"), configuration));
        let links = [("bin/python3", "/usr/bin/python3.11"), ("lib", "/usr/lib")];
        items.extend(links.map(|(name, target)| symlink(&format!("v/{it}/{name}"), target)));
    }
    items
}
