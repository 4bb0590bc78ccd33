//! A loader model for trying expressions.

use super::super::schema;
use crate::process::facts::{
    CacheFacts, DriverLibrary, ExecutableStack, Import, LoaderFacts, Missing, ObjectFacts, Place,
    ProcessFacts, Shadowed, Symbol, UndefinedSymbols, UnmetVersion,
};

/// One of everything.
pub fn sample() -> LoaderFacts {
    let text = || "1.2".to_owned();
    let readings = schema::DETAILS
        .iter()
        .map(|fact| ((*fact).to_owned(), text()));
    let object = |library: &str| ObjectFacts {
        path: format!("/opt/lib{library}.so.1"),
        layer: Some(0),
        soname: format!("lib{library}.so.1"),
        library: library.to_owned(),
        part: "graph".to_owned(),
        readings: readings.clone().collect(),
        cuda: "12".to_owned(),
        ..ObjectFacts::default()
    };
    let place = || Place {
        process: "python".to_owned(),
        main: true,
        package: "torch".to_owned(),
        when: "import".to_owned(),
        first: true,
        message: "libx.so.1: cannot open shared object file".to_owned(),
        ..Place::default()
    };
    LoaderFacts {
        objects: 1,
        programs_left_out: 0,
        missing: vec![Missing {
            place: place(),
            layer: Some(0),
            alternatives: vec![text()],
            wrong_machine: vec![text()],
            elsewhere: vec![text()],
            searched: vec![text()],
            ..Missing::default()
        }],
        unmet_versions: vec![UnmetVersion {
            place: place(),
            object: object("torch-cuda"),
            provider: object("cuda-runtime"),
            version: "LIBX_1.2".to_owned(),
            newest: "LIBX_1.1".to_owned(),
        }],
        undefined_symbols: vec![UndefinedSymbols {
            place: place(),
            object: object("torch-cuda"),
            called: false,
            count: 1,
            symbols: vec![Symbol::default()],
            provider: Some(object("cuda-runtime")),
        }],
        shadowed: vec![Shadowed {
            loaded: object("cudnn"),
            shadowed: object("cudnn"),
            ..Shadowed::default()
        }],
        executable_stacks: vec![ExecutableStack {
            place: place(),
            object: object("cudnn"),
            glibc: "2.41".to_owned(),
        }],
        processes: vec![ProcessFacts {
            name: "python".to_owned(),
            main: true,
            imports: vec![Import::default()],
            driver_libraries: vec![DriverLibrary {
                layer: Some(0),
                ..DriverLibrary::default()
            }],
            objects: schema::LIBRARIES
                .iter()
                .map(|library| object(library))
                .collect(),
            ..ProcessFacts::default()
        }],
        cache: Some(CacheFacts {
            layer: Some(0),
            unlisted: vec![text()],
            dangling: vec![text()],
            dropped: vec![text()],
            ..CacheFacts::default()
        }),
    }
}
