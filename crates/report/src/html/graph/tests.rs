#![allow(clippy::unwrap_used)]

use super::builder::{CARDS, ImageContext, OBJECTS};
use super::layout::{Layout, Rectangle, layout};
use super::model::{Graph, LinkKind, Mark, Row};
use super::placement::{CardKind, normal_path, short_directory};
use super::{FaultKind, Picture, build, picture};
use imgcheck_model::process::LoaderFacts;
use imgcheck_model::process::cause::{FoundBy, When, Without};
use imgcheck_model::process::facts::{Import, Missing, ObjectFacts, Shadowed};
use imgcheck_model::process::tree::{FailedLoad, MappedObject, ProcessTree};

const SITE: &str = "/usr/lib/python3/site-packages";

fn object(path: &str, library: &str, parent: Option<usize>, needs: &[usize]) -> MappedObject {
    let directory = path.strip_prefix(SITE).map_or(String::new(), |below| {
        let parts: Vec<&str> = below.trim_start_matches('/').split('/').collect();
        let kept = if parts[0] == "nvidia" { 2 } else { 1 };
        parts[..kept.min(parts.len())].join("/")
    });
    MappedObject {
        facts: ObjectFacts {
            path: path.to_owned(),
            library: library.to_owned(),
            directory,
            package: if parent.is_some() { "torch" } else { "" }.to_owned(),
            when: if parent.is_some() {
                When::Import
            } else {
                When::Start
            },
            found_by: if parent.is_some() {
                FoundBy::Rpath
            } else {
                FoundBy::Executable
            },
            reason: "DT_RPATH of libtorch_cuda.so".to_owned(),
            ..ObjectFacts::default()
        },
        parent,
        needs: needs.to_vec(),
        ..MappedObject::default()
    }
}

fn with_version(mut object: MappedObject, version: &str) -> MappedObject {
    let readings = &mut object.facts.readings;
    readings.insert("version".to_owned(), version.to_owned());
    object
}

fn cudnn(directory: &str, part: &str, version: &str) -> MappedObject {
    let mut it = object(
        &format!("{directory}/libcudnn{part}.so.9"),
        "cudnn",
        Some(2),
        &[],
    );
    it.facts.part = part.trim_start_matches('_').to_owned();
    with_version(it, version)
}

/// python, _C, libtorch_cuda, cudart, libc, and three files of cuDNN.
fn healthy() -> ProcessTree {
    let home = format!("{SITE}/nvidia/cudnn/lib");
    let mut module = object(
        &format!("{SITE}/torch/_C.cpython-311-x86_64-linux-gnu.so"),
        "",
        None,
        &[2],
    );
    module.facts.package = "torch".to_owned();
    module.facts.when = When::Import;
    module.facts.found_by = FoundBy::Path;
    ProcessTree {
        name: "python".to_owned(),
        main: true,
        imports: vec![Import {
            package: "torch".to_owned(),
            version: "2.8.0".to_owned(),
            succeeds: true,
        }],
        objects: vec![
            object("/usr/bin/python3.11", "", None, &[4]),
            module,
            object(
                &format!("{SITE}/torch/lib/libtorch_cuda.so"),
                "torch-cuda",
                Some(1),
                &[3, 4, 5],
            ),
            object(
                &format!("{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12"),
                "cuda-runtime",
                Some(2),
                &[4],
            ),
            object("/usr/lib/libc.so.6", "glibc", Some(0), &[]),
            cudnn(&home, "", "9.10.2"),
            cudnn(&home, "_graph", "9.10.2"),
            cudnn(&home, "_ops", "9.10.2"),
        ],
        ..ProcessTree::default()
    }
}

fn missing(library: &str, needed_by: &str) -> FailedLoad {
    FailedLoad {
        package: "torch".to_owned(),
        when: When::Import,
        library: library.to_owned(),
        needed_by: needed_by.to_owned(),
        message: format!("{library}: cannot open shared object file: No such file or directory"),
        ..FailedLoad::default()
    }
}

