//! Checks the values of the section.

use super::file::{ExemptionEntry, GateEntry};
use super::{Exemption, GateConfig, HarborConfig, MODES, ON_MISS};
use crate::policy::config::Source;
use imgcheck_base::error::Result;
use imgcheck_base::yaml::{self, Spanned};

impl Source {
    /// Checks the values of the section.
    pub(in crate::policy) fn gate(&self, entry: &GateEntry) -> Result<GateConfig> {
        let defaults = GateConfig::default();
        let mode = |word: &Spanned<String>| self.one_of(word, "mode", &MODES);
        let on_miss = entry.on_miss.as_ref();
        let on_miss = on_miss.map(|word| self.one_of(word, "value of on-miss", &ON_MISS));
        let namespaces = entry.namespaces.0.iter();
        let namespaces = namespaces.map(|(pattern, word)| Ok((pattern.value.clone(), mode(word)?)));
        let exemptions = entry.exemptions.iter().map(|it| self.exemption(it));
        Ok(GateConfig {
            mode: entry.mode.as_ref().map_or(Ok(defaults.mode), mode)?,
            namespaces: namespaces.collect::<Result<_>>()?,
            on_miss: on_miss.unwrap_or(Ok(defaults.on_miss))?,
            deny_workloads: entry.deny_workloads,
            all_pods: entry.all_pods,
            cluster: entry.cluster.as_ref().map(|it| it.value.clone()),
            break_glass: entry.break_glass.unwrap_or(defaults.break_glass),
            grace_days: entry.grace_days.unwrap_or(defaults.grace_days),
            exemptions: exemptions.collect::<Result<_>>()?,
            registries: entry.registries.clone().unwrap_or(defaults.registries),
            internal_hosts: entry.internal_hosts.clone(),
            harbor: HarborConfig {
                forward: entry
                    .harbor
                    .forward
                    .as_ref()
                    .map(|it| self.address(it))
                    .transpose()?,
            },
        })
    }

    /// The address of another server.
    fn address(&self, text: &Spanned<String>) -> Result<String> {
        let url = reqwest::Url::parse(&text.value).ok();
        let is_usable =
            |url: &reqwest::Url| ["http", "https"].contains(&url.scheme()) && url.query().is_none();
        match url.filter(is_usable) {
            Some(_) => Ok(text.value.clone()),
            None => {
                let problem = format!("`{}` is not the address of a scanner", text.value);
                let help = "write it as in http://harbor-scanner-trivy:8080";
                Err(self.fault(yaml::span(text), &problem, help))
            }
        }
    }

    fn exemption(&self, entry: &ExemptionEntry) -> Result<Exemption> {
        if entry.reason.value.trim().is_empty() {
            let help = "say why these images are let through";
            return Err(self.fault(yaml::span(&entry.reason), "the reason is empty", help));
        }
        Ok(Exemption {
            image: entry.image.value.clone(),
            namespace: entry.namespace.clone(),
            reason: entry.reason.value.clone(),
            expires: entry
                .expires
                .as_ref()
                .map(|day| self.day(day))
                .transpose()?,
        })
    }
}
