//! How images and GPU requests are written where no container is understood: `hints` in `rules/knowledge/workloads.yaml`.

use serde::Deserialize;

use imgcheck_base::document::Node;
use imgcheck_base::glob::glob;
use imgcheck_base::reference::name::Name;

/// What is around a word in a shell or in a document.
pub(super) const AROUND: [char; 11] = ['"', '\'', '`', '(', ')', '[', ']', '{', '}', ',', ';'];
/// Maximum length of a text that may be an image, in bytes.
const LONGEST: usize = 512;
/// What a schema says instead of a value.
const SCHEMA_TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Names of keys, and what their values look like. Patterns are compared with [`normalized`] keys.
#[derive(Debug, Deserialize)]
pub struct Hints {
    words: Vec<String>,
    image_keys: Vec<String>,
    image_name_keys: Vec<String>,
    image_repositories: Vec<String>,
    image_names: Vec<String>,
    image_registries: Vec<String>,
    image_tags: Vec<String>,
    image_digests: Vec<String>,
    image_transports: Vec<String>,
    not_registries: Vec<String>,
    not_images: Vec<String>,
    gpu_keys: Vec<String>,
    gpu_value_keys: Vec<String>,
    no_gpu: Vec<String>,
    descriptive: Vec<String>,
    ignored_annotations: Vec<String>,
}

/// What a script starts in a way that is not followed.
#[derive(Debug, Deserialize)]
pub struct ScriptHints {
    /// Words that start a container.
    pub(super) starts: Vec<String>,
    /// Commands that only name an image.
    pub(super) silent: Vec<String>,
    pub(super) gpu_options: Vec<String>,
    /// How lines for a batch system begin, and what requests a GPU in them.
    pub(super) directives: Vec<String>,
    pub(super) gpu_directives: Vec<String>,
}

impl Hints {
    /// Whether what is below a key only describes something.
    pub fn is_descriptive(&self, key: &str) -> bool {
        self.descriptive.iter().any(|it| it == key)
            || self.ignored_annotations.iter().any(|it| it == key)
    }

    /// Whether a text that may be a document is worth reading.
    pub fn may_hold(&self, text: &str) -> bool {
        let lower = text.to_ascii_lowercase();
        let mut words = self.words.iter();
        text.contains('/') || words.any(|it| lower.contains(it.as_str()))
    }

    /// Whether the value of a key is an image.
    pub fn is_image_key(&self, key: &str) -> bool {
        matches(&self.image_keys, key)
    }

    /// The image that the text of a key names. `anywhere` also takes those of other keys, if they cannot be anything else.
    pub fn image(&self, key: &str, text: &str, anywhere: bool) -> Option<String> {
        if let Some(rest) = self.without_transport(text) {
            return self.is_image(rest).then(|| rest.to_owned());
        }
        let is_exact = self.is_image_key(key);
        if is_exact && is_open(text) && !text.contains('\n') {
            return Some(text.trim().to_owned());
        }
        let is_named = matches(&self.image_name_keys, key) && text.contains(['/', ':', '@']);
        if (is_exact || is_named) && self.is_image(text) {
            return Some(text.to_owned());
        }
        anywhere.then(|| self.certain_image(text)).flatten()
    }

    /// The image that a text, or the value of an argument `--name=VALUE`, names beyond doubt: with a registry, and a tag or a digest.
    pub fn certain_image(&self, text: &str) -> Option<String> {
        let text = text.rsplit('=').next().unwrap_or(text);
        let text = self.without_transport(text).unwrap_or(text);
        let name = self.name(text)?;
        // `host.example/path:8080` may be an address.
        let is_port =
            |tag: &str| (4..=5).contains(&tag.len()) && tag.bytes().all(|it| it.is_ascii_digit());
        let is_tagged = name.tag.as_deref().is_some_and(|tag| !is_port(tag));
        let is_certain = name.digest.is_some() || name.registry.is_some() && is_tagged;
        is_certain.then(|| text.to_owned())
    }

