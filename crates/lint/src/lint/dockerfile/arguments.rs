//! `ARG` and `ENV`.

use std::ops::Range;

use super::super::facts::Variable;
use super::super::variables::unquote;
use super::super::words::words;
use super::Reader;
use super::check;
use super::state::{self, Setting};
use imgcheck_base::error::Result;

/// The maximum number of variables, and of arguments, in a stage.
pub const MAX_VARIABLES: usize = 1000;

impl Reader<'_> {
    /// `ARG NAME[=default] …`.
    pub(super) fn arguments(&mut self, span: Range<usize>) -> Result<()> {
        let script = self.script(span.clone());
        for word in words(&script.text, self.escape) {
            let (name, default) = match word.raw.split_once('=') {
                Some((name, _)) => (name, true),
                None => (word.raw, false),
            };
            let stage = self.stages.last();
            let values = |name: &str| match stage {
                Some(stage) => stage.value(name),
                None => self
                    .globals
                    .get(name)
                    .cloned()
                    .or_else(|| state::predefined(name)),
            };
            let expanded = unquote(word.raw, self.escape, &values);
            let value = match (self.build.arguments.get(name), default) {
                (Some(given), _) => given.clone(),
                (None, true) => {
                    let value = expanded
                        .text
                        .split_once('=')
                        .map(|(_, value)| value.to_owned());
                    value.filter(|_| expanded.known)
                }
                (None, false) => self.globals.get(name).cloned(),
            };
            if let (Some(value), Some(stage)) = (&value, self.stages.last_mut()) {
                stage.stage.arguments.push(Variable {
                    name: name.to_owned(),
                    value: value.clone(),
                    location: self.text.location(script.span(word.range())),
                    ..Variable::default()
                });
            }
            let arguments = match self.stages.last_mut() {
                Some(stage) => {
                    stage.system_pip_variable(name, value.as_deref().unwrap_or_default());
                    stage.unscoped.remove(name);
                    if value.is_none() {
                        stage.index_variable(name);
                    }
                    &mut stage.arguments
                }
                None => &mut self.globals,
            };
            match value {
                Some(value) => drop(arguments.insert(name.to_owned(), value)),
                None => drop(arguments.remove(name)),
            }
            if arguments.len() > MAX_VARIABLES {
                let problem = format!("more than {MAX_VARIABLES} arguments");
                return Err(self.text.fault(span, &problem, None));
            }
        }
        Ok(())
    }

    /// Checks pairs of names and values as Docker does.
    pub(super) fn pairs(&self, keyword: &str, span: Range<usize>) -> Result<()> {
        match self.is_dockers {
            true => check::pairs(self.text, keyword, (span, self.escape)),
            false => Ok(()),
        }
    }

    /// `ENV NAME=value …`, or the old form `ENV NAME value`.
    pub(super) fn variables(&mut self, span: Range<usize>) -> Result<()> {
        let script = self.script(span.clone());
        let Some(stage) = self.stages.last_mut() else {
            return Ok(());
        };
        let words = words(&script.text, self.escape);
        if stage.stage.env.len() + words.len() > MAX_VARIABLES {
            let problem = format!("more than {MAX_VARIABLES} variables");
            return Err(self.text.fault(span, &problem, None));
        }
        let old = words.first().filter(|word| !word.raw.contains('='));
        if let (Some(name), Some(value)) = (old, words.get(1)) {
            let pair = (name.raw, value.start..script.text.len());
            stage.set(stage.variable(self.text, (&script, self.escape), pair));
            return Ok(());
        }
        // All are set at once: a value does not see others of the same line.
        let pairs = words.iter().filter_map(|word| {
            let (name, _) = word.raw.split_once('=')?;
            Some((name, word.start + name.len() + 1..word.range().end))
        });
        let settings: Vec<Setting> = pairs
            .map(|pair| stage.variable(self.text, (&script, self.escape), pair))
            .collect();
        settings.into_iter().for_each(|setting| stage.set(setting));
        Ok(())
    }
}
