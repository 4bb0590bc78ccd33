//! Images with more of one thing.

use std::fmt::Write;

use imgcheck_base::digest::sha256;
use serde_json::{Value, json};
use tar::EntryType;

use super::super::documents::{MANIFEST, changed, honest, indexed};
use super::super::elf::cudart;
use super::super::forge::*;
use super::super::gpu;
use super::super::loader::{
    cache, distribution, each, process, process_items, program, python, with_needed,
};
use super::super::rules_input::{dockerfile, requirements, with_configuration};
use super::super::tars::{self, docker, layer, pax, plain};
use super::{Series, numbered, series};
use testkit::{descriptor, file, hard_link, symlink};

/// The series of images with more of one thing.
pub fn all() -> Vec<Series> {
    [entries(), libraries(), packages(), documents(), texts()]
        .into_iter()
        .flatten()
        .collect()
}

fn entries() -> Vec<Series> {
    vec![
        series("empty files", 50_000, |scratch, count| {
            let members = numbered(count, |it| member(&format!("f{it}"), EntryType::Regular));
            tars::members(scratch, &members)
        }),
        series("directories", 50_000, |scratch, count| {
            let members = numbered(count, |it| member(&format!("d{it}"), EntryType::Directory));
            tars::members(scratch, &members)
        }),
        series(
            "archive members with the same path",
            50_000,
            |scratch, count| {
                let members = numbered(count, |_| member("etc/os-release", EntryType::Regular));
                tars::members(scratch, &members)
            },
        ),
        series("names in extended headers", 25_000, |scratch, count| {
            let members = numbered(count, |it| {
                let name = format!("{}{it}", "long/".repeat(30));
                let header = pax(&[("path", name.as_bytes())]);
                [header, member("x", EntryType::Regular)].concat()
            });
            tars::members(scratch, &members)
        }),
        series(
            "whiteouts of files in lower layers",
            25_000,
            |scratch, count| {
                let files = numbered(count, |it| member(&format!("f{it}"), EntryType::Regular));
                let whiteouts = numbered(count, |it| {
                    member(&format!(".wh.f{it}"), EntryType::Regular)
                });
                tars::image(scratch, &[layer(&files), layer(&whiteouts)])
            },
        ),
        series("layers", 30, |scratch, count| {
            let layers = numbered(count, |at| {
                let members =
                    numbered(500, |it| member(&format!("{at}/f{it}"), EntryType::Regular));
                layer(&members)
            });
            tars::archive(scratch, &docker(&layers))
        }),
        series(
            "symbolic and hard links to one library",
            10_000,
            |scratch, count| {
                let mut items = vec![file("usr/lib64/libcudart.so.12", cudart().build())];
                items.extend((0..count).map(|it| {
                    symlink(&format!("usr/lib64/libcudart.so.{it}s"), "libcudart.so.12")
                }));
                items.extend((0..count).map(|it| {
                    hard_link(
                        &format!("usr/lib64/libcudart.so.{it}h"),
                        "usr/lib64/libcudart.so.12",
                    )
                }));
                archive(scratch, &items)
            },
        ),
        series("MB of zeros in a gzip layer", 100, |scratch, count| {
            layout(scratch, &[file("zeros", vec![0; count << 20])])
        }),
    ]
}

fn libraries() -> Vec<Series> {
    vec![
        series("symbols in a library", 50_000, |scratch, count| {
            let mut elf = Elf::new();
            let names: String = (0..count).map(|it| format!("\0symbol{it:08}")).collect();
            elf.strings(format!("{names}\0").as_bytes());
            elf.symbols((0..count as u32).map(|it| symbol(15 * it + 1, u64::from(it % 2), 1)));
            archive(scratch, &[file("usr/lib/libx.so", elf.build())])
        }),
        series("segments in a library", 15_000, |scratch, count| {
            let mut elf = cudart();
            let at = elf.put(&vec![b'x'; 1 << 20]);
            (0..count).for_each(|_| {
                elf.segment(PT_LOAD, 0, at);
            });
            archive(scratch, &[file("usr/lib64/libcudart.so.12", elf.build())])
        }),
        series("sections in a library", 15_000, |scratch, count| {
            let mut elf = cudart();
            let at = elf.put(&vec![b'x'; 1 << 20]);
            (0..count).for_each(|_| {
                elf.section(".nv_fatbin", CONSTANTS, at, 1 << 20);
            });
            archive(scratch, &[file("usr/lib64/libcudart.so.12", elf.build())])
        }),
        series("notes in a library", 250_000, |scratch, count| {
            let mut elf = cudart();
            let notes = words(&[0; 3]).repeat(count);
            let at = elf.put(&notes);
            elf.segment(PT_NOTE, at, notes.len() as u64);
            archive(scratch, &[file("usr/lib64/libcudart.so.12", elf.build())])
        }),
        series("fat-binary containers", 50_000, |scratch, count| {
            let one = [
                gpu::container(64, 16),
                gpu::entry(2, 90, 64, 0),
                vec![0; 16],
            ]
            .concat();
            gpu::named(scratch, &one.repeat(count))
        }),
        series("libraries that a program needs", 4_000, |scratch, count| {
            let names = numbered(count, |it| format!("lib{it}.so"));
            let mut items = program(&names);
            items.extend(each(&names, &with_needed(&[]).build()));
            archive(scratch, &items)
        }),
        series(
            "libraries that each need the next ten",
            1_000,
            |scratch, count| {
                let names = numbered(count, |it| format!("lib{it}.so"));
                let mut items = program(&names[..1]);
                items.extend((0..count).map(|it| {
                    let needed = numbered(10, |next| names[(it + next + 1) % count].clone());
                    file(
                        &format!("usr/lib64/{}", names[it]),
                        with_needed(&needed).build(),
                    )
                }));
                archive(scratch, &items)
            },
        ),
        series("entries in `ld.so.cache`", 50_000, |scratch, count| {
            let names: String = (0..count)
                .map(|it| format!("/lib/lib{it:08}.so\0"))
                .collect();
            let start = 48 + 24 * count as u32;
            let mut content: Vec<u8> = (0..count as u32)
                .flat_map(|it| words(&[0x303, start + 20 * it + 5, start + 20 * it, 0, 0, 0]))
                .collect();
            content.extend(names.bytes());
            process(scratch, "etc/ld.so.cache", &cache(count as u32, &content))
        }),
        series(
            "files that `ld.so.conf` includes",
            5_000,
            |scratch, count| {
                let mut items = process_items("etc/ld.so.conf", b"include ld.so.conf.d/*.conf\n");
                items.extend((0..count).map(|it| {
                    let text = format!("/usr/lib/{it}\n");
                    file(&format!("etc/ld.so.conf.d/{it}.conf"), text)
                }));
                archive(scratch, &items)
            },
        ),
        series(
            "directories on `LD_LIBRARY_PATH`",
            10_000,
            |scratch, count| {
                changed(scratch, |_, config| {
                    let path: String = (0..count).map(|at| format!(":/d{at}")).collect();
                    config["config"]["Env"] = json!([format!("LD_LIBRARY_PATH={path}")]);
                })
            },
        ),
    ]
}