    /// The image that a map is: repository, and perhaps registry, tag and digest. One that is not the value of an image's key needs more
    /// than a repository.
    pub fn image_of(&self, key: &str, map: &Node) -> Option<String> {
        let first = |keys: &[String]| {
            let is_key = |wanted: &str, key: &str| normalized(key) == wanted;
            keys.iter().find_map(|wanted| {
                let mut pairs = map.pairs();
                let (_, text) = pairs.find(|(key, _)| is_key(wanted, key))?;
                (!text.is_empty()).then_some(text)
            })
        };
        let is_image = self.is_image_key(key);
        let registry = first(&self.image_registries);
        let of_others = || first(&self.image_names).filter(|_| is_image || registry.is_some());
        // `{repository: nvcr.io/nvidia, image: driver}`: the repository is the first part.
        let (registry, repository) = match (first(&self.image_repositories), map.text_of("image")) {
            (Some(first), Some(image)) if registry.is_none() => (Some(first), image),
            (Some(repository), _) => (registry, repository),
            (None, _) => (registry, of_others()?),
        };
        let (tag, digest) = (first(&self.image_tags), first(&self.image_digests));
        let is_enough = is_image || registry.is_some() || tag.is_some() || digest.is_some();
        if !is_enough || map.get("chart").is_some() || map.get("type").is_some_and(is_schema) {
            return None;
        }
        let mut image = String::new();
        if let Some(registry) = registry.filter(|it| !repository.starts_with(it)) {
            let host = registry
                .split_once("://")
                .map_or(registry, |(_, host)| host);
            image.push_str(&format!("{}/", host.trim_end_matches('/')));
        }
        image.push_str(repository);
        let has_tag = |it: &str| it.rsplit('/').next().is_some_and(|it| it.contains(':'));
        if let Some(tag) = tag.filter(|_| !has_tag(repository)) {
            image.push_str(&format!(":{tag}"));
        }
        if let Some(digest) = digest.filter(|_| !repository.contains('@')) {
            let kind = if digest.contains(':') { "" } else { "sha256:" };
            image.push_str(&format!("@{kind}{digest}"));
        }
        (is_image && is_open(&image) || self.is_image(&image)).then_some(image)
    }

    /// Whether the text of a key is a part of a map that is an image.
    pub fn is_image_part(&self, key: &str) -> bool {
        let key = normalized(key);
        let parts = [
            &self.image_repositories,
            &self.image_names,
            &self.image_registries,
            &self.image_tags,
            &self.image_digests,
        ];
        parts.into_iter().flatten().any(|it| *it == key)
    }

    fn without_transport<'t>(&self, text: &'t str) -> Option<&'t str> {
        let mut transports = self.image_transports.iter();
        transports.find_map(|it| text.strip_prefix(it.as_str()))
    }

    fn is_image(&self, text: &str) -> bool {
        let is_plain = text.parse::<f64>().is_ok() || ["true", "false", "null"].contains(&text);
        !is_plain && self.name(text).is_some()
    }

    fn name(&self, text: &str) -> Option<Name> {
        if text.len() > LONGEST || self.not_images.iter().any(|it| text.ends_with(it)) {
            return None;
        }
        let name = Name::of_grammar(text).ok()?;
        let registry = name.registry.as_deref().unwrap_or_default();
        (!self.not_registries.iter().any(|it| it == registry)).then_some(name)
    }

    /// Whether the value of a key requests GPUs, if it is not refused by [`is_gpu_value`](Self::is_gpu_value).
    pub fn is_gpu_key(&self, key: &str) -> bool {
        matches(&self.gpu_keys, key)
    }

    /// Whether a text is a number of GPUs or the name of one.
    pub fn is_gpu_value(&self, text: &str) -> bool {
        let text = text.trim().to_ascii_lowercase();
        let first = text.split_whitespace().next().unwrap_or_default();
        match first.parse::<f64>() {
            Ok(count) => count != 0.0,
            Err(_) if text.contains(char::is_whitespace) => text.contains("nvidia"),
            Err(_) => !self.no_gpu.contains(&text),
        }
    }

    /// Whether the map of a GPU's key requests some: `{count: 1}`, `{H100: 8}`, `{type: l4}`, `{enabled: true}`.
    pub fn is_gpu_map(&self, map: &Node) -> bool {
        let is_off = map
            .text_of("enabled")
            .is_some_and(|it| !self.is_gpu_value(it));
        if is_off || map.get("type").is_some_and(is_schema) {
            return false;
        }
        let mut counts = map.pairs().filter_map(|(_, it)| it.parse::<f64>().ok());
        match counts.next() {
            Some(count) => count != 0.0 || counts.any(|it| it != 0.0),
            None => map.pairs().any(|(_, it)| self.is_gpu_value(it)),
        }
    }

    /// Whether a text is only the word `gpu`, at a key that names a kind of resource.
    pub fn is_gpu_word(&self, key: &str, text: &str) -> bool {
        let is_word = ["gpu", "gpus"]
            .iter()
            .any(|it| text.eq_ignore_ascii_case(it));
        is_word && matches(&self.gpu_value_keys, key)
    }
}

/// Whether a text has a placeholder.
fn is_open(text: &str) -> bool {
    ["$(", "${", "{{"].iter().any(|it| text.contains(it))
}

fn is_schema(kind: &Node) -> bool {
    kind.text().is_some_and(|it| SCHEMA_TYPES.contains(&it))
}

fn matches(patterns: &[String], key: &str) -> bool {
    let key = normalized(key);
    patterns
        .iter()
        .any(|pattern| match pattern.strip_prefix('*') {
            // Most patterns are a suffix, and most keys have none of them.
            Some(suffix) if !suffix.contains('*') => key.ends_with(suffix),
            _ => glob(&key, pattern),
        })
}

/// A key in lower case, without what is before a slash and without `-`, `_`, `.` and spaces.
fn normalized(key: &str) -> String {
    let key = key.rsplit('/').next().unwrap_or(key);
    let letters = key.chars().filter(|it| !['-', '_', '.', ' '].contains(it));
    letters.flat_map(char::to_lowercase).collect()
}
