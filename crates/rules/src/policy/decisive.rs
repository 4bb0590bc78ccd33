//! What of a policy decides a verdict on an image, as text.

use imgcheck_model::finding::Severity;

use super::Policy;

impl Policy {
    /// What decides a verdict beside the rules and the targets, one setting each: policies with the same settings have the same verdict on the
    /// same findings. Reasons and positions in files decide nothing, and are left out.
    pub fn settings(&self) -> Vec<String> {
        // All fields are named, so that nobody forgets a new one.
        let Policy {
            fail_on,
            strict,
            targets: _,
            // These concern manifests.
            clusters: _,
            kinds: _,
            digest_namespaces: _,
            severities,
            expectations,
            stacks,
            sizes,
            consistent,
            ignores,
            baseline,
        } = self;
        let mut settings = vec![
            format!("fail-on: {}", fail_on.map_or("never", Severity::as_str)),
            format!("strict: {strict}"),
        ];
        settings.extend(severities.iter().map(|it| {
            let severity = it.severity.map_or("off", Severity::as_str);
            format!("severity: {:?} {severity}", it.rule)
        }));
        settings.extend(
            expectations
                .iter()
                .map(|it| format!("expect: {:?}", it.text)),
        );
        settings.extend(stacks.iter().map(|it| format!("stack: {it:?}")));
        settings.extend(sizes.iter().map(|it| format!("max: {it:?}")));
        settings.extend(consistent.iter().map(|it| format!("consistent: {it:?}")));
        settings.extend(ignores.iter().map(|it| {
            let (target, image, path, expires) = (&it.target, &it.image, &it.path, it.expires);
            format!("ignore: {target:?} {image:?} {path:?} {expires:?}")
        }));
        settings.extend(baseline.known());
        settings
    }
}