fn packages() -> Vec<Series> {
    vec![
        series("Python distributions", 5_000, |scratch, count| {
            python(
                scratch,
                (0..count).map(|it| distribution(&format!("p{it}"), "1.0", "")),
            )
        }),
        series("requirements of a distribution", 5_000, |scratch, count| {
            let requirements: String = (0..count)
                .map(|it| format!("Requires-Dist: p{it}==1\n"))
                .collect();
            python(
                scratch,
                [distribution("x", "1.0", &requirements)].into_iter(),
            )
        }),
        series("conda packages", 5_000, |scratch, count| {
            let items = numbered(count, |it| {
                let text = json!({"name": format!("p{it}"), "version": "1.0", "build": "0"});
                file(
                    &format!("opt/conda/conda-meta/p{it}-1.0-0.json"),
                    text.to_string(),
                )
            });
            archive(scratch, &items)
        }),
        series("Debian packages", 5_000, |scratch, count| {
            let status: String = (0..count)
                .map(|it| {
                    format!("Package: p{it}\nStatus: install ok installed\nVersion: 1.0-1\n\n")
                })
                .collect();
            archive(scratch, &[file("var/lib/dpkg/status", status)])
        }),
    ]
}

fn documents() -> Vec<Series> {
    vec![
        series("platforms in an index", 400, |scratch, count| {
            let [layer, config, manifest] = honest();
            let entries = numbered(count, |at| {
                let mut entry = descriptor(MANIFEST, &manifest);
                entry["platform"] = json!({"os": "linux", "architecture": format!("a{at}")});
                entry
            });
            let index = json!({"schemaVersion": 2, "manifests": entries});
            let mut arguments = indexed(scratch, &index, [layer, config, manifest]);
            arguments.push("--platform=linux/a0".to_owned());
            arguments
        }),
        series("build steps", 5_000, |scratch, count| {
            changed(scratch, |_, config| {
                let step = |at| json!({"created_by": format!("RUN {at}"), "empty_layer": true});
                let mut history: Vec<Value> = numbered(count, step);
                history.push(json!({"created_by": "COPY . /"}));
                config["history"] = history.into();
            })
        }),
        series("labels and variables", 10_000, |scratch, count| {
            changed(scratch, |_, config| {
                let label = |at| (format!("label.{at}"), Value::from("torch 2.8"));
                let labels: serde_json::Map<String, Value> = (0..count).map(label).collect();
                config["config"]["Labels"] = labels.into();
                config["config"]["Env"] = numbered(count, |at| format!("V{at}=2.8.0")).into();
            })
        }),
        series(
            "images in an archive that share one layer",
            400,
            |scratch, count| {
                changed(scratch, |manifest, config| {
                    config["config"]["Labels"] = json!({"digest": sha256(b"")});
                    let image = |at| {
                        let mut image = manifest[0].clone();
                        image["RepoTags"] = json!([format!("hostile:{at}")]);
                        image
                    };
                    *manifest = numbered(count, image).into();
                })
            },
        ),
    ]
}

fn texts() -> Vec<Series> {
    vec![
        series("lines in a Dockerfile", 8_000, |scratch, count| {
            let lines = "RUN rm -rf /tmp/x\n".repeat(count);
            dockerfile(scratch, &format!("FROM debian\n{lines}"))
        }),
        series("lines in a requirements file", 1_000, |scratch, count| {
            let lines: String = (0..count).map(|it| format!("p{it}==1.{it}\n")).collect();
            requirements(scratch, &lines)
        }),
        series("ignores in a configuration", 500, |scratch, count| {
            let mut text = "ignore:\n".to_owned();
            for it in 0..count {
                writeln!(text, r#"- {{rule: "load-*", path: /d{it}, reason: known}}"#).unwrap();
            }
            with_configuration(scratch, &text)
        }),
    ]
}

fn member(name: &str, kind: EntryType) -> Vec<u8> {
    plain(name.as_bytes(), kind, b"")
}
