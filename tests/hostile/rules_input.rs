//! Texts that are read: the loader's configuration, package metadata, and what users write: rules, configuration, Dockerfiles.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::attack::{Attack, Outcome};
use super::common::{Item, file};
use super::elf::version;
use super::forge::{CUDART, DT_NEEDED, Elf, PT_INTERP, archive, known, words};

/// Attacks by texts.
pub fn attacks() -> Vec<Attack> {
    [loader(), packages(), yaml(), rules(), builds()]
        .into_iter()
        .flatten()
        .collect()
}

/// The model of the loader goes on without the index.
const CORRUPT: Outcome = Outcome::Read("read: the index counts as corrupt", |report| {
    let cache = report["images"][0]["loader"]["cache"].to_string();
    assert!(cache.contains("corrupt"), "{cache}");
});
/// A file of the user is refused.
const REFUSED: Outcome = Outcome::Misuse("error");

fn loader() -> Vec<Attack> {
    vec![
        Attack {
            name: "ld-cache-2-32-entries",
            holds: "an `ld.so.cache` of 2³²-1 entries and 100 bytes",
            outcome: CORRUPT,
            make: |scratch| process(scratch, "etc/ld.so.cache", &cache(u32::MAX, &[0; 52])),
        },
        Attack {
            name: "ld-cache-strings-outside",
            holds: "an `ld.so.cache` whose names lie behind its end",
            outcome: CORRUPT,
            make: |scratch| {
                let entry = words(&[0x303, u32::MAX, u32::MAX - 1, 0, 0, 0]);
                process(scratch, "etc/ld.so.cache", &cache(1, &entry))
            },
        },
        Attack {
            name: "ld-cache-one-name",
            holds: "an `ld.so.cache` of 500,000 entries, all the same name of 4 KB",
            outcome: CORRUPT,
            make: |scratch| {
                let end = 48 + 24 * 500_000;
                let mut content = words(&[0x303, end, end, 0, 0, 0]).repeat(500_000);
                content.extend(vec![b'x'; 4000]);
                content.push(0);
                process(scratch, "etc/ld.so.cache", &cache(500_000, &content))
            },
        },
        Attack {
            name: "ld-cache-extensions",
            holds: "an `ld.so.cache` of a million extension sections, each of which is all of it",
            outcome: Outcome::Read("read: the index has no library", |report| {
                assert_eq!(version(report, "cuda-runtime"), Some("12.8"));
            }),
            make: |scratch| {
                let count = 1_000_000;
                let length = 56 + 16 * count;
                let mut content = words(&[0xeaa4_2174, count]);
                content.extend(words(&[1, 0, 0, length]).repeat(count as usize));
                let mut cache = cache(0, &content);
                cache[32..36].copy_from_slice(&48_u32.to_le_bytes());
                process(scratch, "etc/ld.so.cache", &cache)
            },
        },
        Attack {
            name: "ld-so-conf-loop",
            holds: "an `ld.so.conf` that includes itself, `/*/*/*/*/*/*` 100,000 times, and 100,000 files beside it",
            outcome: Outcome::Read(
                "read: what is included is looked at up to a number of names",
                |report| {
                    assert_eq!(version(report, "cuda-runtime"), Some("12.8"));
                },
            ),
            make: |scratch| {
                let text =
                    "include ld.so.conf ld.so.conf.d/*.conf /*/*/*/*/*/* /etc/../etc/ld.so.conf\n";
                let mut items = process_items("etc/ld.so.conf", text.repeat(100_000).as_bytes());
                items.extend((0..5_000).map(|it| {
                    file(
                        &format!("etc/ld.so.conf.d/{it}.conf"),
                        format!("/usr/lib/{it}\ninclude *.conf\n"),
                    )
                }));
                archive(scratch, &items)
            },
        },
    ]
}