fn graph(process: &ProcessTree, loader: Option<&LoaderFacts>) -> Graph {
    build(
        process,
        ImageContext {
            loader,
            findings: &[],
        },
    )
}

fn drawn(process: &ProcessTree, loader: Option<&LoaderFacts>) -> Picture {
    picture(process, loader, &[], "p", "f")
}

fn rows(graph: &Graph) -> impl Iterator<Item = &Row> {
    graph.cards.iter().flat_map(|card| &card.rows)
}

/// The index of the card with a title.
fn card(graph: &Graph, title: &str) -> usize {
    let mut titles = graph.cards.iter().map(|card| &card.placement.title);
    titles.position(|it| it == title).unwrap()
}

/// The number of links of a kind.
fn links(graph: &Graph, kind: LinkKind) -> usize {
    graph.links.iter().filter(|link| link.kind == kind).count()
}

/// Cards do not overlap, rows are inside their cards, and arrows connect edges of cards without crossing any.
fn assert_sound(graph: &Graph, layout: &Layout) {
    let apart = |a: Rectangle, b: Rectangle| {
        a.right() <= b.x || b.right() <= a.x || a.bottom() <= b.y || b.bottom() <= a.y
    };
    for (place, card) in layout.cards.iter().enumerate() {
        let at = card.outline;
        assert!(at.x >= 0.0 && at.right() <= layout.width && at.bottom() <= layout.height);
        for other in &layout.cards[place + 1..] {
            assert!(apart(at, other.outline), "{at:?} {:?}", other.outline);
        }
        for (y, height) in card.rows.iter().zip(&card.heights) {
            assert!(
                *y > at.y && y + height <= at.bottom(),
                "{y} {height} {at:?}"
            );
        }
    }
    for link in &graph.links {
        let route = layout.route(link);
        let (from, to) = (
            layout.cards[link.from.card].outline,
            layout.cards[link.to.card].outline,
        );
        let on_edge = |(x, y): (f64, f64), at: Rectangle| {
            (x == at.x || x == at.right()) && y >= at.y && y <= at.bottom()
        };
        assert!(on_edge(route[0], from), "{link:?} {route:?} {from:?}");
        assert!(
            on_edge(route[route.len() - 1], to),
            "{link:?} {route:?} {to:?}"
        );
        for straight in route[1..route.len() - 1].chunks(2) {
            let [(x, y), (to_x, to_y)] = [straight[0], straight[1]];
            assert_eq!(y, to_y);
            let line = Rectangle {
                x: x.min(to_x),
                y,
                width: (to_x - x).abs(),
                height: 0.0,
            };
            for card in &layout.cards {
                assert!(
                    apart(line, card.outline),
                    "{link:?} crosses {:?}",
                    card.outline
                );
            }
        }
    }
}

#[test]
fn a_healthy_process_has_cards_by_origin_and_no_marks() {
    let process = healthy();
    let graph = graph(&process, None);
    let titles: Vec<(&str, &str)> = graph
        .cards
        .iter()
        .map(|card| (card.placement.title.as_str(), card.badge.as_str()))
        .collect();
    assert_eq!(
        titles,
        [
            ("python", ""),
            ("System libraries", ""),
            ("import torch", "2.8.0"),
            ("torch", "2.8.0"),
            ("NVIDIA packages", ""),
            ("cuDNN", "9.10.2")
        ]
    );
    assert!(rows(&graph).all(|row| row.mark == Mark::None));
    assert_sound(&graph, &layout(&graph));
    assert_eq!(drawn(&process, None).faults, []);
}

#[test]
fn the_loader_of_glibc_is_a_system_library() {
    let mut process = healthy();
    let path = "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";
    let mut loader = object(path, "glibc-loader", None, &[]);
    loader.facts.found_by = FoundBy::Interpreter;
    process.objects.push(loader);
    let graph = graph(&process, None);
    let titles: Vec<&str> = graph.cards.iter().map(|it| &*it.placement.title).collect();
    assert!(!titles.contains(&"CUDA libraries"), "{titles:?}");
    let system = &graph.cards[card(&graph, "System libraries")];
    assert!(
        system
            .rows
            .iter()
            .any(|it| it.label == "ld-linux-x86-64.so.2")
    );
}

