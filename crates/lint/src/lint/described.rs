//! Files that describe an environment without a Dockerfile: an image, a Python, packages, and commands that run in it.
//!
//! - `cog.yaml`: <https://github.com/replicate/cog/blob/main/docs/yaml.md>
//! - `bentofile.yaml`: <https://docs.bentoml.com/en/latest/reference/bentoml/bento-build-options.html>
//! - tasks of SkyPilot: <https://docs.skypilot.co/en/latest/reference/yaml-spec.html>
//! - `*.dstack.yml`: <https://dstack.ai/docs/reference/dstack.yml/task/>
//! - `devcontainer.json`: <https://containers.dev/implementors/json_reference/>

mod devcontainer;
mod parts;

use super::context::{Context, Neighbour};
use super::dockerfile::{self, Described};
use super::facts::{SearchDirectory, Stage};
use super::form;
use super::kind::FileKind;
use super::requirements::{self, Gathered, Line};
use super::text::Text;
use imgcheck_base::document::{self, Node};
use imgcheck_base::error::Result;
use imgcheck_base::lexical::simplified;
use parts::{image, scalar, variables};

/// Reads such a file.
pub fn read(text: &Text<'_>, kind: FileKind, context: &Context<'_>) -> Result<Vec<Stage>> {
    if kind == FileKind::Devcontainer {
        return devcontainer::read(text, context);
    }
    let documents = document::read(text.name, text.text)?;
    form::check_documents(text, kind, &documents)?;
    let mut stages = Vec::new();
    for document in &documents {
        let described = match kind {
            FileKind::Cog => cog(text, document, context)?,
            FileKind::Bento => bento(text, document, context)?,
            FileKind::Skypilot => skypilot(text, document),
            _ => dstack(text, document),
        };
        stages.push(dockerfile::described(text, context, described)?);
    }
    for (index, stage) in stages.iter_mut().enumerate() {
        stage.index = index;
    }
    Ok(stages)
}

fn cog(text: &Text<'_>, document: &Node, context: &Context<'_>) -> Result<Described> {
    let Some(build) = document.get("build") else {
        return Ok(Described::default());
    };
    let mut gathered = packages(text, build.items_of("python_packages"), context);
    if let Some(path) = build.get("python_requirements") {
        listed(text, path, context, &mut gathered)?;
    }
    // With a GPU, Cog chooses the index of PyTorch for the CUDA.
    let has_gpu = build.text_of("gpu") == Some("true");
    if has_gpu {
        gathered
            .index
            .besides
            .push("https://download.pytorch.org/whl".to_owned());
    }
    let commands = build.items_of("run");
    let commands = commands.filter_map(|it| it.text().map(|_| it).or_else(|| it.get("command")));
    Ok(Described {
        python: build.text_of("python_version").map(str::to_owned),
        commands: commands.map(|it| vec![scalar(it)]).collect(),
        gathered,
        ..Described::default()
    })
}

fn bento(text: &Text<'_>, document: &Node, context: &Context<'_>) -> Result<Described> {
    let mut gathered = Gathered::default();
    let docker = document.get("docker");
    if let Some(python) = document.get("python") {
        gathered = packages(text, python.items_of("packages"), context);
        if let Some(path) = python.get("requirements_txt") {
            listed(text, path, context, &mut gathered)?;
        }
        let index = &mut gathered.index;
        for (key, option) in [
            ("index_url", "--index-url"),
            ("extra_index_url", "--extra-index-url"),
            ("find_links", "--find-links"),
        ] {
            let one = python.text_of(key).into_iter();
            let urls = one.chain(python.items_of(key).filter_map(Node::text));
            urls.for_each(|url| requirements::index_option(index, option, url));
        }
    }
    Ok(Described {
        image: docker.and_then(|it| image(text, it.get("base_image")?, "")),
        python: docker.and_then(|it| it.text_of("python_version").map(str::to_owned)),
        env: variables(text, docker.and_then(|it| it.get("env"))),
        gathered,
        ..Described::default()
    })
}

fn skypilot(text: &Text<'_>, document: &Node) -> Described {
    let resources = document.get("resources");
    let image_id = resources.and_then(|it| it.get("image_id"));
    let scripts = ["setup", "run"].into_iter();
    let scripts = scripts.filter_map(|key| document.get(key).map(scalar));
    Described {
        image: image_id.and_then(|it| image(text, it, "docker:")),
        env: variables(text, document.get("envs")),
        commands: scripts.map(|it| vec![it]).collect(),
        sees_files: true,
        ..Described::default()
    }
}

fn dstack(text: &Text<'_>, document: &Node) -> Described {
    let commands = document
        .items_of("commands")
        .chain(document.items_of("init"));
    Described {
        image: document.get("image").and_then(|it| image(text, it, "")),
        python: document.text_of("python").map(str::to_owned),
        env: variables(text, document.get("env")),
        // One shell runs all of them.
        commands: vec![commands.map(scalar).collect()],
        sees_files: true,
        ..Described::default()
    }
}

/// Packages of a list. The tool reports what it does not understand.
fn packages<'n>(
    text: &Text<'_>,
    nodes: impl Iterator<Item = &'n Node>,
    context: &Context<'_>,
) -> Gathered {
    let mut gathered = Gathered::default();
    for node in nodes {
        let (written, span) = scalar(node);
        let line = Line {
            text: written.trim().to_owned(),
            span: text.without_quotes(span),
        };
        let file = text.file_name();
        let _ = requirements::entry(text, file, &line, context, false, &mut gathered);
    }
    gathered
}

/// Adds the packages of a requirements file beside the file.
fn listed(
    text: &Text<'_>,
    node: &Node,
    context: &Context<'_>,
    gathered: &mut Gathered,
) -> Result<()> {
    let Some(path) = node.text().map(simplified) else {
        return Ok(());
    };
    let Neighbour::Text(content) = context.neighbour(text, &path)? else {
        gathered.unread.push(SearchDirectory {
            text: path,
            location: text.location(text.without_quotes(node.span.clone())),
        });
        return Ok(());
    };
    let name = context.name(&path);
    let other = context.text(&name, &content)?;
    requirements::gather(&other, &path, context, false, gathered)
}
