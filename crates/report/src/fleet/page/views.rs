//! The tables of the page.

use std::collections::BTreeMap;

use crate::fleet::counts::{Counts, Row, numbers};
use crate::fleet::record::FleetStatus;
use crate::fleet::tally::Top;
use imgcheck_rules::rules::RuleSet;

/// Rows of a table of counts.
const BARS: usize = 40;
/// Rows and columns of the matrix.
const VERSIONS: usize = 16;

/// A list of references.
pub(super) struct List<'p> {
    pub id: &'static str,
    pub title: &'static str,
    pub lead: &'static str,
    /// Title of the column that says why.
    pub reason: &'static str,
    pub rows: Vec<&'p Row>,
    pub total: String,
    /// Whether not all are in `rows`.
    pub is_cut: bool,
    /// Whether it comes before the tables.
    pub is_before: bool,
}

/// What changes under other rules or targets.
pub(super) struct Against {
    pub title: String,
    pub worse: String,
    pub better: String,
    pub same: String,
    /// A rule, how many references have new findings of it, and how many lose theirs.
    pub rules: Vec<(String, String, String)>,
}

/// A target.
pub(super) struct TargetView {
    pub name: String,
    pub yes: String,
    pub no: String,
    pub unknown: String,
    pub without: String,
    /// Percentages of those with GPU code: run, do not, unknown.
    pub widths: (u64, u64, u64),
}

/// PyTorch by CUDA.
pub(super) struct Matrix {
    pub columns: Vec<String>,
    /// PyTorch, and a count for each column; empty for zero.
    pub rows: Vec<(String, Vec<String>)>,
    pub left_out: u64,
}

/// A table of counts with bars.
pub(super) struct Bars {
    pub id: &'static str,
    pub title: &'static str,
    pub lead: String,
    pub subject: &'static str,
    pub rows: Vec<Bar>,
    pub left_out: usize,
}

/// A row of such a table.
pub(super) struct Bar {
    pub name: String,
    pub about: String,
    /// A web page; empty for none.
    pub address: String,
    pub count: String,
    /// The share in percent.
    pub width: u64,
}

/// The lists of references.
pub(super) fn lists(counts: &Counts) -> Vec<List<'_>> {
    let list = |id, title, lead, reason, top: &'_ Top<Row>| List {
        id,
        title,
        lead,
        reason,
        rows: Vec::new(),
        total: grouped(top.total),
        is_cut: false,
        is_before: false,
    };
    let filled = |empty: List<'static>, top| fill(empty, top);
    let lead = match (counts.knows_pods, counts.knows_pulls) {
        (true, _) => {
            "The reference promises what the image does not contain. Those that most Pods use come first."
        }
        (_, true) => {
            "The reference promises what the image does not contain. Those of the repositories that are pulled most come first."
        }
        _ => "The reference promises what the image does not contain.",
    };
    let lies = list("lies", "Tags that lie", lead, "What is wrong", &counts.lies);
    let lies = List {
        is_before: true,
        ..filled(lies, &counts.lies)
    };
    let worse = list(
        "worse",
        "Get worse",
        "Images whose result is worse under the other rules or targets.",
        "New findings",
        &counts.worse,
    );
    let worse = List {
        is_before: true,
        ..filled(worse, &counts.worse)
    };
    let incomplete = list(
        "incomplete",
        "Incomplete",
        "Something that matters in these images could not be judged.",
        "What could not be judged",
        &counts.incomplete,
    );
    let unread = list(
        "unread",
        "Failed and skipped",
        "These images have no verdict.",
        "Why",
        &counts.unread,
    );
    let mut lists = vec![lies];
    lists.extend((counts.worse.total > 0).then_some(worse));
    lists.extend((counts.incomplete.total > 0).then(|| filled(incomplete, &counts.incomplete)));
    lists.push(filled(unread, &counts.unread));
    lists
}

fn fill<'p>(list: List<'static>, top: &'p Top<Row>) -> List<'p> {
    let rows = top.items();
    List {
        is_cut: top.total > rows.len() as u64,
        rows,
        ..list
    }
}