fn packages() -> Vec<Attack> {
    vec![
        Attack {
            name: "python-distributions-50000",
            holds: "50,000 `dist-info` directories in one environment, all of PyTorch",
            outcome: Outcome::Read("read: the copies are told", |report| {
                assert!(report.to_string().contains("torch"), "{report}");
            }),
            make: |scratch| {
                let site = "usr/lib/python3.11/site-packages";
                let mut items = python();
                items.extend((0..50_000).map(|it| {
                    let metadata = format!("Metadata-Version: 2.1\nName: torch\nVersion: 1.{it}\nRequires-Dist: torch==9\n\n");
                    file(&format!("{site}/torch-1.{it}.dist-info/METADATA"), metadata)
                }));
                archive(scratch, &items)
            },
        },
        Attack {
            name: "python-requirements-200000",
            holds: "a distribution with 200,000 requirements on 2,000 copies of PyTorch, none of them met",
            outcome: Outcome::Refused("rule-items"),
            make: |scratch| {
                let site = "usr/lib/python3.11/site-packages";
                let mut items = python();
                items.extend((0..2_000).map(|it| {
                    let metadata =
                        format!("Metadata-Version: 2.1\nName: torch\nVersion: 1.{it}\n\n");
                    file(&format!("{site}/torch-1.{it}.dist-info/METADATA"), metadata)
                }));
                let mut metadata = "Metadata-Version: 2.1\nName: x\nVersion: 1\n".to_owned();
                (0..200_000)
                    .for_each(|it| writeln!(metadata, "Requires-Dist: torch=={it}.9").unwrap());
                items.push(file(&format!("{site}/x-1.dist-info/METADATA"), metadata));
                archive(scratch, &items)
            },
        },
        Attack {
            name: "json-100000-deep",
            holds: "JSON of conda and of a CUDA toolkit that is 100,000 lists deep",
            outcome: Outcome::Read("read: the texts tell nothing", |report| {
                assert!(version(report, "torch").is_none());
            }),
            make: |scratch| {
                let deep = format!("{{\"version\": {}", "[".repeat(100_000));
                let names = [
                    "opt/conda/conda-meta/pytorch-2.8.0-0.json",
                    "usr/local/cuda-12.8/version.json",
                ];
                archive(scratch, &names.map(|name| file(name, &deep)))
            },
        },
        Attack {
            name: "json-wide",
            holds: "a `version.json` of 500,000 keys",
            outcome: Outcome::Read("read: no version is taken from it", |report| {
                assert!(report["images"][0]["stack"].is_array());
            }),
            make: |scratch| {
                let keys: Vec<String> = (0..500_000)
                    .map(|it| format!("\"k{it}\": {{\"version\": \"1\"}}"))
                    .collect();
                archive(
                    scratch,
                    &[file(
                        "usr/local/cuda-12.8/version.json",
                        format!("{{{}}}", keys.join(",")),
                    )],
                )
            },
        },
    ]
}

fn yaml() -> Vec<Attack> {
    vec![
        Attack {
            name: "yaml-laughs-in-environment",
            holds: "an `environment.yml` of ten lists that each name the one before ten times (“billion laughs”)",
            outcome: REFUSED,
            make: |scratch| {
                fs::write(
                    scratch.join("environment.yml"),
                    laughs("channels", "dependencies"),
                )
                .unwrap();
                words_of("lint environment.yml")
            },
        },
        Attack {
            name: "yaml-laughs-in-configuration",
            holds: "the same in an `.imgcheck.yaml`",
            outcome: REFUSED,
            make: |scratch| {
                fs::write(scratch.join("c.yaml"), laughs("expect", "rules")).unwrap();
                with_image(scratch, "--config c.yaml")
            },
        },
        Attack {
            name: "yaml-laughs-in-rule",
            holds: "the same in a rule file",
            outcome: REFUSED,
            make: |scratch| {
                fs::write(scratch.join("r.yaml"), laughs("references", "tests")).unwrap();
                with_image(scratch, "--rules r.yaml")
            },
        },
        Attack {
            name: "yaml-100000-deep",
            holds: "a configuration that is 100,000 lists deep",
            outcome: REFUSED,
            make: |scratch| {
                let deep = format!("expect: {}", "[".repeat(100_000));
                fs::write(scratch.join("c.yaml"), deep).unwrap();
                with_image(scratch, "--config c.yaml")
            },
        },
    ]
}

