//! Judges one container.

use std::collections::{BTreeSet, HashSet};

use super::super::judge;
use super::super::report::Unread;
use super::super::state::Checker;
use super::classes::{self, UNKNOWN_CLASS, judge_classes};
use super::hidden;
use super::images::{Analyzed, OnPlatform};
use super::judging::{Judging, Place};
use super::schedule::Schedule;
use imgcheck_base::error::Result;
use imgcheck_lint::workload::{Container, PossibleGpu, WorkloadFacts};
use imgcheck_model::finding::{Finding, Location};
use imgcheck_model::knowledge;
use imgcheck_model::targets::nodes::NodeLabels;
use imgcheck_report::{ClassReport, ContainerReport, Verdict};

/// The report of a container, and the indexes of the ignores that its findings matched.
pub(super) struct Judged {
    pub report: ContainerReport,
    pub used: BTreeSet<usize>,
    pub error: Option<Unread>,
}

impl Judging<'_> {
    /// Judges the containers of a workload.
    pub fn judge(&self, at: usize, analyzed: &Analyzed) -> Vec<Judged> {
        let containers = 0..self.workloads[at].containers.len();
        containers
            .map(|index| self.judge_container((at, index), analyzed))
            .collect()
    }

    fn judge_container(&self, place: Place, analyzed: &Analyzed) -> Judged {
        let container = self.container(place);
        let report = ContainerReport {
            name: container.name.clone(),
            title: format!(
                "{}, {}: {}",
                self.workloads[place.0].title(),
                container.title(),
                container.image
            ),
            group: container.group.clone(),
            role: container.role.as_str(),
            image: container.image.clone(),
            problem: analyzed.problem(&container.image).map(str::to_owned),
            ..ContainerReport::default()
        };
        match self.judge_with(place, analyzed, report.clone()) {
            Ok(judged) => judged,
            Err(error) => Judged {
                error: Some(Unread::unjudged(report.title.clone(), error)),
                report,
                used: BTreeSet::new(),
            },
        }
    }

    fn judge_with(
        &self,
        place: Place,
        analyzed: &Analyzed,
        mut report: ContainerReport,
    ) -> Result<Judged> {
        let (checker, container) = (self.checker, self.container(place));
        let platforms = analyzed.of(place);
        let schedule = self.schedule(place);
        let primary = primary(platforms, schedule);
        let analyses: Vec<_> = primary.iter().map(|it| &it.analysis).collect();
        let fleet = judge::fleet(&checker.policy, &analyses);
        if let Some(schedule) = schedule {
            report.knows_nodes = true;
            report.classes = judge_classes(checker, schedule, container, platforms, &fleet)?;
        }
        let mut facts = self.workload_facts(place, analyzed, primary, schedule, &report.classes);
        let mut used = BTreeSet::new();
        match primary {
            Some(image) => {
                let judgement = judge::judge_deployed(checker, &image.analysis, &fleet, facts)?;
                used.extend(judgement.used_ignores);
                let own = image.alone.as_ref();
                let own = own.map(|it| judge::fingerprints(checker, it, &fleet));
                let own = own.transpose()?;
                let mut image = judgement.report;
                image.facts.title = Some(report.title.clone());
                for finding in &mut image.findings {
                    self.locate(finding, container, own.as_ref());
                }
                let mut findings = image.findings.iter();
                if checker.policy.strict && findings.any(|it| it.rule == UNKNOWN_CLASS) {
                    image.verdict = image.verdict.max(Verdict::Incomplete);
                }
                report.judged = Some(image);
            }
            None => {
                facts.container.gpus = possible_gpus(checker, container, schedule)?;
                let judged = judge::judge_unread(checker, &container.image, facts, self.settings)?;
                used.extend(judged.used);
                report.findings = judged.findings;
                for finding in &mut report.findings {
                    self.locate(finding, container, None);
                }
                report.ignored = judged.ignored;
            }
        }
        Ok(Judged {
            report,
            used,
            error: None,
        })
    }

    /// What the rules see of the container.
    fn workload_facts(
        &self,
        place: Place,
        analyzed: &Analyzed,
        image: Option<&OnPlatform>,
        schedule: Option<&Schedule>,
        reports: &[ClassReport],
    ) -> WorkloadFacts {
        let (at, index) = place;
        let container = self.container(place);
        let mut facts = WorkloadFacts::of(&self.workloads[at], index);
        for (index, peer) in facts.containers.iter_mut().enumerate() {
            let image = analyzed.of((at, index)).first();
            let versions = image.and_then(|it| it.analysis.model.facts.versions.clone());
            peer.versions = versions.unwrap_or_default();
        }
        if let Some(schedule) = schedule {
            let misspelled = &mut facts.container.misspelled_gpus;
            misspelled.retain(|it| !schedule.has_resource(&it.resource));
            let classes = schedule.reachable.iter().zip(reports);
            let classes = classes.map(|(class, report)| {
                classes::facts(class, report.verdict.as_str(), &report.reason)
            });
            facts.classes = Some(classes.collect());
            let excluded = schedule.excluded.iter();
            let excluded =
                excluded.map(|(class, reason)| classes::facts(class, "excluded", reason));
            facts.excluded = excluded.collect();
            facts.affinity = schedule.affinity(reports);
        }
        if let Some(image) = image {
            facts.hidden = hidden::hidden(container, &image.analysis.model);
            facts.frameworks = Some(image.analysis.model.frameworks());
            facts.image_frameworks.clone_from(&image.image_frameworks);
            facts.exec_failures.clone_from(&image.exec_failures);
            facts.refused_user.clone_from(&image.refused_user);
        }
        facts.digest_required = self.checker.policy.requires_digest(&facts.namespace);
        facts
    }

    /// Points a finding at the manifest: at what the container replaces if the image alone does not have the finding, else at the
    /// image.
    fn locate(&self, finding: &mut Finding, container: &Container, own: Option<&HashSet<String>>) {
        if finding.location.is_some() || !self.locates {
            return;
        }
        let is_new = own.is_some_and(|own| !own.contains(&finding.fingerprint));
        let is_of_workload = finding.rule.starts_with("deploy-");
        let cause = (is_new && !is_of_workload).then(|| self.cause(finding, container));
        let place = cause
            .flatten()
            .unwrap_or_else(|| container.location.clone());
        finding.location = Some(place);
    }

    /// The variable that a finding mentions, else the command, else the first variable that decides what is loaded.
    fn cause(&self, finding: &Finding, container: &Container) -> Option<Location> {
        let launch = &self.checker.knowledge.launch;
        let is_relevant = |name: &str| launch.is_relevant(name) || name.starts_with("NVIDIA_");
        let mut variables = container.env.iter().filter(|it| is_relevant(&it.name));
        let is_in_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
        let mut words = finding.message.split(|c| !is_in_name(c));
        let mentioned = words.find_map(|word| container.env.iter().find(|it| it.name == word));
        let location = mentioned.map(|it| it.location.clone());
        location
            .or_else(|| container.command_location.clone())
            .or_else(|| Some(variables.next()?.location.clone()))
    }
}

