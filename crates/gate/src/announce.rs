//! What the log says about the policy, at the start and when the configuration was read again.

use imgcheck_model::targets::Target;

use super::state::Gate;

impl Gate {
    /// Logs what images are judged by.
    pub(crate) fn announce(&self) {
        let view = self.view();
        let (checker, config) = (&view.setup.checker, view.setup.config());
        let namespaces = config.namespaces.iter();
        let namespaces = namespaces.map(|(pattern, mode)| format!("{pattern}: {}", mode.as_str()));
        let namespaces: Vec<String> = namespaces.collect();
        let targets: Vec<String> = checker.targets().iter().map(shown).collect();
        let classes = view.setup.declared.iter().flatten();
        let classes: Vec<String> = classes.map(|it| shown(&it.target)).collect();
        tracing::info!(
            configuration = checker.configuration_file().unwrap_or("none"),
            mode = config.mode.as_str(),
            namespaces = or_none(&namespaces),
            targets = or_none(&targets),
            node_classes = or_none(&classes),
            watches_cluster = self.0.cluster.is_watched(),
            "judging"
        );
    }
}

/// A machine: `training (a100, driver 535.183.06)`.
fn shown(target: &Target) -> String {
    let driver = target.driver.iter().map(|it| format!("driver {it}"));
    let parts: Vec<String> = target.gpus.iter().cloned().chain(driver).collect();
    match target.name.as_str() {
        "" => parts.join(", "),
        name => format!("{name} ({})", parts.join(", ")),
    }
}

fn or_none(texts: &[String]) -> String {
    match texts {
        [] => "none".to_owned(),
        texts => texts.join("; "),
    }
}
