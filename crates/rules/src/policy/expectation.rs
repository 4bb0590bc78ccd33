//! What an image must contain: expectations and allowed stacks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use imgcheck_base::spelling::{InvalidInput, nearest};
use imgcheck_base::version;
use imgcheck_base::version::requirement::normalized;
use imgcheck_tables::vocabulary::VERSIONS;

/// Major and minor version of the loaded CUDA runtime: the one subject that is not a component.
pub const CUDA: &str = "cuda";
/// The operating system, whose versions have no order.
const OS: &str = "os";
/// In an allowed stack: the component must be missing.
const NONE: &str = "none";

/// A component or Python distribution, and its required versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Requirement {
    /// Name of a component, of a Python distribution (normalized as in PEP 503), or `cuda`.
    pub name: String,
    /// The version specifiers; empty if the component must be missing.
    pub specifier: String,
}

/// A requirement for every image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Expectation {
    /// As it was written: `torch==2.8.*`.
    pub text: String,
    /// Name of a component, of a Python distribution (normalized as in PEP 503), or `cuda`.
    pub name: String,
    /// The version specifiers.
    pub specifier: String,
    /// Where it was written: `--expect`, or file and line.
    pub origin: String,
    /// The component that may be meant, if the name is that of none: `cudnn` for `cuddn`. A distribution may have such a name, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meant: Option<String>,
}

/// An allowed combination.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AllowedStack {
    /// Name of the stack in the configuration.
    pub name: String,
    /// All of them must be met.
    pub parts: Vec<Requirement>,
}

/// The valid names in requirements.
pub fn subjects() -> impl Iterator<Item = &'static str> + Clone {
    VERSIONS.iter().copied()
}

/// Rejects an unknown name, with a suggestion.
pub fn check_subject(name: &str) -> Result<(), InvalidInput> {
    if subjects().any(|known| known == name) {
        return Ok(());
    }
    let lower = normalized(name);
    let near = other_spelling(&lower)
        .or_else(|| subjects().find(|known| lower.len() > 2 && known.starts_with(&lower)))
        .or_else(|| nearest(&lower, subjects()));
    Err(InvalidInput {
        problem: format!("unknown component `{name}`"),
        help: match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                let mut known: Vec<&str> = subjects().collect();
                known.sort_unstable();
                format!("known components: {}", known.join(", "))
            }
        },
    })
}

/// The component that somebody means who writes `pytorch`.
fn other_spelling(lower: &str) -> Option<&'static str> {
    subjects().find(|known| lower.strip_prefix("py") == Some(known))
}

/// The name of a component or of a Python distribution.
fn component_or_distribution(name: &str) -> Result<String, InvalidInput> {
    if subjects().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    let lower = normalized(name);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
    match lower.is_empty() || !lower.chars().all(is_name) || other_spelling(&lower).is_some() {
        true => check_subject(name).map(|()| lower),
        false => Ok(lower),
    }
}

impl Requirement {
    /// Reads `torch==2.8.*` or `numpy<2`: the name of a component or Python distribution, and specifiers.
    pub fn parse(text: &str) -> Result<Self, InvalidInput> {
        let operator = text.find(|c: char| "=<>!~".contains(c));
        let (name, specifier) = text.split_at(operator.unwrap_or(text.len()));
        let name = &component_or_distribution(name.trim())?;
        // `,` separates the limits of one version: `torch>=2.6,<2.8`.
        let second = specifier.split(',').skip(1).find(|it| {
            it.trim_start()
                .starts_with(|c: char| c.is_ascii_alphabetic())
        });
        if let Some(second) = second {
            return Err(InvalidInput {
                problem: format!("`{text}` expects several packages"),
                help: format!(
                    "separate them with `;`, as in `{}`",
                    text.replacen(&format!(",{second}"), &format!(";{second}"), 1)
                ),
            });
        }
        let is_assignment = specifier
            .strip_prefix('=')
            .is_some_and(|it| !it.starts_with(['=', '<', '>']));
        if is_assignment {
            return Err(InvalidInput {
                problem: format!("`{text}` has a single `=`"),
                help: format!("write `{name}={}`", specifier.trim_end()),
            });
        }
        if operator.is_none() {
            return Err(InvalidInput {
                problem: format!("`{text}` has no version"),
                help: format!(
                    "add a version, such as {}; `imgcheck facts IMAGE` shows the one that an image has",
                    example(name)
                ),
            });
        }
        Requirement::new(name, specifier.trim())
    }

