//! The loader model of images that are made to take forever or all memory, or to forge what is printed. What is asserted is the
//! outcome; that each test ends is the rest of it.

use imgcheck::internals::elf::ElfFacts;
use imgcheck::internals::error::{Error, ErrorCode};
use imgcheck::internals::image::RootFilesystem;
use imgcheck::internals::launch::{Launch, Overlay};
use imgcheck::internals::layer::{Content, Entry, EntryKind, LayerFacts};
use imgcheck::internals::loader::Bounds;
use imgcheck::internals::process::tree::Tree;
use imgcheck::internals::process::{Knowledge, LoaderFacts, Programs};
use imgcheck::internals::report::tree::{TreeQuery, dot, text};
use imgcheck::internals::stack::{self, Catalogue};
use oci_spec::image::ImageConfiguration;

const LOADER: &str = "lib64/ld-linux-x86-64.so.2";

#[derive(Default)]
struct Sample(LayerFacts);

fn elf(needed: &[String]) -> ElfFacts {
    ElfFacts {
        class: 64,
        machine: 62,
        object_type: 3,
        needed: needed.to_vec(),
        ..ElfFacts::default()
    }
}

fn names(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| format!("lib{number}.so")).collect()
}

impl Sample {
    fn entry(mut self, path: &str, content: Content) -> Self {
        self.0.entries.push(Entry {
            path: path.to_owned(),
            kind: EntryKind::File(content),
            size: 4096,
            mode: 0o755,
        });
        self
    }

    fn file(self, path: &str, elf: ElfFacts) -> Self {
        self.entry(path, Content::Elf(Box::new(elf)))
    }

    fn text(self, path: &str, text: &str) -> Self {
        self.entry(path, Content::Text(text.to_owned()))
    }

    /// A program that uses a GPU, and its loader.
    fn program(self, path: &str, needed: &[String]) -> Self {
        let mut program = elf(needed);
        program.interpreter = Some(format!("/{LOADER}"));
        program.needed.push("libcudart.so.12".to_owned());
        self.file(path, program)
    }

    fn new() -> Self {
        Sample::default()
            .file(LOADER, elf(&[]))
            .file("lib64/libcudart.so.12", elf(&[]))
    }

    fn model(&self, config: &str) -> (LoaderFacts, Tree) {
        self.try_model(config).unwrap()
    }

    fn try_model(&self, config: &str) -> Result<(LoaderFacts, Tree), Error> {
        let root = RootFilesystem::merge([&self.0]);
        let config = format!(
            r#"{{"architecture": "amd64", "os": "linux", "config": {config}, "rootfs": {{"type": "layers", "diff_ids": []}}}}"#
        );
        let config = ImageConfiguration::from_reader(config.as_bytes()).unwrap();
        let launch = Launch::of(&root, &config, &Overlay::default());
        let stack = stack::read(
            &root,
            &config,
            &launch,
            &Catalogue::builtin().unwrap(),
            &Bounds::default(),
        )
        .unwrap();
        let knowledge = Knowledge::builtin().unwrap();
        let programs = Programs::of(&root, &launch, &stack, &knowledge, &Bounds::default());
        let model = programs.model()?;
        Ok((model.facts(), model.tree()))
    }
}

fn question(library: Option<&str>) -> TreeQuery<'_> {
    TreeQuery {
        image: "image",
        library,
    }
}

/// Each library needs the next one.
fn chain(count: usize) -> Sample {
    let sample = Sample::new().program("usr/bin/server", &names(0..1));
    (0..count).fold(sample, |sample, number| {
        let next = names(number + 1..(number + 2).min(count));
        sample.file(&format!("lib64/lib{number}.so"), elf(&next))
    })
}

