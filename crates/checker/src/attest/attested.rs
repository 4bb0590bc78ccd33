//! Facts from a registry instead of layers.

use oci_spec::image::ImageManifest;

use super::statements::Statements;
use crate::facts::ImageFacts;
use crate::{Checker, ImageRequest};
use imgcheck_base::error::{Error, Result};
use imgcheck_base::limits::{Limit, Limits};
use imgcheck_elf::Depth;
use imgcheck_layer::cache;
use imgcheck_source::attest::artifact::{FACTS as ARTIFACT, LAYER_FACTS};
use imgcheck_source::attest::predicate::{FACTS, FactsPredicate};
use imgcheck_source::source::Image;
use imgcheck_source::source::registry::{Access, Artifacts};

/// What was found.
pub enum Found {
    /// The facts, and the statement about them.
    Facts(Box<ImageFacts>, FactsPredicate),
    /// No trusted key signed facts of the image.
    Nothing,
    /// Facts that this program does not take for its own: they were read by another version.
    Foreign(FactsPredicate),
}

impl Checker {
    /// The facts stored beside an image, if one of the keys of this checker signed them; otherwise a remark says why not.
    ///
    /// # Errors
    /// The request was cancelled.
    pub(crate) fn attested(
        &self,
        request: &ImageRequest,
        image: &Image,
    ) -> Result<Option<ImageFacts>> {
        let (Some(reference), Some(digest)) = (request.read_in_registry(image), &image.digest)
        else {
            return Ok(None);
        };
        if self.facts_keys.is_empty() || request.cached_only {
            return Ok(None);
        }
        let read = || {
            let artifacts = self.artifacts(request, reference, Access::Pull)?;
            let statements = Statements::read(&artifacts, digest, &self.facts_keys, &[FACTS])?;
            facts(&artifacts, &statements, image, &self.limits_of(request))
        };
        let why = match read() {
            Ok(Found::Facts(facts, _)) if facts.depth() == request.depth => {
                return Ok(Some(*facts));
            }
            Ok(Found::Facts(..)) => "they were read at another depth".to_owned(),
            Ok(Found::Nothing) => "nobody whose key counts signed any".to_owned(),
            Ok(Found::Foreign(it)) => foreign(&it),
            Err(error) if error.is_interrupted() => return Err(error),
            Err(error) => error.message(),
        };
        self.remark(format!(
            "{reference}: the facts in the registry are not used, its layers are read: {why}"
        ));
        Ok(None)
    }
}

/// Why facts of another program are not used.
pub fn foreign(facts: &FactsPredicate) -> String {
    let version = &facts.engine.version;
    match version == env!("CARGO_PKG_VERSION") {
        true => format!("imgcheck {version} read them with other limits, or is another build"),
        false => format!(
            "imgcheck {version} read them, and this is {}",
            env!("CARGO_PKG_VERSION")
        ),
    }
}

/// The facts that statements name.
///
/// # Errors
/// The registry did not answer, or what it has is damaged or exceeds a limit.
pub fn facts(
    artifacts: &Artifacts,
    statements: &Statements,
    image: &Image,
    limits: &Limits,
) -> Result<Found> {
    let mut foreign = None;
    for signed in statements.of(FACTS) {
        let Ok(predicate) =
            serde_json::from_value::<FactsPredicate>(signed.statement.predicate.clone())
        else {
            continue;
        };
        match depth_of(&predicate.facts_version, limits) {
            Some(depth) => {
                let facts = read(artifacts, image, &predicate.artifact, depth, limits)?;
                return Ok(Found::Facts(Box::new(facts), predicate));
            }
            None => foreign = Some(predicate),
        }
    }
    Ok(foreign.map_or(Found::Nothing, Found::Foreign))
}

/// The depth at which this program reads facts of this version.
fn depth_of(version: &str, limits: &Limits) -> Option<Depth> {
    let depths = [Depth::Default, Depth::Deep];
    depths
        .into_iter()
        .find(|depth| cache::version(*depth, limits) == version)
}

fn read(
    artifacts: &Artifacts,
    image: &Image,
    artifact: &str,
    depth: Depth,
    limits: &Limits,
) -> Result<ImageFacts> {
    let damaged = |problem: &str| Error::damaged(format!("the facts {artifact}"), problem);
    let manifest = artifacts.image_manifest(artifact)?;
    if !is_about(&manifest, image.digest.as_deref().unwrap_or_default()) {
        return Err(damaged("they are not those of the image"));
    }
    let layers = manifest.layers();
    let are_facts = layers
        .iter()
        .all(|it| it.media_type().to_string() == LAYER_FACTS);
    if layers.len() != image.layers.len() || !are_facts {
        return Err(damaged("they do not have the layers of the image"));
    }
    let limit = limits.of(Limit::FactsBytes);
    let read = |layer| artifacts.blob(layer, limit);
    let layers: Vec<Vec<u8>> = layers.iter().map(read).collect::<Result<_>>()?;
    ImageFacts::of_layers(image, depth, &layers, limits)
}

fn is_about(manifest: &ImageManifest, digest: &str) -> bool {
    let kind = manifest.artifact_type().as_ref().map(ToString::to_string);
    let subject = manifest.subject().as_ref();
    let subject = subject.map(|it| it.digest().to_string());
    kind.as_deref() == Some(ARTIFACT) && subject.as_deref() == Some(digest)
}
