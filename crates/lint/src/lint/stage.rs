//! Packages in the order of their installation, and which of them remain.

use std::collections::{BTreeSet, HashMap};

use super::context::Context;
use super::facts::{Pin, Stage};
use super::text::Text;
use imgcheck_base::error::Result;
use imgcheck_base::version::satisfies;
use imgcheck_model::stack::EvidenceKind;

/// The maximum number of packages in a stage.
pub const MAX_PINS: usize = 5000;

/// The maximum number of GPU components among them, because rules compare each with each.
const MAX_COMPONENTS: usize = 100;

/// The maximum numbers of packages and GPU components in all stages, including inherited ones.
const MAX_ALL_PINS: usize = 4 * MAX_PINS;
const MAX_ALL_COMPONENTS: usize = 2000;

/// Records what is installed.
#[derive(Clone)]
pub struct Recorder<'c> {
    context: &'c Context<'c>,
    pins: Vec<Pin>,
    commands: usize,
    components: usize,
    removed: BTreeSet<String>,
    /// Whether the last command replaces installed packages by newer ones.
    upgrades: bool,
}

impl<'c> Recorder<'c> {
    /// Nothing is installed yet.
    pub fn new(context: &'c Context<'c>) -> Self {
        Recorder {
            context,
            pins: Vec::new(),
            commands: 0,
            components: 0,
            removed: BTreeSet::new(),
            upgrades: false,
        }
    }

    /// Starts a command: packages added from now on are installed together.
    pub fn command(&mut self) {
        self.commands += 1;
        self.upgrades = false;
    }

    /// The packages of the last command replace installed ones (`--upgrade`).
    pub fn upgrade(&mut self) {
        self.upgrades = true;
    }

    /// Adds a package to the last command.
    ///
    /// # Errors
    /// There are too many.
    pub fn add(&mut self, pin: Pin, text: &Text<'_>) -> Result<()> {
        if self.pins.len() >= MAX_PINS {
            let problem = format!("more than {MAX_PINS} packages");
            return Err(text.fault_in_line(pin.location.line, &problem));
        }
        let component = self.component(&pin);
        self.components += usize::from(component.is_some());
        if self.components > MAX_COMPONENTS {
            let problem = format!("more than {MAX_COMPONENTS} GPU components");
            return Err(text.fault_in_line(pin.location.line, &problem));
        }
        let pin = Pin {
            component: component.unwrap_or_default().to_owned(),
            command: self.commands,
            ..pin
        };
        self.pins.push(Pin {
            upgrade: self.upgrades,
            present: !self.upgrades && self.pins.iter().any(|earlier| suffices(earlier, &pin)),
            ..pin
        });
        Ok(())
    }

    /// Marks the packages of a GPU component as replaced, even if the removal is conditional.
    pub fn remove(&mut self, pin: &Pin) {
        if let Some(component) = self.component(pin) {
            self.remove_component(Some(component), &pin.environment);
        }
    }

    /// Marks the packages of a component as replaced; `None` if it is unknown what is removed.
    pub fn remove_component(&mut self, component: Option<&str>, environment: &str) {
        if environment.is_empty() {
            self.removed.insert(component.unwrap_or("*").to_owned());
        }
        let earlier = self.pins.iter_mut();
        earlier
            .filter(|earlier| component.is_none_or(|it| earlier.component == it))
            .filter(|earlier| earlier.environment == environment)
            .for_each(|earlier| {
                earlier.replaced = true;
                earlier.removed = true;
            });
    }

    /// Adds what another stage has in an environment, which is copied to one here.
    pub fn carry(&mut self, other: &Recorder<'_>, (from, to): (&str, &str)) {
        let start = self.commands;
        let found = other.pins.iter().filter(|pin| pin.environment == from);
        for pin in found.filter(|pin| matches!(pin.manager.as_str(), "pip" | "conda")) {
            self.components += usize::from(!pin.component.is_empty());
            self.pins.push(Pin {
                environment: to.to_owned(),
                command: start + pin.command,
                ..pin.clone()
            });
        }
        self.commands += other.commands;
    }

