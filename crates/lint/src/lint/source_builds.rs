//! Packages that pip compiles, and what their build lacks: `lint.source_builds`.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::facts::{Pin, Stage};
use super::faults::SourceBuild;
use super::kind::FileKind;
use super::pin_knowledge::PinKnowledge;
use super::pin_tables::is_in;
use imgcheck_base::error::Result;
use imgcheck_model::finding::Severity;
use imgcheck_model::knowledge::{OnFirstUse, table};

/// `rules/knowledge/source-builds.yaml`, which says what each field means.
#[derive(Debug, Deserialize)]
struct Builds {
    pip: Vec<Pip>,
    compilers: Vec<Compiler>,
    builds: Vec<Build>,
}

#[derive(Debug, Deserialize)]
struct Pip {
    releases: String,
    in_place: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Compiler {
    manager: String,
    prefix: String,
}

#[derive(Debug, Deserialize)]
struct Build {
    package: String,
    releases: Option<String>,
    origin: String,
    #[serde(default, deserialize_with = "known")]
    pyproject: Option<bool>,
    #[serde(default, deserialize_with = "known")]
    imports_torch: Option<bool>,
    #[serde(default)]
    needs_nvcc: String,
    #[serde(default)]
    variables: Vec<String>,
    unless: Option<String>,
    #[serde(default, deserialize_with = "known")]
    wheels_on_pypi: Option<bool>,
}

/// `unknown` is a word of the table.
fn known<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<bool>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_bool())
}

/// Those of all stages. Only a Dockerfile says where it builds.
///
/// # Errors
/// The table is broken, which the tests exclude.
pub fn all(stages: &[Stage], kind: &str) -> Result<Vec<SourceBuild>> {
    static BUILDS: OnFirstUse<Builds> = OnFirstUse::new();
    let mut found = Vec::new();
    if kind != FileKind::Dockerfile.name() {
        return Ok(found);
    }
    for (at, stage) in stages.iter().enumerate() {
        if !stage.pins.iter().any(|pin| pin.manager == "pip") {
            continue;
        }
        let builds = BUILDS.get_or_make(|| table("source-builds"))?;
        // What is copied from an earlier stage was built there.
        let earlier = || stages[..at].iter().flat_map(|stage| &stage.pins);
        for (pin, build) in built(stage, builds) {
            if earlier().any(|it| it.location == pin.location) {
                continue;
            }
            let knowledge = PinKnowledge::builtin()?;
            let isolated = builds.isolated(stage, pin, build, knowledge);
            let lacking =
                isolated.or_else(|| builds.without_compiler(stages, stage, pin, build, knowledge));
            found.extend(lacking);
        }
    }
    Ok(found)
}

/// The packages of a stage that pip builds from source, with what is known of that.
fn built<'s>(stage: &'s Stage, builds: &'s Builds) -> Vec<(&'s Pin, &'s Build)> {
    let pins = stage.pins.iter();
    let installed = pins.filter(|pin| {
        let is_certain = !pin.conditional && !pin.constraint && !pin.present && !pin.replaced;
        pin.manager == "pip" && is_certain && pin.local.is_none() && pin.index.is_none()
    });
    let of_pin = |pin: &'s Pin| {
        let build = builds
            .of(pin)
            .filter(|it| it.wheels_on_pypi == Some(false))?;
        let is_left_out = build.unless.as_ref().is_some_and(|it| sets(stage, it));
        (!is_left_out).then_some((pin, build))
    };
    installed.filter_map(of_pin).collect()
}

/// Whether the environment of a stage has `NAME=VALUE`.
fn sets(stage: &Stage, setting: &str) -> bool {
    let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
    let mut variables = stage.env.iter().chain(&stage.arguments);
    variables.any(|it| it.name == name && it.value == value)
}