#[test]
fn a_chain_of_thousands_of_libraries_is_told_and_drawn() {
    let (facts, tree) = chain(19_000).model("{}");
    assert_eq!(facts.objects, 19_003);
    assert!(facts.missing.is_empty());
    assert!(text(question(None), &tree).unwrap().contains("lib18999.so"));
    assert!(text(question(Some("lib")), &tree).is_some());
    assert!(dot(question(None), &tree).contains("lib18999.so"));
    assert!(dot(question(Some("lib")), &tree).contains("lib18999.so"));
    let error = chain(21_000).try_model("{}").unwrap_err();
    assert_eq!(error.code(), ErrorCode::Limit);
    assert!(error.to_string().contains("loader-objects"), "{error}");
}

#[test]
fn a_star_of_libraries_is_drawn() {
    let all = names(0..15_000);
    let sample = Sample::new().program("usr/bin/server", &all);
    let sample = all.iter().fold(sample, |sample, name| {
        // All have the same SONAME, and copies of it lie about.
        let mut library = elf(&[]);
        library.soname = Some("libsame.so".to_owned());
        sample.file(&format!("lib64/{name}"), library)
    });
    let (facts, tree) = sample.model("{}");
    assert_eq!(facts.objects, 15_003);
    let drawn = dot(question(None), &tree);
    assert_eq!(drawn.matches(" -> ").count(), 15_001);
    assert!(text(question(Some("lib")), &tree).is_some());
}

#[test]
fn programs_that_are_left_out_are_counted() {
    let programs = |count| {
        let program = |sample: Sample, number| sample.program(&format!("usr/bin/p{number}"), &[]);
        (0..count).fold(Sample::new(), program).model("{}")
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
    let (facts, _) = Sample::new()
        .program("usr/bin/server", &names(0..100_000))
        .model("{}");
    assert_eq!(facts.missing.len(), 1000);
}

#[test]
fn thousands_of_programs() {
    let sample = (0..10_000).fold(Sample::new(), |sample, number| {
        sample.program(&format!("usr/bin/server{number}"), &[])
    });
    let (facts, _) = sample.model("{}");
    assert_eq!(facts.processes.len(), 16);
}

#[test]
fn names_forge_nothing() {
    const NAME: &str = "lib\u{1b}[2J\u{202e}\n└─ \"ok\"\\.so";
    let (facts, tree) = Sample::new()
        .program(
            "usr/bin/server",
            &[NAME.to_owned(), "lib\0gone.so".to_owned()],
        )
        .file(&format!("lib64/{NAME}"), elf(&["libevil\n.so".to_owned()]))
        .model("{}");
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
    let (facts, _) = Sample::new()
        .program("usr/bin/server", &[])
        .text("entry.sh", script)
        .model(r#"{"Entrypoint": ["/entry.sh", "/entry.sh"]}"#);
    assert_eq!(facts.processes[0].library_path_from, "/entry.sh");
    let many = "LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$LD_LIBRARY_PATH\n".repeat(64);
    Sample::new()
        .program("usr/bin/server", &[])
        .text("entry.sh", &many)
        .model(r#"{"Entrypoint": ["/entry.sh"], "Env": ["LD_LIBRARY_PATH=/opt"]}"#);
}

/// Python with torch in an environment, and other packages in great number.
fn environment(sample: Sample, prefix: &str, packages: usize) -> Sample {
    let site = format!("{prefix}/lib/python3.11/site-packages");
    let mut python = elf(&[]);
    python.interpreter = Some(format!("/{LOADER}"));
    let sample = sample
        .file(&format!("{prefix}/bin/python3.11"), python)
        .text(
            &format!("{site}/torch-2.8.0.dist-info/METADATA"),
            "Name: torch\nVersion: 2.8.0\n\n",
        )
        .file(
            &format!("{site}/torch/lib/libtorch_global_deps.so"),
            elf(&[]),
        )
        .file(
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
    let (facts, _) = environment(Sample::new(), "usr/local", 10_000).model("{}");
    assert_eq!(facts.processes.len(), 1);
    let sample = (0..1_000).fold(Sample::new(), |sample, number| {
        environment(sample, &format!("opt/venv{number}"), 1)
    });
    let (facts, tree) = sample.model("{}");
    assert_eq!(facts.processes.len(), tree.processes.len());
}
