//! The policy that a configuration states.

use super::source::Source;
use crate::policy::expectation;
use crate::policy::file::{FAIL_ON, File, IgnoreEntry, SEVERITIES};
use crate::policy::ignore::{Ignore, IgnoreTarget};
use crate::policy::{AllowedStack, Expectation, Policy, Requirement, SeverityChange, SizeLimit};
use imgcheck_base::error::Result;
use imgcheck_base::gap::GapCode;
use imgcheck_base::glob::glob;
use imgcheck_base::limits::unit::Unit;
use imgcheck_base::yaml::{self, Pairs, Spanned};
use imgcheck_lint::workload::Kind;
use imgcheck_model::targets::Tables;

impl Source {
    pub(super) fn policy(&self, file: &File, tables: &Tables) -> Result<Policy> {
        let defaults = Policy::default();
        Ok(Policy {
            fail_on: match &file.fail_on {
                Some(word) => self.one_of(word, "fail-on", &FAIL_ON)?,
                None => defaults.fail_on,
            },
            strict: file.strict,
            severities: self.severities(&file.severities)?,
            targets: self.each(&file.targets, |source, it| source.target(it, tables))?,
            clusters: self.clusters(&file.clusters, tables)?,
            kinds: self.each(&file.kinds, Source::kind)?,
            digest_namespaces: file.digests.iter().map(|it| it.value.clone()).collect(),
            expectations: self.each(&file.expect, Source::expectation)?,
            stacks: self.each(&file.stacks, Source::stack)?,
            sizes: self.sizes(file)?,
            consistent: self.each(&file.consistent, Source::subject)?,
            ignores: self.each(&file.ignore, Source::ignore)?,
            ..defaults
        })
    }

    fn kind(&self, entry: &Spanned<Kind>) -> Result<Kind> {
        let kind = entry.value.clone();
        match kind.has_containers() {
            true => Ok(kind),
            false => {
                let problem = format!("kind `{}` says nothing about its containers", kind.kind);
                let help = "add `templates: [spec.template]`, `pods` or `parts`";
                Err(self.fault(yaml::span(entry), &problem, help))
            }
        }
    }

    fn severities(&self, pairs: &Pairs) -> Result<Vec<SeverityChange>> {
        self.each(&pairs.0, |source, (rule, severity)| {
            Ok(SeverityChange {
                rule: rule.value.clone(),
                severity: source.one_of(severity, "severity", &SEVERITIES)?,
            })
        })
    }

    fn expectation(&self, text: &Spanned<String>) -> Result<Expectation> {
        let origin = format!("{}:{}", self.name, self.location(&yaml::span(text)).line);
        self.located(text, Expectation::parse(&text.value, &origin))
    }

    fn stack(&self, row: &Pairs) -> Result<AllowedStack> {
        let mut name = None;
        let mut parts = Vec::new();
        for (key, value) in &row.0 {
            if key.value == "name" {
                name = Some(value.value.clone());
                continue;
            }
            self.located(key, expectation::check_subject(&key.value))?;
            let requirement = Requirement::of_stack(&key.value, &value.value);
            parts.push(self.located(value, requirement)?);
        }
        // An empty row has no position.
        let place = row.0.first().map_or(0..1, |(key, _)| yaml::span(key));
        if parts.is_empty() {
            let help = "name some components, such as {torch: \"2.8.*\", cuda: \"12.8\"}";
            return Err(self.fault(
                place,
                "an allowed stack without components allows every image",
                help,
            ));
        }
        let written: Vec<String> = row
            .0
            .iter()
            .map(|(key, value)| format!("{} {}", key.value, value.value))
            .collect();
        Ok(AllowedStack {
            name: name.unwrap_or_else(|| written.join(", ")),
            parts,
        })
    }

    fn sizes(&self, file: &File) -> Result<Vec<SizeLimit>> {
        let given = [
            ("files", &file.max_size),
            ("duplicates", &file.max_duplicate),
        ];
        let given = given
            .into_iter()
            .filter_map(|(of, text)| Some((of, text.as_ref()?)));
        let limits = given.map(|(of, text)| match Unit::Bytes.parse(&text.value) {
            Some(bytes) => Ok(SizeLimit {
                of: of.to_owned(),
                bytes,
                text: text.value.clone(),
            }),
            None => {
                let problem = format!("`{}` is not a size", text.value);
                Err(self.fault(yaml::span(text), &problem, Unit::Bytes.example()))
            }
        });
        limits.collect()
    }

    fn subject(&self, name: &Spanned<String>) -> Result<String> {
        self.located(name, expectation::check_subject(&name.value))?;
        Ok(name.value.clone())
    }

    fn ignore(&self, entry: &IgnoreEntry) -> Result<Ignore> {
        let (named, target) = match (&entry.rule, &entry.gap) {
            (Some(rule), None) => (rule, IgnoreTarget::Rule(rule.value.clone())),
            (None, Some(gap)) => (gap, self.gap(gap)?),
            (Some(_), Some(gap)) => {
                let help = "write two ignores: one for the rule, one for the gap";
                return Err(self.fault(
                    yaml::span(gap),
                    "an ignore has `rule` or `gap`, not both",
                    help,
                ));
            }
            (None, None) => {
                let given = [&entry.reason, &entry.path, &entry.image, &entry.expires];
                let place = given.into_iter().flatten().next().map_or(0..1, yaml::span);
                let help = "add `rule: ID` to ignore findings, or `gap: CODE` to acknowledge gaps";
                return Err(self.fault(place, "an ignore without `rule` or `gap`", help));
            }
        };
        let place = yaml::span(named);
        let given = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.value.clone());
        let reason = given(&entry.reason).filter(|reason| !reason.trim().is_empty());
        let Some(reason) = reason else {
            let problem = format!("ignore of `{}` has no reason", named.value);
            let help = "add a `reason:` for future readers";
            return Err(self.fault(place, &problem, help));
        };
        Ok(Ignore {
            target,
            image: given(&entry.image),
            path: given(&entry.path),
            reason,
            expires: entry
                .expires
                .as_ref()
                .map(|day| self.day(day))
                .transpose()?,
            location: self.location(&place),
        })
    }

    fn gap(&self, pattern: &Spanned<String>) -> Result<IgnoreTarget> {
        let codes = GapCode::ALL.map(GapCode::as_str);
        if codes.iter().any(|code| glob(code, &pattern.value)) {
            return Ok(IgnoreTarget::Gap(pattern.value.clone()));
        }
        let help = format!("expected one of: {}", codes.join(", "));
        let problem = format!("unknown gap `{}`", pattern.value);
        Err(self.fault(yaml::span(pattern), &problem, &help))
    }
}