    /// The GPU component of a package.
    fn component(&self, pin: &Pin) -> Option<&'c str> {
        let manager = match pin.manager.as_str() {
            "conda" => EvidenceKind::Conda,
            "apt" => EvidenceKind::Dpkg,
            "apk" => EvidenceKind::Apk,
            _ => EvidenceKind::PythonMetadata,
        };
        self.context
            .knowledge
            .catalogue
            .component_of(manager, &pin.name)
    }

    /// Whether a package of apt is certainly installed.
    pub fn has_system_package(&self, name: &str) -> bool {
        let mut pins = self.pins.iter();
        pins.any(|pin| pin.manager == "apt" && pin.name == name && !pin.conditional)
    }

    /// The context for reading packages.
    pub fn context(&self) -> &'c Context<'c> {
        self.context
    }

    /// The components that commands remove.
    pub fn removed(&self) -> Vec<String> {
        self.removed.iter().cloned().collect()
    }

    /// The packages, with replaced ones marked.
    pub fn finish(self) -> Vec<Pin> {
        let mut pins = self.pins;
        let mut later: HashMap<(String, String), (usize, String)> = HashMap::new();
        for pin in pins.iter_mut().rev() {
            let name = if pin.component.is_empty() {
                &pin.name
            } else {
                &pin.component
            };
            let key = (name.clone(), pin.environment.clone());
            let Some(version) = pin.version.clone().filter(|_| !pin.constraint) else {
                continue;
            };
            let version = format!("{version}+{}", pin.local.as_deref().unwrap_or_default());
            match later.get(&key) {
                Some((command, other)) => {
                    pin.replaced |= *command != pin.command && *other != version;
                }
                None if pin.conditional => {}
                None => {
                    later.insert(key, (pin.command, version));
                }
            }
        }
        pins
    }
}

/// Gives the packages of one command that have no version those that its constraints allow.
pub fn constrain(pins: &mut [Pin]) {
    let constraints = pins
        .iter()
        .filter(|pin| pin.constraint && pin.marker.is_none());
    let constraints: HashMap<String, Pin> = constraints
        .map(|pin| (pin.name.clone(), pin.clone()))
        .collect();
    for pin in pins.iter_mut().filter(|pin| !pin.constraint) {
        let is_open = pin.specifier.is_empty() && pin.manager == "pip";
        if let Some(limit) = constraints.get(&pin.name).filter(|_| is_open) {
            pin.specifier.clone_from(&limit.specifier);
            pin.version.clone_from(&limit.version);
            pin.local.clone_from(&limit.local);
            pin.text.clone_from(&limit.text);
        }
    }
}

/// Checks the limits for all stages together.
pub fn too_many<'r, 'c: 'r>(recorders: impl Iterator<Item = &'r Recorder<'c>>) -> Option<String> {
    let (mut pins, mut components) = (0, 0);
    for recorder in recorders {
        pins += recorder.pins.len();
        components += recorder.components;
    }
    if pins > MAX_ALL_PINS {
        return Some(format!("more than {MAX_ALL_PINS} packages in all stages"));
    }
    (components > MAX_ALL_COMPONENTS)
        .then(|| format!("more than {MAX_ALL_COMPONENTS} GPU components in all stages"))
}

/// Whether a package manager that finds one package installed keeps it for the other.
fn suffices(earlier: &Pin, pin: &Pin) -> bool {
    let same = |get: fn(&Pin) -> &str| get(earlier) == get(pin);
    let certain = !earlier.conditional
        && earlier.marker.is_none()
        && !earlier.replaced
        && !earlier.constraint;
    certain
        && earlier.command < pin.command
        && same(|pin| &pin.name)
        && same(|pin| &pin.manager)
        && same(|pin| &pin.environment)
        && match earlier.version.as_deref() {
            Some(version) => satisfies(version, &pin.specifier) == Ok(Some(true)),
            // The newest one meets any lower limit.
            None => {
                let mut limits = pin.specifier.split(',');
                let is_lower =
                    |limit: &str| limit.trim().is_empty() || limit.trim().starts_with('>');
                earlier.specifier.is_empty() && limits.all(is_lower)
            }
        }
}

/// The stage of a file without stages.
pub fn only(recorder: Recorder<'_>) -> Stage {
    Stage {
        shipped: true,
        pins: recorder.finish(),
        ..Stage::default()
    }
}
