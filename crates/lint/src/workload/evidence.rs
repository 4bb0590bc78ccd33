//! What looks like an image or a GPU request, and belongs to no container that was understood. Nothing of it is judged, and all of it is
//! named.

use std::collections::HashSet;

use super::facts::{Container, Evidence, EvidenceKind};
use super::hints::{AROUND, Hints};
use super::kinds::Kinds;
use super::shape;
use super::text::Manifest;
use imgcheck_base::document::{self, Node, Value};
use imgcheck_model::finding::Location;

/// Maximum number of hints named per document.
const MAX_EVIDENCE: usize = 100;
/// How deep texts are read that hold documents.
const MAX_DEPTH: usize = 3;

/// How much of an object is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Whole objects in its texts: it starts no container itself.
    Objects,
    /// Images, too: its containers are at paths that are known, and their GPU requests are.
    Images,
    /// Everything.
    All,
}

/// A search of one document.
pub(super) struct Search<'s> {
    pub manifest: &'s Manifest<'s>,
    pub kinds: &'s Kinds,
    /// The images of the containers that were understood.
    images: HashSet<&'s str>,
    /// Whether one of these requests GPUs.
    has_gpu: bool,
    pub found: Vec<Evidence>,
}

/// Where a search is.
#[derive(Clone, Copy)]
struct At<'s> {
    scope: Scope,
    /// The last key on the way.
    key: &'s str,
    /// The text in the file that holds the document that is searched; `None` in the file's own.
    holder: Option<&'s Node>,
    depth: usize,
}

impl<'s> Search<'s> {
    pub fn new(manifest: &'s Manifest<'s>, kinds: &'s Kinds, containers: &'s [Container]) -> Self {
        Search {
            manifest,
            kinds,
            images: containers
                .iter()
                .flat_map(|it| [it.image.as_str(), it.decided_by.as_str()])
                .collect(),
            has_gpu: containers.iter().any(|it| it.gpu.is_some()),
            found: Vec::new(),
        }
    }

    /// Searches an object, or a part of it.
    pub fn run(mut self, node: &Node, scope: Scope) -> Vec<Evidence> {
        let at = At {
            scope,
            key: "",
            holder: None,
            depth: 0,
        };
        self.node(node, at);
        if scope == Scope::All && self.has_gpu {
            self.found.retain(|it| it.kind != EvidenceKind::Gpu);
        }
        self.found
    }