fn rules() -> Vec<Attack> {
    vec![
        Attack {
            name: "rule-regular-expression",
            holds: "a rule with a regular expression that is 10⁹ states when compiled",
            outcome: REFUSED,
            make: |scratch| {
                rule(
                    scratch,
                    r#"image.reference.matches("(((a{1,100}){1,100}){1,100}){1,100}b")"#,
                )
            },
        },
        Attack {
            name: "rule-quantifiers-in-quantifiers",
            holds: "a rule that compares each of 2,000 claims with all, with all, with all, with all",
            outcome: Outcome::Refused("rule-time"),
            make: |scratch| {
                rule(
                    scratch,
                    "loader.mapped.all(a, loader.mapped.all(b, loader.mapped.all(c, loader.mapped.all(d, a.path != \"\" || b.path != c.path + d.path))))",
                )
            },
        },
        Attack {
            name: "rule-that-doubles",
            holds: "a rule whose expression doubles a text forty times",
            outcome: REFUSED,
            make: |scratch| {
                let doubled = (0..40).fold("\"x\"".to_owned(), |text, _| {
                    format!("[{text}].map(x, x + x)[0]")
                });
                rule(scratch, &format!("size({doubled}) > 1"))
            },
        },
        Attack {
            name: "rule-1000-deep",
            holds: "a rule whose expression is 2,000 brackets deep",
            outcome: REFUSED,
            make: |scratch| {
                rule(
                    scratch,
                    &format!("{}true{}", "(".repeat(2_000), ")".repeat(2_000)),
                )
            },
        },
        Attack {
            name: "rule-4000-negations",
            holds: "a rule whose expression is 8,000 negations, which no bracket tells",
            outcome: REFUSED,
            make: |scratch| rule(scratch, &format!("{}true", "!".repeat(8_000))),
        },
    ]
}

fn builds() -> Vec<Attack> {
    vec![
        Attack {
            name: "dockerfile-1000000-lines",
            holds: "a Dockerfile of a million lines",
            outcome: REFUSED,
            make: |scratch| {
                dockerfile(
                    scratch,
                    &format!(
                        "FROM debian\n{}",
                        "RUN pip install torch\n".repeat(1_000_000)
                    ),
                )
            },
        },
        Attack {
            name: "dockerfile-that-doubles",
            holds: "a Dockerfile in which each of 900 variables is twice the one before",
            outcome: Outcome::Printed("read: a value that is too long is no value", |text| {
                assert!(text.contains("Dockerfile"), "{text}");
            }),
            make: |scratch| {
                let mut text = "FROM debian\nARG A0=xxxx\n".to_owned();
                (0..900).for_each(|it| writeln!(text, "ARG A{}=$A{it}$A{it}", it + 1).unwrap());
                text.push_str("RUN pip install torch==$A900\n");
                dockerfile(scratch, &text)
            },
        },
        Attack {
            name: "dockerfile-documents-without-end",
            holds: "a Dockerfile of 20,000 here-documents that do not end",
            outcome: REFUSED,
            make: |scratch| {
                dockerfile(
                    scratch,
                    &format!("FROM debian\n{}", "RUN cat <<EOF\n".repeat(20_000)),
                )
            },
        },
        Attack {
            name: "dockerfile-one-line",
            holds: "a Dockerfile with an instruction of 20,000 lines that go on",
            outcome: Outcome::Printed("read: nothing in it is wrong", |text| {
                assert!(text.contains("Dockerfile"), "{text}");
            }),
            make: |scratch| {
                dockerfile(
                    scratch,
                    &format!(
                        "FROM debian\nRUN true {}\n",
                        "&& pip list \\\n".repeat(20_000)
                    ),
                )
            },
        },
        Attack {
            name: "requirements-100000",
            holds: "requirements of 100,000 lines with markers",
            outcome: REFUSED,
            make: |scratch| {
                let mut text = String::new();
                for it in 0..100_000 {
                    writeln!(text, "p{it}==1 ; python_version >= '3.{it}' and (sys_platform == 'linux' or os_name == 'nt')").unwrap();
                }
                fs::write(scratch.join("requirements.txt"), text).unwrap();
                words_of("lint requirements.txt")
            },
        },
        Attack {
            name: "requirements-marker-deep",
            holds: "requirements with markers that are 10,000 brackets deep and long",
            outcome: REFUSED,
            make: |scratch| {
                let deep = format!(
                    "torch==2.8 ; {}os_name == 'posix'{}\n",
                    "(".repeat(10_000),
                    ")".repeat(10_000)
                );
                let long = format!(
                    "torch==2.8 ; os_name == 'posix'{}\n",
                    " or os_name == 'x'".repeat(3_000)
                );
                fs::write(
                    scratch.join("requirements.txt"),
                    format!("{deep}{}", long.repeat(100)),
                )
                .unwrap();
                words_of("lint requirements.txt")
            },
        },
    ]
}