    /// Reads an entry of an allowed stack: a version alone means `==`, and `none` that the component must be missing.
    pub fn of_stack(name: &str, written: &str) -> Result<Self, InvalidInput> {
        check_subject(name)?;
        let written = written.trim();
        if written == NONE {
            return Ok(Requirement {
                name: name.to_owned(),
                specifier: String::new(),
            });
        }
        let bare = written.starts_with(|c: char| c.is_ascii_alphanumeric());
        let specifier = if bare {
            format!("=={written}")
        } else {
            written.to_owned()
        };
        Requirement::new(name, &specifier)
    }

    /// `name` is known to be valid.
    fn new(name: &str, specifier: &str) -> Result<Self, InvalidInput> {
        if name == OS {
            check_system(specifier)?;
        } else {
            version::fits::check_versions(specifier)
                .map_err(|it| invalid_specifier(specifier, &it))?;
        }
        let too_fine = |specifier: &str| {
            let version = specifier.trim_start_matches(|c: char| !c.is_ascii_digit());
            version.trim_end_matches(".*").matches('.').count() > 1
        };
        if name == CUDA && specifier.split(',').any(too_fine) {
            return Err(InvalidInput {
                problem: format!(
                    "`{specifier}`: only the major and minor version of the CUDA runtime is known"
                ),
                help: "write cuda==12.8, or use cuda-runtime or cuda-toolkit for package versions"
                    .to_owned(),
            });
        }
        Ok(Requirement {
            name: name.to_owned(),
            specifier: specifier.to_owned(),
        })
    }
}

/// A requirement in the form of the component's versions.
fn example(name: &str) -> String {
    let specifier = match name {
        "torch" => "==2.8.*",
        CUDA => "==12.8",
        "cudnn" => ">=9.7,<10",
        "python" => "==3.11",
        OS => "==ubuntu22.04",
        _ => "==VERSION",
    };
    format!("{name}{specifier}")
}

fn invalid_specifier(specifier: &str, problem: &str) -> InvalidInput {
    InvalidInput {
        problem: format!("invalid version specifier `{specifier}`: {problem}"),
        help: "use the syntax of pip: ==2.8.*, >=2.8,<3, !=2.7.1".to_owned(),
    }
}

/// Rejects specifiers that make no sense for an operating system. Bounds are checked first: `>=ubuntu22.04` is not misspelled.
fn check_system(specifier: &str) -> Result<(), InvalidInput> {
    let mut specifiers = specifier.split(',').map(str::trim);
    let bound = specifiers.any(|specifier| specifier.starts_with(['<', '>', '~']));
    if !bound {
        version::fits::check(specifier).map_err(|it| invalid_specifier(specifier, &it))?;
    }
    if bound || !version::fits::are_exact(specifier) {
        return Err(InvalidInput {
            problem: format!("`{specifier}`: operating systems have no order"),
            help: "use == or !=, such as os==ubuntu22.04 or os!=debian11".to_owned(),
        });
    }
    Ok(())
}

impl Expectation {
    /// Reads an expectation; `origin` is where it was written.
    pub fn parse(text: &str, origin: &str) -> Result<Self, InvalidInput> {
        let Requirement { name, specifier } = Requirement::parse(text)?;
        let near = nearest(&name, subjects()).filter(|near| *near != name);
        Ok(Expectation {
            meant: near.map(str::to_owned),
            text: text.trim().to_owned(),
            name,
            specifier,
            origin: origin.to_owned(),
        })
    }
}