    fn hints(&self) -> &'s Hints {
        &self.kinds.hints
    }

    /// Adds what is not there yet, and not an image of a container.
    pub fn add(&mut self, kind: EvidenceKind, text: &str, location: Location) {
        let is_known = |it: &Evidence| it.kind == kind && it.text == text;
        let is_judged = kind == EvidenceKind::Image && self.images.contains(text);
        if is_judged || self.found.iter().any(is_known) || self.found.len() >= MAX_EVIDENCE {
            return;
        }
        self.found.push(Evidence {
            kind,
            text: text.to_owned(),
            location,
        });
    }

    fn add_at(&mut self, kind: EvidenceKind, text: &str, node: &Node, at: At) {
        let location = self.manifest.location(at.holder.unwrap_or(node));
        self.add(kind, text, location);
    }

    fn node(&mut self, node: &Node, at: At) {
        match &node.value {
            Value::Null | Value::Plain => {}
            Value::Text(text) => self.text(node, text, at),
            Value::List(items) => items.iter().for_each(|it| self.node(it, at)),
            Value::Map(entries) => self.map(node, entries, at),
        }
    }

    fn map(&mut self, node: &Node, entries: &[(Node, Node)], at: At) {
        // The specification of a Pod: what is in it was read, if its images were.
        if at.holder.is_none() && shape::is_pod(node) {
            for container in shape::containers_of(node) {
                if let Some(image) = container
                    .get("image")
                    .filter(|_| at.scope != Scope::Objects)
                {
                    self.node(image, At { key: "image", ..at });
                }
            }
            return;
        }
        let image = match at.scope {
            Scope::Objects => None,
            _ => self.hints().image_of(at.key, node),
        };
        if let Some(image) = &image {
            self.add_at(EvidenceKind::Image, image, node, at);
        }
        if at.scope == Scope::All {
            self.gpu_of_map(node, at);
        }
        for (key, value) in entries {
            let Some(name) = key.text().filter(|it| !self.hints().is_descriptive(it)) else {
                continue;
            };
            if image.is_some() && value.text().is_some() && self.hints().is_image_part(name) {
                continue;
            }
            let scope = match (at.scope, name) {
                (Scope::Images, "annotations") => Scope::Objects,
                (scope, _) => scope,
            };
            let key = name;
            self.node(value, At { scope, key, ..at });
        }
    }

    fn gpu_of_map(&mut self, node: &Node, at: At) {
        let hints = self.hints();
        if hints.is_gpu_key(at.key) && hints.is_gpu_map(node) {
            self.add_at(EvidenceKind::Gpu, at.key, node, at);
        }
        // A requirement of node affinity.
        let operator = node.text_of("operator").unwrap_or("NotIn");
        if let Some(label) = node.text_of("key").filter(|it| hints.is_gpu_key(it))
            && !["NotIn", "DoesNotExist"].contains(&operator)
        {
            self.add_at(EvidenceKind::Gpu, label, node, at);
        }
    }

    fn text(&mut self, node: &Node, text: &str, at: At) {
        if at.scope != Scope::Objects {
            let anywhere = at.scope == Scope::All;
            if let Some(image) = self.hints().image(at.key, text, anywhere) {
                return self.add_at(EvidenceKind::Image, &image, node, at);
            }
        }
        if at.scope == Scope::All {
            self.gpu(node, text, at);
        }
        self.document(node, text, at);
    }

    fn gpu(&mut self, node: &Node, text: &str, at: At) {
        let (hints, kinds) = (self.hints(), self.kinds);
        let is_key = |key: &str, value: &str| {
            (kinds.is_gpu_resource(key) || hints.is_gpu_key(key)) && hints.is_gpu_value(value)
        };
        let option = text.trim_start_matches('-');
        let (option, value) = option.split_once('=').unwrap_or((option, ""));
        let is_option = text.starts_with('-')
            && (is_key(option, value) || kinds.scripts.gpu_options.iter().any(|it| it == text));
        let resource = text.split('=').next().unwrap_or_default();
        let is_named = kinds.is_gpu_resource(resource)
            || at.key == "deviceClassName" && kinds.is_gpu_class(text)
            || at.key == "runtimeClassName" && kinds.is_gpu_runtime(text);
        if is_option || is_named {
            self.add_at(EvidenceKind::Gpu, text, node, at);
        } else if is_key(at.key, text) || hints.is_gpu_word(at.key, text) {
            self.add_at(EvidenceKind::Gpu, &format!("{}: {text}", at.key), node, at);
        }
    }

    /// Reads a text that is a document itself, or lines.
    fn document(&mut self, node: &Node, text: &str, at: At) {
        let text = text.trim();
        let is_document =
            text.starts_with(['{', '[']) || text.contains(": ") || text.contains(":\n");
        let is_long = is_document || text.contains(char::is_whitespace);
        if at.depth >= MAX_DEPTH || !is_long || !self.hints().may_hold(text) {
            return;
        }
        let at = At {
            holder: at.holder.or(Some(node)),
            depth: at.depth + 1,
            ..at
        };
        let documents = match is_document {
            true => document::read_embedded(text).unwrap_or_default(),
            false => Vec::new(),
        };
        let mut found = Vec::new();
        documents
            .iter()
            .for_each(|it| shape::flatten(it, &mut found));
        let is_structure = |it: &&Node| !matches!(it.value, Value::Text(_) | Value::Null);
        if found.iter().any(is_structure) {
            for document in found {
                let scope = match shape::kind_of(document) {
                    Some((group, kind)) if self.kinds.is_inert(group, kind) => Scope::Objects,
                    Some(_) => Scope::All,
                    None => at.scope,
                };
                self.node(document, At { scope, ..at });
            }
        } else if at.scope == Scope::All {
            text.lines().for_each(|line| self.line(node, line, at));
        }
    }

    /// Reads a line of a script or of a document that is not well-formed.
    fn line(&mut self, node: &Node, line: &str, at: At) {
        let (hints, line) = (self.hints(), line.trim().trim_start_matches("- "));
        if let Some((key, value)) = line.split_once(": ")
            && !key.contains(char::is_whitespace)
        {
            let value = value.trim().trim_matches(['"', '\'']);
            if let Some(image) = hints.image(key, value, true) {
                self.add_at(EvidenceKind::Image, &image, node, at);
            }
            self.gpu(node, value, At { key, ..at });
        }
        for word in line.split_whitespace() {
            let word = word.trim_matches(AROUND);
            if let Some(image) = hints.certain_image(word) {
                self.add_at(EvidenceKind::Image, &image, node, at);
            } else if word.starts_with("--") {
                self.gpu(node, word, At { key: "", ..at });
            }
        }
    }
}
