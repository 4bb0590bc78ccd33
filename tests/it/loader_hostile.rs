//! The loader model of images that are made to take forever or all memory, or to forge what is printed. What is asserted is the
//! outcome; that each test ends is the rest of it.

use imgcheck::Overlay;
use imgcheck_base::error::{Error, ErrorCode};
use imgcheck_elf::ElfFacts;
use imgcheck_model::process::LoaderFacts;
use imgcheck_model::process::tree::Tree;
use imgcheck_report::tree::{TreeQuery, dot, text};
use serde_json::json;

use crate::sample::{Image, LOADER, elf, program};

fn needing(needed: &[String]) -> ElfFacts {
    ElfFacts {
        needed: needed.to_vec(),
        ..elf(&[])
    }
}

fn names(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| format!("lib{number}.so")).collect()
}

impl Image {
    /// A loader and a GPU library.
    fn with_loader() -> Self {
        Image::new()
            .elf(LOADER, elf(&[]))
            .elf("lib64/libcudart.so.12", elf(&[]))
    }

    /// A program that uses a GPU.
    fn program(self, path: &str, needed: &[String]) -> Self {
        let mut program = program(&[]);
        program.needed = needed.to_vec();
        program.needed.push("libcudart.so.12".to_owned());
        self.elf(path, program)
    }

    fn model(&self) -> (LoaderFacts, Tree) {
        self.try_model().unwrap()
    }

    fn try_model(&self) -> Result<(LoaderFacts, Tree), Error> {
        let derived = self.derive(&Overlay::default())?;
        Ok((derived.loader, derived.tree))
    }
}

fn question(library: Option<&str>) -> TreeQuery<'_> {
    TreeQuery {
        image: "image",
        launch: None,
        library,
    }
}

/// Each library needs the next one.
fn chain(count: usize) -> Image {
    let sample = Image::with_loader().program("usr/bin/server", &names(0..1));
    (0..count).fold(sample, |sample, number| {
        let next = names(number + 1..(number + 2).min(count));
        sample.elf(&format!("lib64/lib{number}.so"), needing(&next))
    })
}

#[test]
fn a_chain_of_thousands_of_libraries_is_told_and_drawn() {
    let (facts, tree) = chain(19_000).model();
    assert_eq!(facts.objects, 19_003);
    assert!(facts.missing.is_empty());
    assert!(text(question(None), &tree).unwrap().contains("lib18999.so"));
    assert!(text(question(Some("lib")), &tree).is_some());
    assert!(dot(question(None), &tree).contains("lib18999.so"));
    assert!(dot(question(Some("lib")), &tree).contains("lib18999.so"));
    let error = chain(21_000).try_model().unwrap_err();
    assert_eq!(error.code(), ErrorCode::Limit);
    assert!(error.to_string().contains("loader-objects"), "{error}");
}

#[test]
fn a_star_of_libraries_is_drawn() {
    let all = names(0..15_000);
    let sample = Image::with_loader().program("usr/bin/server", &all);
    let sample = all.iter().fold(sample, |sample, name| {
        // All have the same SONAME, and copies of it lie about.
        let mut library = elf(&[]);
        library.soname = Some("libsame.so".to_owned());
        sample.elf(&format!("lib64/{name}"), library)
    });
    let (facts, tree) = sample.model();
    assert_eq!(facts.objects, 15_003);
    let drawn = dot(question(None), &tree);
    assert_eq!(drawn.matches(" -> ").count(), 15_001);
    assert!(text(question(Some("lib")), &tree).is_some());
}

#[test]
fn programs_that_are_left_out_are_counted() {
    let programs = |count| {
        let program = |sample: Image, number| sample.program(&format!("usr/bin/p{number}"), &[]);
        (0..count).fold(Image::with_loader(), program).model()
    };
    let (facts, tree) = programs(16);
    assert_eq!((facts.processes.len(), facts.programs_left_out), (16, 0));
    assert!(
        !text(question(None), &tree)
            .unwrap()
            .contains("linked to GPU libraries")
    );
    let (facts, tree) = programs(19);
    assert_eq!((facts.processes.len(), facts.programs_left_out), (16, 3));
    let told = text(question(None), &tree).unwrap();
    assert!(
        told.contains("3 more programs linked to GPU libraries"),
        "{told}"
    );
}

