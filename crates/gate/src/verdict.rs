//! What the gate keeps of a judgement.

use std::slice::from_ref;
use std::sync::atomic::{AtomicBool, Ordering};

use super::queue::Job;
use imgcheck_base::gap::Gap;
use imgcheck_checker::Checker;
use imgcheck_model::finding::Severity;
use imgcheck_report::{ContainerReport, Verdict};

/// The judgement of one object.
#[derive(Debug, Default)]
pub struct Judgement {
    /// The verdicts on the containers of the object.
    pub containers: Vec<ContainerVerdict>,
    /// Images that must be read first; then the verdict is not final.
    pub missing: Vec<Job>,
    /// The time was over before all facts were there.
    pub is_late: bool,
    /// An image could not be read, which is tried again some time.
    pub has_failures: bool,
    /// Whether it was remembered that the containers passed.
    is_remembered: AtomicBool,
}

/// The verdict on one container.
#[derive(Debug)]
pub struct ContainerVerdict {
    /// Its name, with its group: `head/ray`.
    pub name: String,
    /// The image as the object names it.
    pub image: String,
    /// The verdict, where gaps count only if they prevent a pass.
    pub verdict: Verdict,
    /// Whether the verdict is on the content of the image; else it is on what its reference and the object say.
    pub is_read: bool,
    /// The findings, the worst first.
    pub findings: Vec<Fault>,
    /// What could not be judged.
    pub gaps: Vec<Gap>,
    /// Why the image could not be read.
    pub problem: Option<String>,
    /// The node classes on which it runs, and those that it can land on; `None` if no nodes are known.
    pub classes: Option<(usize, usize)>,
    /// The node classes on which it does not run, each with the reason.
    pub fails_on: Vec<(String, String)>,
}

/// A finding.
#[derive(Debug)]
pub struct Fault {
    /// The rule.
    pub rule: String,
    /// How severe it is.
    pub severity: Severity,
    /// Whether the policy lets nothing pass that has it.
    pub fails: bool,
    /// What is wrong, in one sentence.
    pub message: String,
}

impl Fault {
    /// What is wrong with a container.
    pub fn sentence(&self, container: &str) -> String {
        format!("{container}: {} ({})", self.message, self.rule)
    }
}

impl Judgement {
    /// A judgement of these containers.
    pub fn new(
        containers: Vec<ContainerVerdict>,
        missing: Vec<Job>,
        has_failures: bool,
        is_late: bool,
    ) -> Self {
        Judgement {
            containers,
            missing,
            is_late,
            has_failures,
            is_remembered: AtomicBool::new(false),
        }
    }

    /// There was no time for one.
    pub fn late() -> Self {
        Judgement::new(Vec::new(), Vec::new(), false, true)
    }

    /// Whether it may be kept: everything was known.
    pub fn is_final(&self) -> bool {
        self.missing.is_empty() && !self.is_late && !self.has_failures
    }

    /// Whether the content of an image fails, so that no image that is read later changes the verdict.
    pub fn has_failed_image(&self) -> bool {
        let mut read = self.containers.iter().filter(|it| it.is_read);
        read.any(|it| it.verdict == Verdict::Fail)
    }

    /// The worst verdict. With `strict`, an image with a gap does not pass.
    pub fn verdict(&self, strict: bool) -> Verdict {
        let verdicts = self.containers.iter().map(|it| it.verdict(strict));
        verdicts.max().unwrap_or(Verdict::Pass)
    }

    /// Whether this is the first request for it.
    pub fn remember_once(&self) -> bool {
        !self.is_remembered.swap(true, Ordering::Relaxed)
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> u64 {
        let all = self.containers.iter();
        all.map(ContainerVerdict::bytes).sum::<u64>() + 200
    }
}

impl ContainerVerdict {
    /// What a report says, under the policy of the checker that made it.
    pub fn of(report: &ContainerReport, checker: &Checker) -> Self {
        let fault = |it: &imgcheck_model::finding::Finding| Fault {
            rule: it.rule.clone(),
            severity: it.severity,
            fails: checker.verdict(from_ref(it)) == Verdict::Fail,
            message: it.message.clone(),
        };
        let runs = report.classes.iter();
        let runs = runs.filter(|it| it.verdict == Verdict::Pass).count();
        let fails = report.classes.iter();
        let fails = fails.filter(|it| it.verdict == Verdict::Fail);
        let gaps = report.judged.iter().flat_map(|it| &it.gaps);
        ContainerVerdict {
            name: match report.group.as_str() {
                "" => report.name.clone(),
                group => format!("{group}/{}", report.name),
            },
            image: report.image.clone(),
            verdict: match &report.judged {
                Some(image) => image.verdict,
                None => checker.verdict(report.findings()).max(Verdict::Incomplete),
            },
            is_read: report.judged.is_some(),
            findings: report.findings().iter().map(fault).collect(),
            gaps: gaps.cloned().collect(),
            problem: report.problem.clone(),
            classes: report.knows_nodes.then_some((runs, report.classes.len())),
            fails_on: fails
                .map(|it| (it.name.clone(), it.reason.clone()))
                .collect(),
        }
    }

    /// The verdict. With `strict`, an image with a gap does not pass, nor one of which no class of nodes is known to run it.
    pub fn verdict(&self, strict: bool) -> Verdict {
        let is_unknown = !self.gaps.is_empty() || self.may_run_nowhere();
        match self.verdict {
            Verdict::Pass if strict && is_unknown => Verdict::Incomplete,
            other => other,
        }
    }

    /// Whether there are nodes that it can land on, of which none is known to run it.
    pub fn may_run_nowhere(&self) -> bool {
        matches!(self.classes, Some((0, all)) if all > 0)
    }

    fn bytes(&self) -> u64 {
        let gaps = self.gaps.iter().map(|it| &it.message);
        let texts = [&self.name, &self.image].into_iter().chain(gaps);
        let classes = self.fails_on.iter().flat_map(|(name, why)| [name, why]);
        let texts = texts.chain(&self.problem).chain(classes);
        let texts = texts.map(String::len).sum::<usize>();
        let findings = self
            .findings
            .iter()
            .map(|it| it.message.len() + it.rule.len() + 60);
        (texts + findings.sum::<usize>() + 300) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_unknown_nodes_can_run_is_incomplete_where_it_is_enforced() {
        let verdict = |classes: Option<(usize, usize)>, strict: bool| {
            let container = ContainerVerdict {
                name: "trainer".to_owned(),
                image: "team/image:1".to_owned(),
                verdict: Verdict::Pass,
                is_read: true,
                findings: Vec::new(),
                gaps: Vec::new(),
                problem: None,
                classes,
                fails_on: Vec::new(),
            };
            container.verdict(strict)
        };
        assert_eq!(verdict(Some((0, 2)), true), Verdict::Incomplete);
        assert_eq!(verdict(Some((0, 2)), false), Verdict::Pass);
        for known in [None, Some((1, 2)), Some((0, 0))] {
            assert_eq!(verdict(known, true), Verdict::Pass);
        }
    }
}