/// What changes, if records are compared.
pub(super) fn against(counts: &Counts, named: &str) -> Option<Against> {
    let all: u64 = counts.moves.iter().map(|(_, count)| count).sum();
    if all == 0 {
        return None;
    }
    let better = counts
        .moves
        .iter()
        .filter(|((here, there), _)| there < here);
    let better: u64 = better.map(|(_, count)| count).sum();
    let mut rules: BTreeMap<&String, (u64, u64)> = BTreeMap::new();
    for (rule, count) in counts.new.iter() {
        rules.entry(rule).or_default().0 = count;
    }
    for (rule, count) in counts.gone.iter() {
        rules.entry(rule).or_default().1 = count;
    }
    let mut rules: Vec<(&String, (u64, u64))> = rules.into_iter().collect();
    rules.sort_by_key(|(_, (new, gone))| std::cmp::Reverse(new + gone));
    let rules = rules.into_iter().take(BARS);
    Some(Against {
        title: match named {
            "" => "What changes".to_owned(),
            named => format!("What changes with {named}"),
        },
        worse: grouped(counts.worse.total),
        better: grouped(better),
        same: grouped(all - better - counts.worse.total),
        rules: rules
            .map(|(rule, (new, gone))| (rule.clone(), grouped(new), grouped(gone)))
            .collect(),
    })
}

/// How many run on each target.
pub(super) fn targets(counts: &Counts) -> Vec<TargetView> {
    let targets = counts.by_target().into_iter().take(BARS);
    let targets = targets.map(|(name, [yes, no, unknown, without])| {
        let all = yes + no + unknown;
        TargetView {
            name: name.to_owned(),
            yes: grouped(yes),
            no: grouped(no),
            unknown: grouped(unknown),
            without: grouped(without),
            widths: (percent(yes, all), percent(no, all), percent(unknown, all)),
        }
    });
    targets.collect()
}

/// The most frequent versions of PyTorch and CUDA, newest PyTorch first.
pub(super) fn matrix(counts: &Counts) -> Option<Matrix> {
    let (mut by_torch, mut by_cuda) = (BTreeMap::new(), BTreeMap::new());
    for ((torch, cuda), count) in counts.stacks.iter() {
        *by_torch.entry(torch.as_str()).or_insert(0_u64) += count;
        *by_cuda.entry(cuda.as_str()).or_insert(0_u64) += count;
    }
    if by_torch.is_empty() {
        return None;
    }
    let mut rows = frequent(&by_torch);
    rows.reverse();
    let columns = frequent(&by_cuda);
    let all: u64 = by_torch.values().sum::<u64>() + counts.stacks.left_out;
    let mut shown = 0;
    let rows = rows.into_iter().map(|torch| {
        let cells = columns.iter().map(|cuda| {
            let count = counts.stacks.of(&(torch.to_owned(), (*cuda).to_owned()));
            shown += count;
            if count == 0 {
                String::new()
            } else {
                grouped(count)
            }
        });
        let cells = cells.collect();
        (
            if torch.is_empty() {
                "no PyTorch".to_owned()
            } else {
                torch.to_owned()
            },
            cells,
        )
    });
    let rows = rows.collect();
    let name = |cuda: &&str| {
        if cuda.is_empty() {
            "no CUDA".to_owned()
        } else {
            (*cuda).to_owned()
        }
    };
    Some(Matrix {
        columns: columns.iter().map(name).collect(),
        rows,
        left_out: all - shown,
    })
}

/// The most frequent versions, oldest first.
fn frequent<'v>(counted: &BTreeMap<&'v str, u64>) -> Vec<&'v str> {
    let mut versions: Vec<(&str, u64)> = counted
        .iter()
        .map(|(version, count)| (*version, *count))
        .collect();
    versions.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    versions.truncate(VERSIONS);
    let mut versions: Vec<&str> = versions.into_iter().map(|(version, _)| version).collect();
    versions.sort_by_key(|version| numbers(version));
    versions
}

