//! Packages in the order of their installation, and which of them stay.

use super::text::Text;
use super::{Context, Pin, Stage};
use crate::error::Result;
use crate::stack::EvidenceKind;

/// The most packages that one stage may ask for.
pub const MAX_PINS: usize = 5000;

/// The most of them that may be parts of the GPU stack: rules compare each with each.
const MAX_COMPONENTS: usize = 100;

/// The most packages and the most parts of the GPU stack in all stages, counted again in each that has them from another.
const MAX_ALL_PINS: usize = 4 * MAX_PINS;
const MAX_ALL_COMPONENTS: usize = 800;

/// Takes down what is installed.
#[derive(Clone)]
pub struct Recorder<'c> {
    context: &'c Context<'c>,
    pins: Vec<Pin>,
    commands: usize,
    components: usize,
}

impl<'c> Recorder<'c> {
    /// Nothing is installed yet.
    pub fn new(context: &'c Context<'c>) -> Self {
        Recorder {
            context,
            pins: Vec::new(),
            commands: 0,
            components: 0,
        }
    }

    /// Begins a command: what is added from now on is installed together.
    pub fn command(&mut self) {
        self.commands += 1;
    }

    /// Adds a package of the last command.
    ///
    /// # Errors
    ///
    /// There are too many.
    pub fn add(&mut self, pin: Pin, text: &Text<'_>) -> Result<()> {
        if self.pins.len() >= MAX_PINS {
            let problem = format!("more than {MAX_PINS} packages are asked for up to here");
            let line = text.start_of(pin.location.line);
            return Err(text.fault(line..line + 1, &problem, None));
        }
        let component = self.component(&pin);
        self.components += usize::from(component.is_some());
        if self.components > MAX_COMPONENTS {
            let problem = format!(
                "more than {MAX_COMPONENTS} parts of the GPU stack are asked for up to here"
            );
            let line = text.start_of(pin.location.line);
            return Err(text.fault(line..line + 1, &problem, None));
        }
        self.pins.push(Pin {
            component: component.unwrap_or_default().to_owned(),
            command: self.commands,
            ..pin
        });
        Ok(())
    }

    /// Removes a part of the GPU stack. The packages that brought it are as good as replaced, whether this is certain to run or not.
    pub fn remove(&mut self, pin: &Pin) {
        let Some(component) = self.component(pin) else {
            return;
        };
        let earlier = self.pins.iter_mut();
        earlier
            .filter(|earlier| earlier.component == component)
            .filter(|earlier| earlier.environment == pin.environment)
            .for_each(|earlier| earlier.replaced = true);
    }

    /// The part of the GPU stack that a package is.
    fn component(&self, pin: &Pin) -> Option<&'c str> {
        let manager = match pin.manager.as_str() {
            "conda" => EvidenceKind::Conda,
            "apt" => EvidenceKind::Dpkg,
            "apk" => EvidenceKind::Apk,
            _ => EvidenceKind::PythonMetadata,
        };
        self.context.catalogue.component_of(manager, &pin.name)
    }

    /// What packages are read with.
    pub fn context(&self) -> &'c Context<'c> {
        self.context
    }

    /// The packages, with those marked that do not stay.
    pub fn finish(self) -> Vec<Pin> {
        let mut pins = self.pins;
        let mut later: std::collections::HashMap<(String, String), (usize, String)> =
            std::collections::HashMap::new();
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

/// What is wrong with what all stages ask for together.
pub fn too_many<'r, 'c: 'r>(recorders: impl Iterator<Item = &'r Recorder<'c>>) -> Option<String> {
    let (mut pins, mut components) = (0, 0);
    for recorder in recorders {
        pins += recorder.pins.len();
        components += recorder.components;
    }
    if pins > MAX_ALL_PINS {
        return Some(format!(
            "more than {MAX_ALL_PINS} packages are asked for in all stages up to here"
        ));
    }
    (components > MAX_ALL_COMPONENTS).then(|| {
        format!("more than {MAX_ALL_COMPONENTS} parts of the GPU stack are asked for in all stages up to here")
    })
}

/// The only stage of a file that has no stages.
pub fn only(recorder: Recorder<'_>) -> Stage {
    Stage {
        shipped: true,
        pins: recorder.finish(),
        ..Stage::default()
    }
}
