//! The language of the variables `NVIDIA_REQUIRE_*`: which hosts may run a container.
//!
//! A requirement is a list of alternatives with spaces between them, one of which must hold; an alternative is a list of constraints
//! with commas between them, all of which must hold: `cuda>=12.8 brand=tesla,driver>=535,driver<536`.
//!
//! It is judged as `nvidia-container-cli` judges it (libnvidia-container, `src/cli/dsl.c` and `src/cli/configure.c`), down to its
//! freedoms: names and brands are compared without regard to case, `!` is `!=`, missing numbers of a version are zeros, an empty
//! alternative or constraint is passed over, and what is behind the first alternative that holds is never read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a constraint applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Property {
    /// The newest CUDA that the driver has: `12.8`.
    Cuda,
    /// The driver's version: `570.124.06`.
    Driver,
    /// The compute capability of the GPU: `8.6`.
    Arch,
    /// The product line of the GPU: `tesla`, `geforce` …
    Brand,
}

/// How it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Operator {
    /// `=`
    #[serde(rename = "=")]
    Equal,
    /// `!=`, which may be written `!`
    #[serde(rename = "!=")]
    NotEqual,
    /// `<`
    #[serde(rename = "<")]
    Less,
    /// `<=`
    #[serde(rename = "<=")]
    LessEqual,
    /// `>`
    #[serde(rename = ">")]
    Greater,
    /// `>=`
    #[serde(rename = ">=")]
    GreaterEqual,
}

/// One comparison: `driver>=535`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// What is compared.
    pub property: Property,
    /// How.
    pub operator: Operator,
    /// With what.
    pub value: String,
}

/// A part that cannot be understood. Where the toolkit comes to it, the container does not start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Invalid {
    /// The part, as written.
    pub text: String,
    /// What is wrong with it.
    pub problem: String,
}

/// A host, as far as it is known. What is not known fulfils every constraint on it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Host<'h> {
    /// The newest CUDA of its driver.
    pub cuda: Option<&'h str>,
    /// The version of its driver.
    pub driver: Option<&'h str>,
    /// The compute capability of its GPU.
    pub arch: Option<&'h str>,
    /// The brand of its GPU.
    pub brand: Option<&'h str>,
}

/// What the toolkit says of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The container starts.
    Met,
    /// `unsatisfied condition`: it does not start.
    Unmet,
    /// `invalid expression`: it does not start either.
    Invalid,
}

/// A requirement, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requirement {
    alternatives: Vec<Vec<Part>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Constraint(Constraint),
    Invalid(Invalid),
}

impl Requirement {
    /// Takes a requirement apart. Any text is one; what cannot be understood is [`Requirement::invalid`].
    pub fn parse(text: &str) -> Self {
        let alternatives = text
            .split(' ')
            .filter(|alternative| !alternative.is_empty());
        let parts = |alternative: &str| {
            let parts = alternative.split(',').filter(|part| !part.is_empty());
            parts.map(Part::parse).collect()
        };
        Requirement {
            alternatives: alternatives.map(parts).collect(),
        }
    }

    /// The requirement that one of these alternatives holds, each with all of its constraints.
    pub(super) fn of(alternatives: impl Iterator<Item = Vec<Constraint>>) -> Self {
        let parts = |it: Vec<Constraint>| it.into_iter().map(Part::Constraint).collect();
        Requirement {
            alternatives: alternatives.map(parts).collect(),
        }
    }

    /// The constraints of each alternative; those that cannot be understood are left out.
    pub fn alternatives(&self) -> impl Iterator<Item = Vec<&Constraint>> {
        self.alternatives.iter().map(|parts| {
            parts
                .iter()
                .filter_map(|part| match part {
                    Part::Constraint(constraint) => Some(constraint),
                    Part::Invalid(_) => None,
                })
                .collect()
        })
    }

    /// The parts that cannot be understood, or whose value is invalid.
    pub fn invalid(&self) -> Vec<Invalid> {
        let parts = self.alternatives.iter().flatten();
        parts
            .filter_map(|part| match part {
                Part::Invalid(invalid) => Some(invalid.clone()),
                Part::Constraint(constraint) => constraint.problem(),
            })
            .collect()
    }

    /// What the toolkit says of a host.
    pub fn judge(&self, host: &Host) -> Verdict {
        // An alternative of nothing but commas decides nothing: what the one before it gave stays.
        let mut met = true;
        for parts in &self.alternatives {
            for part in parts {
                let holds = match part {
                    Part::Constraint(constraint) => constraint.holds(host),
                    Part::Invalid(_) => None,
                };
                match holds {
                    Some(holds) => met = holds,
                    None => return Verdict::Invalid,
                }
                if !met {
                    break;
                }
            }
            if met || parts.is_empty() {
                break;
            }
        }
        if met { Verdict::Met } else { Verdict::Unmet }
    }
}