#[test]
fn missing_libraries_by_the_thousand() {
    let (facts, _) = Image::with_loader()
        .program("usr/bin/server", &names(0..100_000))
        .model();
    assert_eq!(facts.missing.len(), 1000);
}

#[test]
fn thousands_of_programs() {
    let sample = (0..10_000).fold(Image::with_loader(), |sample, number| {
        sample.program(&format!("usr/bin/server{number}"), &[])
    });
    let (facts, _) = sample.model();
    assert_eq!(facts.processes.len(), 16);
}

#[test]
fn names_forge_nothing() {
    const NAME: &str = "lib\u{1b}[2J\u{202e}\n└─ \"ok\"\\.so";
    let (facts, tree) = Image::with_loader()
        .program(
            "usr/bin/server",
            &[NAME.to_owned(), "lib\0gone.so".to_owned()],
        )
        .elf(&format!("lib64/{NAME}"), elf(&["libevil\n.so"]))
        .model();
    assert_eq!(facts.missing.len(), 2);
    let json = serde_json::to_string(&tree).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&json).unwrap()["processes"][0]["main"],
        false
    );
    for shown in [
        text(question(None), &tree).unwrap(),
        text(question(Some("lib")), &tree).unwrap(),
        dot(question(None), &tree),
    ] {
        let plain = anstream::adapter::strip_str(&shown).to_string();
        assert!(!plain.contains(['\u{1b}', '\u{202e}', '\0']), "{plain}");
        assert!(
            !plain.lines().any(|line| line.starts_with("└─ \"ok\"")),
            "{plain}"
        );
    }
}

#[test]
fn a_script_that_starts_itself() {
    let script =
        "#!/entry.sh\nexport LD_LIBRARY_PATH=/opt:$LD_LIBRARY_PATH\n. /entry.sh\nexec /entry.sh\n";
    let (facts, _) = Image::with_loader()
        .program("usr/bin/server", &[])
        .text("entry.sh", script)
        .config(json!({"Entrypoint": ["/entry.sh", "/entry.sh"]}))
        .model();
    // Linux gives up: the script is its own interpreter.
    assert_eq!(facts.processes[0].library_path_from, "");
    let many = "LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$LD_LIBRARY_PATH\n".repeat(64);
    Image::with_loader()
        .program("usr/bin/server", &[])
        .text("entry.sh", &many)
        .config(json!({"Entrypoint": ["/entry.sh"], "Env": ["LD_LIBRARY_PATH=/opt"]}))
        .model();
}

/// Python with torch in an environment, and other packages in great number.
fn environment(sample: Image, prefix: &str, packages: usize) -> Image {
    let site = format!("{prefix}/lib/python3.11/site-packages");
    let sample = sample
        .elf(&format!("{prefix}/bin/python3.11"), program(&[]))
        .text(
            &format!("{site}/torch-2.8.0.dist-info/METADATA"),
            "Name: torch\nVersion: 2.8.0\n\n",
        )
        .elf(
            &format!("{site}/torch/lib/libtorch_global_deps.so"),
            elf(&[]),
        )
        .elf(
            &format!("{site}/torch/_C.cpython-311-x86_64-linux-gnu.so"),
            elf(&[]),
        );
    (0..packages).fold(sample, |sample, number| {
        sample.text(
            &format!("{site}/p{number}-1.0.dist-info/METADATA"),
            &format!("Name: p{number}\nVersion: 1.0\n\n"),
        )
    })
}

#[test]
fn thousands_of_packages_and_environments() {
    let (facts, _) = environment(Image::with_loader(), "usr/local", 10_000).model();
    assert_eq!(facts.processes.len(), 1);
    let sample = (0..1_000).fold(Image::with_loader(), |sample, number| {
        environment(sample, &format!("opt/venv{number}"), 1)
    });
    let (facts, tree) = sample.model();
    assert_eq!(facts.processes.len(), tree.processes.len());
}
