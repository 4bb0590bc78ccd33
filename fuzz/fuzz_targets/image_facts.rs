//! Everything that is derived from the layers of an image: the stack from libraries and arbitrary package metadata, what its
//! processes load, whether it runs on targets, the findings of the built-in rules, and the loader model as a tree.
//!
//! The input describes an image.

use std::sync::LazyLock;

use imgcheck_base::bounds::Bounds;
use imgcheck_elf::Depth;
use imgcheck_fuzz::described::Described;
use imgcheck_image::{RootFilesystem, configuration};
use imgcheck_launch::{self as launch, Launch, Overlay};
use imgcheck_loader::ProcessBudget;
use imgcheck_model::claims::Grammar;
use imgcheck_model::process::{Knowledge, Programs};
use imgcheck_model::stack::{self, Catalogue, ToolkitRow};
use imgcheck_model::targets::{self, Target, TargetInput};
use imgcheck_report::tree::{self, TreeQuery};
use imgcheck_rules::rules::{Facts, ImageFacts, RuleSet};

struct Tables {
    grammar: Grammar,
    catalogue: Catalogue,
    processes: Knowledge,
    launch: launch::Knowledge,
    toolkits: Vec<ToolkitRow>,
    targets: targets::Tables,
    rules: RuleSet,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| Tables {
    grammar: imgcheck_model::knowledge::grammar().expect("the grammars"),
    catalogue: imgcheck_model::knowledge::catalogue().expect("the catalogue"),
    processes: imgcheck_model::knowledge::processes().expect("the tables of processes"),
    launch: imgcheck_model::knowledge::launch().expect("the table of launches"),
    toolkits: imgcheck_model::knowledge::toolkits().expect("the table of drivers"),
    targets: imgcheck_model::knowledge::targets().expect("the tables of GPUs and drivers"),
    rules: RuleSet::builtin().expect("the rules"),
});

pub fn fuzz(text: &str) {
    let tables = &*TABLES;
    let image = Described::new(text);
    let root = RootFilesystem::merge(&image.layers);
    let config = image.configuration();
    let launch = Launch::of(&root, &config, &Overlay::default(), &tables.launch);
    let stack = stack::read(
        &root,
        &config,
        &launch,
        &tables.catalogue,
        &ProcessBudget::default(),
    );
    let Ok(mut stack) = stack else {
        return;
    };
    for component in &stack.components {
        assert!(
            component
                .layer
                .is_none_or(|layer| layer < image.layers.len()),
            "{component:?}"
        );
    }
    let (environment, labels) = (
        configuration::environment(&config),
        configuration::labels(&config),
    );
    let claims = tables
        .grammar
        .image_claims(image.reference.as_deref(), &labels, &environment);

    let programs = Programs::of(
        &root,
        &launch,
        &stack,
        &tables.processes,
        &ProcessBudget::default(),
    );
    let Ok((mut loader, drawn)) = programs.play(true) else {
        return;
    };
    loader.frameworks = programs.frameworks(&loader, &stack);
    for library in ["", "lib"] {
        let query = TreeQuery {
            image: "image",
            launch: None,
            library: Some(library).filter(|it| !it.is_empty()),
        };
        let _ = tree::text(query, &drawn);
        let _ = tree::dot(query, &drawn);
    }
    stack.mark_mapped(loader.mapped_files(true), loader.mapped_files(false));

    let driver = stack.driver_floor(None, &tables.toolkits);
    let targets: Vec<Target> = image.targets.iter().map(target).collect();
    let evidence = TargetInput {
        toolkit: None,
        depth: Depth::Default,
        gpu: &stack.gpu,
        loader: Some(&loader),
        stack: &stack.components,
        driver: driver.as_ref(),
    };
    // A target that names no GPU is refused before an image is read.
    let judged = targets::judge(&targets, &evidence, &tables.targets).unwrap_or_default();
    let about = ImageFacts {
        reference: image.reference.clone().unwrap_or_default(),
        env: Some(environment),
        labels: Some(labels),
        ..ImageFacts::default()
    };
    let facts = Facts {
        gpu: serde_json::to_value(&stack.gpu).ok(),
        driver: driver
            .as_ref()
            .and_then(|floor| serde_json::to_value(floor).ok()),
        loader: Some(loader.into()),
        targets: judged,
        ..Facts::of_image(about, claims, &stack.into())
    };
    // Every built-in rule can be evaluated on the facts of every image.
    let findings = tables
        .rules
        .evaluate(&facts, &Bounds::default())
        .expect("a judgement");
    for finding in findings {
        assert!(!finding.message.is_empty(), "{} says nothing", finding.rule);
    }
}

fn target([name, gpu, driver]: &[String; 3]) -> Target {
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    Target {
        name: name.clone(),
        gpus: given(gpu).into_iter().collect(),
        driver: given(driver),
        ..Target::default()
    }
}