#[test]
fn the_widest_picture_fits_a_window_of_1280_pixels() {
    let mut process = healthy();
    for object in &mut process.objects {
        let facts = &mut object.facts;
        let (directory, name) = facts.path.rsplit_once('/').unwrap();
        facts.path = format!("{directory}/a_very_long_name_that_is_cut_in_the_middle_{name}");
    }
    let svg = drawn(&process, None).svg;
    let number = |name: &str, end: &str| -> f64 {
        let (_, rest) = svg.split_once(name).unwrap();
        rest.split_once(end).unwrap().0.parse().unwrap()
    };
    assert!(number(" width=\"", "\"") * 0.8 > 1130.0, "{svg:.300}");
    assert!(number("min-width:", "px") <= 1130.0, "{svg:.300}");
}

#[test]
fn every_missing_library_is_drawn_beside_its_requester() {
    let mut process = healthy();
    let asker = format!("{SITE}/torch/lib/libtorch_cuda.so");
    // The path that it was found by differs from the one that it is listed by.
    let dispatcher = format!("{SITE}/torch/lib/../../nvidia/cudnn/lib/libcudnn.so.9");
    process.failures = vec![
        missing("libcusparseLt.so.0", &asker),
        missing("libcudnn_cnn.so.9", &dispatcher),
        missing("libof-python.so", ""),
        missing(
            "libneeded.so.1",
            &format!("{SITE}/torch/lib/libtorch_unloaded.so"),
        ),
    ];
    let graph = graph(&process, None);
    let layout = layout(&graph);
    assert_sound(&graph, &layout);
    for failure in &process.failures {
        let row = rows(&graph).find(|row| row.label == failure.library);
        assert_eq!(row.unwrap().mark, Mark::Missing, "{}", failure.library);
    }
    let cudnn = graph.cards[card(&graph, "cuDNN")].rows.iter();
    assert!(
        cudnn
            .map(|row| &row.label)
            .any(|it| it == "libcudnn_cnn.so.9")
    );
    // One from libtorch_cuda, one from the import, one from the unloaded file; cuDNN is on its own card.
    assert_eq!(links(&graph, LinkKind::Missing), 3);
    assert!(drawn(&process, None).svg.contains("libcusparseLt.so.0"));
}

#[test]
fn an_optional_library_is_no_fault_unless_the_gpu_is_lost_without_it() {
    let mut process = healthy();
    let optional = FailedLoad {
        optional: true,
        ..missing("libavcodec.so.61", "")
    };
    process.failures = vec![optional];
    assert_eq!(drawn(&process, None).faults, []);
    let mut known = Missing {
        library: "libavcodec.so.61".to_owned(),
        ..Missing::default()
    };
    known.context.process = "python".to_owned();
    known.context.without = Without::Gpu;
    let loader = LoaderFacts {
        missing: vec![known],
        ..LoaderFacts::default()
    };
    let faults = drawn(&process, Some(&loader)).faults;
    assert_eq!(
        (faults[0].kind, faults[0].text.as_str()),
        (FaultKind::Missing, "libavcodec.so.61")
    );
}

