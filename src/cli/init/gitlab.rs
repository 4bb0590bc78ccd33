//! The job for GitLab.

use std::fs;
use std::path::Path;

use super::draft::{Draft, docker_build, duties, filled, listed, quoted};

const CHECK: &str = include_str!("gitlab.yml");
const BUILD: &str = include_str!("gitlab-build.yml");

/// The default of the template, and of GitLab.
const STAGE: &str = "test";
const STAGES: [&str; 3] = ["build", STAGE, "deploy"];

const IMAGE: &str = "$CI_REGISTRY_IMAGE:$CI_COMMIT_SHORT_SHA";

/// The whole pipeline, or a file that the existing pipeline must include.
pub fn draft(directory: &Path, dockerfiles: &[String]) -> Draft {
    let pipeline = fs::read_to_string(directory.join(".gitlab-ci.yml"));
    let exists = pipeline.is_ok();
    let pipeline = pipeline.unwrap_or_default();
    if !exists || pipeline.contains("imgcheck.gitlab-ci.yml") {
        let next = format!("{}\nnext: commit it", todo("", dockerfiles));
        return Draft {
            path: ".gitlab-ci.yml",
            text: jobs("", dockerfiles),
            next: Some(next).filter(|_| !exists),
        };
    }
    let stages = Stages::of(&pipeline).to_add;
    let stages = stages.map_or_else(String::new, |it| format!("  stages: {it}\n"));
    let next = "next: add it to .gitlab-ci.yml, then commit:";
    let include = "  include:\n    - local: .gitlab/imgcheck.gitlab-ci.yml";
    let todo = todo(&pipeline, dockerfiles);
    Draft {
        path: ".gitlab/imgcheck.gitlab-ci.yml",
        text: jobs(&pipeline, dockerfiles),
        next: Some(format!("{todo}\n{next}\n{stages}{include}")),
    }
}

fn todo(pipeline: &str, dockerfiles: &[String]) -> String {
    match dockerfiles.split_first() {
        _ if builds_images(pipeline) => {
            "name the image as the pipeline pushes it (TODO in the file)".to_owned()
        }
        Some((first, others)) => duties(first, others),
        None => {
            "there is no Dockerfile: say how your image is built (TODO in the job imgcheck-build)"
                .to_owned()
        }
    }
}

/// The jobs that check what a pipeline builds, or also build it.
fn jobs(pipeline: &str, dockerfiles: &[String]) -> String {
    let stages = Stages::of(pipeline);
    let is_built = builds_images(pipeline);
    let check = filled(
        CHECK,
        &[
            ("{pushed}", is_built.then(String::new)),
            ("{stages}", stages.to_add),
            ("{stage}", Some(stages.check).filter(|it| it != STAGE)),
            ("{lint}", words(dockerfiles)),
        ],
    );
    if is_built {
        return check;
    }
    let build = filled(
        BUILD,
        &[
            ("{stage}", Some(stages.build)),
            ("{build}", Some(docker_build(dockerfiles, IMAGE))),
            ("{others}", listed(dockerfiles.get(1..).unwrap_or_default())),
        ],
    );
    check + &build
}

/// Paths as an input of the template, which splits it as a shell does.
fn words(paths: &[String]) -> Option<String> {
    let words: Vec<String> = paths.iter().map(|it| quoted(it)).collect();
    let words = words.join(" ");
    match words.contains(' ') {
        _ if words.is_empty() => None,
        true => Some(format!("\"{words}\"")),
        false => Some(words),
    }
}

/// Whether a pipeline seems to build or push images itself.
fn builds_images(pipeline: &str) -> bool {
    let programs = [
        "docker build",
        "docker push",
        "buildx",
        "buildctl",
        "kaniko",
        "buildah",
        "podman build",
    ];
    programs.iter().any(|it| pipeline.contains(it))
}

/// Where the jobs belong in a pipeline.
struct Stages {
    check: String,
    build: String,
    /// The stages that the pipeline should have, if it lacks one for the check.
    to_add: Option<String>,
}

impl Stages {
    /// The check runs in the stage `test`, or else in the last one before a deployment, unless images may be built in that.
    fn of(pipeline: &str) -> Self {
        let mut stages = listed_stages(pipeline);
        if stages.is_empty() {
            stages = STAGES.to_vec();
        }
        let end = stages
            .iter()
            .position(|it| deploys(it))
            .unwrap_or(stages.len());
        let last = end.checked_sub(1).filter(|it| !builds(stages[*it]));
        let test = stages.iter().position(|it| *it == STAGE).or(last);
        if test.is_none() {
            stages.insert(end, STAGE);
        }
        let (before, rest) = stages.split_at(test.unwrap_or(end));
        let build = before.iter().find(|it| **it == "build").or(before.last());
        Self {
            check: (*rest.first().unwrap_or(&STAGE)).to_owned(),
            build: (*build.unwrap_or(&".pre")).to_owned(),
            to_add: test.is_none().then(|| format!("[{}]", stages.join(", "))),
        }
    }
}

/// Whether a stage by its name is one that images are built in.
fn builds(stage: &str) -> bool {
    has_word(
        stage,
        &["build", "image", "docker", "container", "package", "push"],
    )
}

/// Whether a stage by its name is one that should not start before the check.
fn deploys(stage: &str) -> bool {
    has_word(
        stage,
        &[
            "deploy", "release", "publish", "promote", "rollout", "staging", "prod",
        ],
    )
}

fn has_word(stage: &str, words: &[&str]) -> bool {
    let stage = stage.to_ascii_lowercase();
    words.iter().any(|it| stage.contains(it))
}

/// The names in the list `stages` of a pipeline, in one line or one a line; empty without one.
fn listed_stages(pipeline: &str) -> Vec<&str> {
    let mut lines = pipeline.lines().skip_while(|it| !it.starts_with("stages:"));
    let first = lines.next().unwrap_or_default();
    let inline = first.trim_start_matches("stages:").split([',', '[', ']']);
    let listed = lines.map(str::trim).map_while(|it| it.strip_prefix('-'));
    let names = inline.chain(listed);
    let names = names.map(|it| it.split(" #").next().unwrap_or_default());
    let names = names.map(|it| it.trim().trim_matches(['"', '\'']));
    names.filter(|it| !it.is_empty()).collect()
}
