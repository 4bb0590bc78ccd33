//! Schedules of CronJobs.
//!
//! Source: github.com/robfig/cron/v3, `parser.go`, as `validateScheduleFormat` of Kubernetes uses it (`ParseStandard`).

/// The fields of a schedule: their least and greatest number, and the names that some have.
const FIELDS: [(&str, u32, u32, &[&str]); 5] = [
    ("minute", 0, 59, &[]),
    ("hour", 0, 23, &[]),
    ("day of the month", 1, 31, &[]),
    (
        "month",
        1,
        12,
        &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    ),
    (
        "day of the week",
        0,
        6,
        &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    ),
];

/// What is wrong with a schedule such as `0 3 * * 1-5`; `None` if nothing is.
pub(super) fn wrong(text: &str) -> Option<String> {
    let text = match text.split_once(' ') {
        // A time zone, which newer releases refuse.
        Some((zone, rest)) if zone.starts_with("TZ=") || zone.starts_with("CRON_TZ=") => rest,
        _ => text,
    };
    if text.starts_with('@') {
        return None;
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let found = fields.len();
        return Some(format!("expected exactly 5 fields, found {found}: {text}"));
    }
    let mut pairs = fields.iter().zip(FIELDS);
    pairs.find_map(|(written, (name, least, greatest, names))| {
        let number = |it: &str| {
            let lower = it.to_ascii_lowercase();
            let named = names.iter().position(|name| *name == lower);
            let named = named.and_then(|at| u32::try_from(at).ok());
            named.map(|at| at + least).or(it.parse().ok())
        };
        let is_inside = |it: &str| number(it).is_some_and(|it| (least..=greatest).contains(&it));
        let is_range = |it: &str| {
            let (range, step) = it.split_once('/').unwrap_or((it, "1"));
            let is_step = step.parse::<u32>().is_ok_and(|it| it > 0);
            let is_all = ["*", "?"].contains(&range);
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            is_step
                && (is_all || is_inside(first) && is_inside(last) && number(first) <= number(last))
        };
        (!written.split(',').all(is_range))
            .then(|| format!("the {name} `{written}` is not between {least} and {greatest}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_those_of_cron() {
        for text in [
            "0 3 * * *",
            "*/5 0-6/2 1,15 jan-mar MON-FRI",
            "@daily",
            "@every 1h",
            "? * ? * 6",
            "TZ=Europe/Berlin 0 3 * * *",
        ] {
            assert_eq!(wrong(text), None, "{text}");
        }
        for text in [
            "0 25 * * *",
            "60 * * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 7",
            "* * * *",
            "0 0 3 * * *",
            "*/0 * * * *",
            "5-1 * * * *",
            "a * * * *",
        ] {
            assert!(wrong(text).is_some(), "{text}");
        }
    }
}