#[test]
fn files_of_a_different_version_are_marked_and_unloaded_copies_are_shown() {
    let mut process = healthy();
    let home = format!("{SITE}/nvidia/cudnn/lib");
    for part in ["_graph", "_ops"] {
        let place = process
            .objects
            .iter()
            .position(|it| it.facts.part == part[1..])
            .unwrap();
        let mut other = cudnn("/opt/cudnn/lib", part, "9.1.0");
        other.facts.reason = "LD_LIBRARY_PATH".to_owned();
        other.others = vec![format!("{home}/libcudnn{part}.so.9")];
        process.objects[place] = other;
    }
    let graph = graph(&process, None);
    assert_sound(&graph, &layout(&graph));
    let place = card(&graph, "cuDNN");
    let cudnn = &graph.cards[place];
    assert_eq!(
        (cudnn.badge.as_str(), cudnn.footer.as_str()),
        ("mixed", "mixed: 9.1.0 and 9.10.2")
    );
    let marks: Vec<Mark> = cudnn.rows.iter().map(|row| row.mark).collect();
    assert_eq!(marks, [Mark::None, Mark::Warning, Mark::Warning]);
    assert_eq!(cudnn.rows[1].note, "from /opt/cudnn/lib: LD_LIBRARY_PATH");
    let ghost = &graph.cards[place + 1];
    assert_eq!(ghost.placement.kind, CardKind::Shadowed(home));
    assert_eq!(ghost.rows.len(), 2);
    assert_eq!(ghost.footer, "because of LD_LIBRARY_PATH");
    let faults: Vec<FaultKind> = drawn(&process, None)
        .faults
        .iter()
        .map(|fault| fault.kind)
        .collect();
    assert_eq!(faults, [FaultKind::Mixed, FaultKind::Shadowed]);
}

#[test]
fn a_shadowed_library_is_drawn_beside_the_loaded_one() {
    let process = healthy();
    let loader = LoaderFacts {
        shadowed: vec![Shadowed {
            process: "python".to_owned(),
            library: "libcudart.so.12".to_owned(),
            loaded: process.objects[3].facts.clone(),
            shadowed: ObjectFacts {
                path: "/usr/local/cuda/lib64/libcudart.so.12".to_owned(),
                ..ObjectFacts::default()
            },
            needed_by: process.objects[2].facts.path.clone(),
            reason: "LD_LIBRARY_PATH".to_owned(),
            ..Shadowed::default()
        }],
        ..LoaderFacts::default()
    };
    let graph = graph(&process, Some(&loader));
    assert_sound(&graph, &layout(&graph));
    let winner = card(&graph, "NVIDIA packages");
    assert_eq!(
        graph.cards[winner].rows[0].note,
        "loaded because of LD_LIBRARY_PATH"
    );
    assert!(matches!(
        graph.cards[winner + 1].placement.kind,
        CardKind::Shadowed(_)
    ));
    assert_eq!(links(&graph, LinkKind::Instead), 1);
    assert_eq!(links(&graph, LinkKind::Expected), 1);
}

#[test]
fn a_huge_process_is_truncated_and_drawn() {
    let mut process = healthy();
    for number in 0..5000 {
        let path = format!("/opt/{number}/lib{number}.so");
        process
            .objects
            .push(object(&path, "", Some(number % 7), &[number, number + 3]));
    }
    process.failures = (0..300)
        .map(|it| missing(&format!("lib{it}.so.1"), ""))
        .collect();
    let graph = graph(&process, None);
    assert!(graph.cards.len() <= CARDS);
    assert!(graph.left_out >= 5000 - OBJECTS, "{}", graph.left_out);
    assert_sound(&graph, &layout(&graph));
    assert!(drawn(&process, None).svg.len() < 1_500_000);
}

#[test]
fn texts_of_the_image_are_escaped() {
    let mut process = healthy();
    let evil = "</svg><script>alert(1)</script>\"'&";
    process.name = evil.to_owned();
    for object in &mut process.objects {
        object.facts.path.push_str(evil);
        object.facts.reason = evil.to_owned();
    }
    process.failures = vec![missing(evil, evil)];
    let svg = drawn(&process, None).svg;
    assert!(!svg.contains("<script"), "{svg}");
    assert_eq!(svg.matches("</svg>").count(), 1);
}

#[test]
fn the_picture_is_reproducible() {
    assert_eq!(drawn(&healthy(), None).svg, drawn(&healthy(), None).svg);
}

#[test]
fn paths_are_normalized_and_shortened() {
    assert_eq!(normal_path("/a/b/../../c/./d"), "/c/d");
    assert_eq!(normal_path("/a/.hidden"), "/a/.hidden");
    assert_eq!(short_directory("/usr/lib"), "/usr/lib");
    assert_eq!(
        short_directory("/a/b/nvidia/cudnn/lib"),
        "…/nvidia/cudnn/lib"
    );
}
