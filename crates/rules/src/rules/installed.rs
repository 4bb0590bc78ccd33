//! What the facts say of the packages that read settings.

use super::facts::Facts;
use imgcheck_model::settings::Installed;

impl Installed for Facts {
    fn component(&self, name: &str) -> Option<(&str, Option<&str>)> {
        let component = self.stack.as_ref()?.get(name)?;
        let build = component.details.get("build").map(String::as_str);
        Some((&component.version, build))
    }

    fn distribution(&self, name: &str) -> Option<&str> {
        let version = self.python.as_ref()?.distributions.get(name);
        version.map(String::as_str)
    }

    fn may_be_module(&self, variable: &str, word: &str) -> bool {
        let python = self.python.as_ref();
        let modules = python.and_then(|it| it.named_modules.get(variable));
        modules.is_none_or(|it| it.iter().any(|it| it == word))
    }

    fn file_in_place(&self, variable: &str) -> Option<&str> {
        let file = self.python.as_ref()?.files_in_place.get(variable);
        file.map(String::as_str)
    }
}