impl Builds {
    /// The row of a package: of its release, of the newest one, or of its repository.
    fn of(&self, pin: &Pin) -> Option<&Build> {
        let origin = match pin.specifier.strip_prefix("@ ") {
            Some(address) if address.starts_with("git+") => "git",
            Some(_) => return None,
            None => "pypi",
        };
        let mut rows = self.builds.iter().rev();
        rows.find(|row| {
            let is_release = match (&row.releases, &pin.version) {
                (Some(releases), Some(version)) => is_in(version, releases),
                (None, _) => true,
                (_, None) => pin.specifier.is_empty() || origin == "git",
            };
            row.package == pin.name && row.origin == origin && is_release
        })
    }

    /// A build that imports PyTorch, and does not see the installed one.
    fn isolated(
        &self,
        stage: &Stage,
        pin: &Pin,
        build: &Build,
        knowledge: &PinKnowledge,
    ) -> Option<SourceBuild> {
        if build.imports_torch != Some(true) {
            return None;
        }
        // pip builds all that it installs before it installs the first.
        let frameworks = || stage.pins.iter().filter(|it| knowledge.is_framework(it));
        let is_later = frameworks().any(|it| it.command == pin.command)
            && !frameworks().any(|it| it.command < pin.command);
        if is_later {
            return Some(SourceBuild::new("isolated", Severity::Warning, pin));
        }
        if pin.no_build_isolation {
            return None;
        }
        let severity = match build.pyproject == Some(true) || self.has_new_pip(stage)? {
            true => Severity::Warning,
            false => Severity::Note,
        };
        Some(SourceBuild::new("isolated", severity, pin))
    }

    /// Whether a command installs a pip that isolates every build; `None` if it installs one that does not.
    fn has_new_pip(&self, stage: &Stage) -> Option<bool> {
        let mut pins = stage.pins.iter().rev();
        let Some(pip) = pins.find(|pin| pin.name == "pip" && pin.manager == "pip") else {
            return Some(false);
        };
        let Some(version) = &pip.version else {
            return pip.specifier.is_empty().then_some(true);
        };
        let mut rows = self.pip.iter();
        let row = rows.find(|row| is_in(version, &row.releases))?;
        row.in_place.is_empty().then_some(true)
    }

    /// A build that needs nvcc, in an image without.
    fn without_compiler(
        &self,
        stages: &[Stage],
        stage: &Stage,
        pin: &Pin,
        build: &Build,
        knowledge: &PinKnowledge,
    ) -> Option<SourceBuild> {
        let is_requested = || {
            let mut variables = build.variables.iter();
            variables.any(|name| {
                stage
                    .env
                    .iter()
                    .any(|it| it.name == *name && it.value == "1")
            })
        };
        let is_needed = match build.needs_nvcc.as_str() {
            "always" | "without_release_wheel" => true,
            "gpu_or" => is_requested(),
            _ => false,
        };
        let base = stage.base.as_ref()?;
        let images = knowledge.base_images(&base.repository)?;
        let flavours = base.claims.iter().filter(|it| it.subject == "flavour");
        let flavours: Vec<&str> = flavours.map(|it| it.version.as_str()).collect();
        // What is copied or downloaded is not seen.
        let is_alone = stages.len() == 1 && !stage.env.iter().any(|it| it.value.contains("cuda"));
        let lacks = match flavours.as_slice() {
            [] => !images.has("cuda") && is_alone,
            [flavour] => ["base", "runtime"].contains(flavour),
            _ => false,
        };
        let is_installed = stage.pins.iter().any(|it| self.has_compiler(it));
        (is_needed && lacks && !is_installed).then(|| SourceBuild {
            base: base.reference.clone().unwrap_or_default(),
            ..SourceBuild::new("compiler", Severity::Warning, pin)
        })
    }

    fn has_compiler(&self, pin: &Pin) -> bool {
        let mut rows = self.compilers.iter();
        rows.any(|it| it.manager == pin.manager && pin.name.starts_with(&it.prefix))
    }
}