impl Part {
    fn parse(text: &str) -> Self {
        let invalid = |problem: &str| {
            Part::Invalid(Invalid {
                text: text.to_owned(),
                problem: problem.to_owned(),
            })
        };
        let is_operator = |character: char| "<>=!".contains(character);
        let Some(start) = text.find(is_operator) else {
            return invalid("it has no operator: one of =, !=, <, <=, >, >=");
        };
        let (name, rest) = text.split_at(start);
        let end = rest
            .find(|character| !is_operator(character))
            .unwrap_or(rest.len());
        let (operator, value) = rest.split_at(end);
        let Some(operator) = Operator::parse(operator) else {
            return invalid("its operator is none of =, !=, <, <=, >, >=");
        };
        if value.is_empty() {
            return invalid("it has no value");
        }
        match Property::parse(name) {
            Some(property) => Part::Constraint(Constraint {
                property,
                operator,
                value: value.to_owned(),
            }),
            None => invalid("it is about none of cuda, driver, arch, brand"),
        }
    }
}

impl Property {
    fn parse(name: &str) -> Option<Self> {
        let properties = [
            ("cuda", Property::Cuda),
            ("driver", Property::Driver),
            ("arch", Property::Arch),
            ("brand", Property::Brand),
        ];
        let mut properties = properties.into_iter();
        properties
            .find(|(known, _)| name.eq_ignore_ascii_case(known))
            .map(|(_, property)| property)
    }
}

impl Operator {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "=" => Operator::Equal,
            "!=" | "!" => Operator::NotEqual,
            "<" => Operator::Less,
            "<=" => Operator::LessEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterEqual,
            _ => return None,
        })
    }
}

impl Constraint {
    /// What is wrong with the value, whatever the host.
    fn problem(&self) -> Option<Invalid> {
        let is_version = |text: &str| {
            !text.starts_with('.')
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b'.')
                && text
                    .split('.')
                    .filter(|number| !number.is_empty())
                    .all(|number| number.parse::<u64>().is_ok_and(|number| number < u64::MAX))
        };
        let compares = matches!(self.operator, Operator::Equal | Operator::NotEqual);
        let problem = match self.property {
            Property::Brand if !compares => "a brand can only be compared by = and !=",
            Property::Brand => return None,
            _ if is_version(&self.value) => return None,
            _ => "its value is no version",
        };
        Some(Invalid {
            text: self.to_string(),
            problem: problem.to_owned(),
        })
    }

    /// `None` if it cannot be judged.
    fn holds(&self, host: &Host) -> Option<bool> {
        let known = match self.property {
            Property::Cuda => host.cuda,
            Property::Driver => host.driver,
            Property::Arch => host.arch,
            Property::Brand => host.brand,
        };
        let Some(known) = known else {
            return Some(true);
        };
        match (self.property, self.operator) {
            (Property::Brand, Operator::Equal) => Some(known.eq_ignore_ascii_case(&self.value)),
            (Property::Brand, Operator::NotEqual) => Some(!known.eq_ignore_ascii_case(&self.value)),
            (Property::Brand, _) => None,
            (_, operator) => compare(known, operator, &self.value),
        }
    }
}

impl std::fmt::Display for Constraint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let property = match self.property {
            Property::Cuda => "cuda",
            Property::Driver => "driver",
            Property::Arch => "arch",
            Property::Brand => "brand",
        };
        let operator = match self.operator {
            Operator::Equal => "=",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::LessEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterEqual => ">=",
        };
        write!(f, "{property}{operator}{}", self.value)
    }
}

/// Compares two versions number by number, as `dsl_compare_version` does. `None` if a part is not a number.
pub(super) fn compare(host: &str, operator: Operator, value: &str) -> Option<bool> {
    let is_version = |text: &str| {
        let mut bytes = text.bytes();
        bytes.all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    if !is_version(host) || !is_version(value) {
        return None;
    }
    let (mut host, mut value) = (host, value);
    let mut order = std::cmp::Ordering::Equal;
    while !host.is_empty() && !value.is_empty() {
        let (left, host_rest) = number(host)?;
        let (right, value_rest) = number(value)?;
        order = left.cmp(&right);
        if order.is_ne() {
            break;
        }
        host = host_rest;
        value = value_rest;
    }
    if order.is_eq() {
        // What is left of the longer one counts unless it is zeros.
        let is_more = |rest: &str| !rest.trim_start_matches(['.', '0']).is_empty();
        order = is_more(host).cmp(&is_more(value));
    }
    Some(match operator {
        Operator::Equal => order.is_eq(),
        Operator::NotEqual => order.is_ne(),
        Operator::Less => order.is_lt(),
        Operator::LessEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        Operator::GreaterEqual => order.is_ge(),
    })
}

/// The number at the start, and what is behind the dots that follow it.
fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.find('.').unwrap_or(text.len());
    let number = text[..end]
        .parse()
        .ok()
        .filter(|number| *number < u64::MAX)?;
    Some((number, text[end..].trim_start_matches('.')))
}

#[cfg(test)]
mod tests;