/// An `ld.so.cache` of so many entries, and what follows the header.
fn cache(entries: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = b"glibc-ld.so.cache1.1".to_vec();
    bytes.extend(words(&[entries, 0, 2, 0, 0, 0, 0]));
    bytes.extend(content);
    bytes
}

/// A program with its loader and CUDA 12.8, and another file.
fn process_items(path: &str, content: &[u8]) -> Vec<Item> {
    let mut program = Elf::new();
    let at = program.put(b"/lib64/ld-linux-x86-64.so.2\0");
    program.segment(PT_INTERP, at, 28);
    program.strings(b"\0libcudart.so.12\0");
    program.tag(DT_NEEDED, 1);
    let mut libc = known(&["gnu_get_libc_version"], b"\xc3");
    libc.put(b"GNU C Library (Debian) stable release version 2.36.\0");
    let loader = known(&["_dl_x"], b"\xc3");
    vec![
        file("usr/bin/server", program.build()),
        file("usr/lib64/libcudart.so.12", known(CUDART.0, CUDART.1).build()),
        file("lib64/libc.so.6", libc.build()),
        file("lib64/ld-linux-x86-64.so.2", loader.build()),
        file(path, content),
    ]
}

fn process(scratch: &Path, path: &str, content: &[u8]) -> Vec<String> {
    archive(scratch, &process_items(path, content))
}

/// A Python environment without packages.
fn python() -> Vec<Item> {
    let interpreter = known(&["Py_GetVersion", "Py_BytesMain"], b"\xc3");
    vec![file("usr/bin/python3.11", interpreter.build())]
}

/// Lists under two keys, of which each names the one before ten times.
fn laughs(first: &str, last: &str) -> String {
    let mut text = format!("{first}: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]\n");
    for level in 1..10 {
        let before = format!("*a{}, ", level - 1).repeat(10);
        let key = if level == 9 {
            last.to_owned()
        } else {
            format!("x{level}")
        };
        writeln!(text, "{key}: &a{level} [{before}]").unwrap();
    }
    text
}

/// Checks a small image.
fn with_image(scratch: &Path, options: &str) -> Vec<String> {
    process(scratch, "x", b"");
    words_of(&format!("check image.tar {options}"))
}

/// Checks a small image with a rule of this expression.
fn rule(scratch: &Path, expression: &str) -> Vec<String> {
    let rule = format!(
        "id: hostile-rule\ntitle: x\nseverity: error\nsince: 1.0.0\nfail: |\n  {expression}\nmessage: x\nwhy: x\n\
         tests: [{{name: x, given: {{}}, expect: {{findings: 0}}}}]\n"
    );
    fs::write(scratch.join("rule.yaml"), rule).unwrap();
    let names: Vec<String> = (0..1_000).map(|it| format!("lib{it}.so")).collect();
    let mut items = super::elf::process(&names);
    let library = known(&["x"], b"\xc3").build();
    items.extend(
        names
            .iter()
            .map(|name| file(&format!("usr/lib64/{name}"), &library)),
    );
    archive(scratch, &items);
    words_of("check image.tar --rules rule.yaml")
}

fn dockerfile(scratch: &Path, text: &str) -> Vec<String> {
    fs::write(scratch.join("Dockerfile"), text).unwrap();
    words_of("lint Dockerfile")
}

fn words_of(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}