/// GPU architectures, rules, gaps, and codes of what was not judged.
pub(super) fn charts(counts: &Counts, rules: &RuleSet) -> Vec<Bars> {
    let judged: u64 = counts.verdicts.iter().map(|(_, count)| count).sum();
    let mut architectures: Vec<(String, u64)> = counts
        .architectures
        .iter()
        .map(|(name, count)| (name.clone(), count))
        .collect();
    architectures.sort_by(|(a, _), (b, _)| {
        (a.starts_with("compute"), a.len(), a).cmp(&(b.starts_with("compute"), b.len(), b))
    });
    let about = |_: &str| (String::new(), String::new());
    let gaps = counts
        .gaps
        .by_count()
        .into_iter()
        .map(|(code, count)| (code.to_owned(), count));
    let codes = counts
        .codes
        .by_count()
        .into_iter()
        .map(|((status, code), count)| {
            let status = if status == FleetStatus::Skipped {
                "skipped"
            } else {
                "failed"
            };
            (format!("{status}: {code}"), count)
        });
    let by_rule = counts.by_rule();
    let rule_about = |id: &str| {
        let severity = by_rule.iter().find(|(rule, _, _)| rule == id);
        let severity = severity.map_or("", |(_, severity, _)| severity.as_str());
        let known = rules.get(id).map(|rule| (rule.title.clone(), rule.url()));
        let (title, address) = known.unwrap_or_default();
        let is_web = address.starts_with("https://") || address.starts_with("http://");
        (
            format!("{severity} {title}"),
            if is_web { address } else { String::new() },
        )
    };
    let rules = by_rule
        .iter()
        .map(|(rule, _, count)| (rule.clone(), *count));
    let unread = counts.unread.total;
    let all = [
        bars(
            "gpus",
            "GPU code",
            format!(
                "How many of the {} images with GPU code have it for each architecture. sm is machine code, compute is PTX.",
                grouped(counts.with_code)
            ),
            "Architecture",
            architectures.into_iter(),
            counts.with_code,
            &about,
        ),
        bars(
            "rules",
            "Findings by rule",
            "How many images have a finding of each rule, with its worst severity.".to_owned(),
            "Rule",
            rules,
            judged,
            &rule_about,
        ),
        bars(
            "gaps",
            "Not judged",
            "How many images have something that could not be judged.".to_owned(),
            "Gap",
            gaps,
            judged,
            &about,
        ),
        bars(
            "codes",
            "Why images have no verdict",
            "Failed and skipped images by code.".to_owned(),
            "Code",
            codes,
            unread,
            &about,
        ),
    ];
    all.into_iter()
        .filter(|bars| !bars.rows.is_empty())
        .collect()
}

fn bars(
    id: &'static str,
    title: &'static str,
    lead: String,
    subject: &'static str,
    counted: impl Iterator<Item = (String, u64)>,
    all: u64,
    about: &dyn Fn(&str) -> (String, String),
) -> Bars {
    let counted: Vec<(String, u64)> = counted.collect();
    let rows = counted.iter().take(BARS).map(|(name, count)| {
        let (text, address) = about(name);
        Bar {
            name: name.clone(),
            about: text,
            address,
            count: grouped(*count),
            width: percent(*count, all),
        }
    });
    let rows: Vec<Bar> = rows.collect();
    Bars {
        id,
        title,
        lead,
        subject,
        left_out: counted.len() - rows.len(),
        rows,
    }
}

fn percent(part: u64, all: u64) -> u64 {
    match all {
        0 => 0,
        all => u64::try_from(u128::from(part) * 100 / u128::from(all)).unwrap_or(100),
    }
}

/// A count with commas: `100,000`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_commas() {
        let texts = [0, 999, 1_000, 100_000, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "100,000", "1,234,567"]);
    }

    #[test]
    fn versions_are_sorted_as_numbers() {
        let counted = BTreeMap::from([("2.10", 5), ("2.9", 1), ("", 2)]);
        assert_eq!(frequent(&counted), ["", "2.9", "2.10"]);
    }
}
