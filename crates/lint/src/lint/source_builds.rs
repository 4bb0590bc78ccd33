//! Packages that pip compiles, and what their build lacks: `lint.source_builds`.

mod table;

use super::facts::{Pin, Stage};
use super::faults::SourceBuild;
use super::kind::FileKind;
use super::pin_knowledge::PinKnowledge;
use super::pin_tables::is_in;
use imgcheck_base::error::Result;
use imgcheck_model::finding::Severity;
use table::{Build, Builds, names_commit};

pub use table::{is_built_from, without_git};

/// The types of files that say where they build.
const COMMANDS: &[FileKind] = &[
    FileKind::Dockerfile,
    FileKind::Skypilot,
    FileKind::Dstack,
    FileKind::Devcontainer,
];

/// Those of all stages. A list of packages does not say how they are built.
///
/// # Errors
/// The table is broken, which the tests exclude.
pub fn all(stages: &[Stage], kind: &str) -> Result<Vec<SourceBuild>> {
    let mut found = Vec::new();
    if !COMMANDS.iter().any(|it| it.name() == kind) {
        return Ok(found);
    }
    for (at, stage) in stages.iter().enumerate() {
        if !stage.pins.iter().any(|pin| pin.manager == "pip") {
            continue;
        }
        let builds = Builds::builtin()?;
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
        let is_left_out = build.unless.as_ref().is_some_and(|it| sets(stage, pin, it));
        (!is_left_out).then_some((pin, build))
    };
    installed.filter_map(of_pin).collect()
}

/// The values that a variable may have when a package is built: that of its command, or those of the stage.
fn values<'s>(stage: &'s Stage, pin: &'s Pin, name: &str) -> Vec<&'s str> {
    if let Some(value) = pin.variables.get(name) {
        return vec![value];
    }
    let variables = stage.env.iter().chain(&stage.arguments);
    let own = variables.filter(|it| it.name == name && !it.replaced);
    own.map(|it| it.value.as_str()).collect()
}

/// Whether a package is built with `NAME=VALUE`.
fn sets(stage: &Stage, pin: &Pin, setting: &str) -> bool {
    let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
    values(stage, pin, name).contains(&value)
}

/// Whether the base image has PyTorch, as far as is known.
fn may_bring_torch(stage: &Stage, knowledge: &PinKnowledge) -> bool {
    knowledge.kept_base(stage).is_some_and(|base| {
        let is_known = knowledge.base_images(&base.repository).is_some();
        !is_known || base.repository == knowledge.partners.official
    })
}

impl Builds {
    /// A build that imports PyTorch, and does not see the installed one.
    fn isolated(
        &self,
        stage: &Stage,
        pin: &Pin,
        build: &Build,
        knowledge: &PinKnowledge,
    ) -> Option<SourceBuild> {
        if build.imports_torch != Some(true) || pin.prepared {
            return None;
        }
        // pip builds all that it installs before it installs the first.
        let frameworks = || stage.pins.iter().filter(|it| knowledge.is_framework(it));
        let is_later = frameworks().any(|it| it.command == pin.command)
            && !frameworks().any(|it| it.command < pin.command);
        if is_later && !(pin.no_build_isolation && may_bring_torch(stage, knowledge)) {
            return Some(SourceBuild::new("isolated", Severity::Warning, pin));
        }
        if pin.no_build_isolation {
            return None;
        }
        let is_isolated = pin.uv || build.pyproject == Some(true) && !names_commit(pin);
        let severity = match is_isolated || self.has_new_pip(stage)? {
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
        let is_left_out = |it: &String| sets(stage, pin, it);
        let is_needed = match build.needs_nvcc.as_str() {
            _ if build.nvcc_unless.as_ref().is_some_and(is_left_out) => false,
            "always" | "without_release_wheel" => true,
            "gpu_or" | "on_request" => is_requested(stage, pin, build),
            _ => false,
        };
        let base = stage.base.as_ref()?;
        let images = knowledge.base_images(&base.repository)?;
        let flavours = base.claims.iter().filter(|it| it.subject == "flavour");
        let flavours: Vec<&str> = flavours.map(|it| it.version.as_str()).collect();
        // What is copied or downloaded is not seen.
        let brings = |it: &&Stage| it.index != stage.index && !has_only_uv(it);
        let names_cuda = stage.env.iter().any(|it| it.value.contains("cuda"));
        let is_alone = !stages.iter().any(|it| brings(&it)) && !names_cuda;
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

/// Whether a stage is an image of uv, from which its program is copied.
fn has_only_uv(stage: &Stage) -> bool {
    let base = stage.base.as_ref();
    base.is_some_and(|it| it.repository == "astral-sh/uv")
}

/// Whether a variable or option of a build asks for its CUDA part.
fn is_requested(stage: &Stage, pin: &Pin, build: &Build) -> bool {
    let has_option = |option: &String| {
        let mut given = pin.build_options.iter();
        given.any(|it| it.split(['=', ' ']).any(|word| word == option))
    };
    let is_on = |value: &str| match build.containing.is_empty() {
        true => value == "1",
        false => build.containing.iter().any(|it| turns_on(value, it)),
    };
    let mut variables = build.variables.iter();
    build.options.iter().any(has_option)
        || variables.any(|name| values(stage, pin, name).into_iter().any(is_on))
}

/// Whether arguments of CMake turn an option on: `-DGGML_CUDA=on`.
fn turns_on(arguments: &str, option: &str) -> bool {
    let mut words = arguments.split([' ', ';', '"', '\'']);
    words.any(|word| {
        let value = word.split_once(option).map(|(_, value)| value);
        let value = value.and_then(|it| it.strip_prefix("=").or(it.strip_prefix(":BOOL=")));
        value.is_some_and(|it| {
            ["1", "on", "yes", "true"].contains(&it.to_ascii_lowercase().as_str())
        })
    })
}