/// The GPUs of the nodes that a container can land on; without known nodes, the one whose label it selects.
fn possible_gpus(
    checker: &Checker,
    container: &Container,
    schedule: Option<&Schedule>,
) -> Result<Vec<PossibleGpu>> {
    let table = &checker.knowledge.targets.gpus;
    let names: Vec<String> = match schedule {
        Some(schedule) => {
            let classes = schedule.reachable.iter();
            classes
                .flat_map(|class| class.target.gpus.clone())
                .collect()
        }
        None if container.placement.selector.is_empty() => Vec::new(),
        None => {
            let labels: NodeLabels = knowledge::table("node-labels")?;
            let selected = labels.gpu(&container.placement.selector, table);
            selected.into_iter().collect()
        }
    };
    let known = names.into_iter().filter_map(|name| {
        let capability = table.parse(&name).ok()?.capability.to_string();
        Some(PossibleGpu { name, capability })
    });
    Ok(known.collect())
}

/// The platform that is judged: that of the first class of nodes, if the image has it.
fn primary<'p>(platforms: &'p [OnPlatform], schedule: Option<&Schedule>) -> Option<&'p OnPlatform> {
    let classes = schedule.into_iter().flat_map(|it| &it.reachable);
    let mut wanted = classes.map(|it| it.architecture.as_str());
    let fitting = wanted.find_map(|wanted| platforms.iter().find(|it| it.architecture == wanted));
    fitting.or(platforms.first())
}
