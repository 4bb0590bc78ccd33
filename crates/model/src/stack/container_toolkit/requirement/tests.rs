#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

const HOST: Host = Host {
    cuda: Some("12.4"),
    driver: Some("550.54.14"),
    arch: Some("8.6"),
    brand: Some("GeForce"),
};

fn judge(text: &str) -> Verdict {
    Requirement::parse(text).judge(&HOST)
}

#[test]
fn spaces_mean_or_and_commas_mean_and() {
    for (text, expected) in [
        ("", Verdict::Met),
        ("cuda>=12.4", Verdict::Met),
        ("cuda>=12.5", Verdict::Unmet),
        ("cuda>=12.5 driver>=550", Verdict::Met),
        ("cuda>=12.5 brand=tesla,driver>=550", Verdict::Unmet),
        (
            "cuda>=12.5 brand=geforce,driver>=550,driver<551",
            Verdict::Met,
        ),
        ("cuda>=12.5  ,driver>=551, driver=550.54.14", Verdict::Met),
        ("CUDA>=12 BRAND!=tesla", Verdict::Met),
        ("arch>=8.0,arch!8.6", Verdict::Unmet),
        ("cuda=12.4.0", Verdict::Met),
        ("cuda>12.4.0", Verdict::Unmet),
        ("cuda<12.4.1", Verdict::Met),
        ("driver<=550", Verdict::Unmet),
    ] {
        assert_eq!(judge(text), expected, "{text}");
    }
}

/// What is behind an alternative that holds is never read.
#[test]
fn an_invalid_part_counts_where_it_is_reached() {
    for (text, expected) in [
        ("cuda>=12.x", Verdict::Invalid),
        ("cuda>=12 cuda>=12.x", Verdict::Met),
        ("cuda>=13 cuda>=12.x", Verdict::Invalid),
        ("cuda==12.4", Verdict::Invalid),
        ("cuda", Verdict::Invalid),
        ("cuda>=", Verdict::Invalid),
        ("gpu>=12", Verdict::Invalid),
        ("brand>tesla", Verdict::Invalid),
        ("cuda>=.5", Verdict::Invalid),
        ("cuda>=12.4\tdriver>=1", Verdict::Invalid),
    ] {
        assert_eq!(judge(text), expected, "{text}");
        let invalid = Requirement::parse(text).invalid();
        assert!(!invalid.is_empty(), "{text}");
    }
    let invalid = Requirement::parse("cuda>=12.8 cuda==13 brand<x").invalid();
    let texts: Vec<&str> = invalid.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(texts, ["cuda==13", "brand<x"]);
}

/// As in `src/cli/dsl.c`: the loop over an alternative of commas ends, and so does the search, with what there was.
#[test]
fn commas_alone_decide_nothing() {
    assert_eq!(judge(","), Verdict::Met);
    assert_eq!(judge("cuda>=13 , cuda>=12"), Verdict::Unmet);
}

#[test]
fn what_is_not_known_of_a_host_is_no_obstacle() {
    let requirement = Requirement::parse("cuda>=99,driver>=999,arch>=99,brand=x");
    assert_eq!(requirement.judge(&Host::default()), Verdict::Met);
}

/// The same question asked of the text itself, one step after another, with no data structure: what the parser is compared with.
fn naive(text: &str, host: &Host) -> Verdict {
    let mut last = true;
    for alternative in text.split(' ').filter(|it| !it.is_empty()) {
        let parts: Vec<&str> = alternative.split(',').filter(|it| !it.is_empty()).collect();
        if parts.is_empty() {
            break;
        }
        let mut all = true;
        for part in parts {
            let Some(holds) = naive_part(part, host) else {
                return Verdict::Invalid;
            };
            last = holds;
            if !holds {
                all = false;
                break;
            }
        }
        if all {
            break;
        }
    }
    match last {
        true => Verdict::Met,
        false => Verdict::Unmet,
    }
}

fn naive_part(part: &str, host: &Host) -> Option<bool> {
    let name: String = part.chars().take_while(|c| !"<>=!".contains(*c)).collect();
    let rest = &part[name.len()..];
    let operator: String = rest.chars().take_while(|c| "<>=!".contains(*c)).collect();
    let value = &rest[operator.len()..];
    if value.is_empty() || !["=", "!=", "!", "<", "<=", ">", ">="].contains(&operator.as_str()) {
        return None;
    }
    let known = match name.to_lowercase().as_str() {
        "cuda" => host.cuda,
        "driver" => host.driver,
        "arch" => host.arch,
        "brand" => {
            let same = host
                .brand
                .map(|it| it.to_lowercase() == value.to_lowercase());
            return match operator.as_str() {
                "=" => Some(same.unwrap_or(true)),
                "!=" | "!" => Some(same.is_none_or(|same| !same)),
                _ if host.brand.is_none() => Some(true),
                _ => None,
            };
        }
        _ => return None,
    };
    let Some(known) = known else {
        return Some(true);
    };
    let numbers = |text: &str| -> Option<Vec<u64>> {
        text.split('.').map(|number| number.parse().ok()).collect()
    };
    let (mut left, mut right) = (numbers(known)?, numbers(value)?);
    let length = left.len().max(right.len());
    left.resize(length, 0);
    right.resize(length, 0);
    Some(match operator.as_str() {
        "=" => left == right,
        "!=" | "!" => left != right,
        "<" => left < right,
        "<=" => left <= right,
        ">" => left > right,
        _ => left >= right,
    })
}

fn part() -> impl Strategy<Value = String> {
    let name = prop_oneof!["cuda", "driver", "arch", "brand", "CUDA", "gpu"];
    let operator = prop_oneof!["=", "!=", "!", "<", "<=", ">", ">=", "==", ""];
    let value = prop_oneof![
        "[0-9]{1,3}(\\.[0-9]{1,2}){0,2}",
        Just("geforce".to_owned()),
        Just("tesla".to_owned()),
        Just(String::new()),
    ];
    (name, operator, value).prop_map(|(name, operator, value)| format!("{name}{operator}{value}"))
}

fn requirement() -> impl Strategy<Value = String> {
    let separator = prop_oneof![Just(" "), Just(","), Just(" ,"), Just("  ")];
    prop::collection::vec((part(), separator), 0..8).prop_map(|parts| {
        let parts = parts.into_iter();
        parts.map(|(part, separator)| part + separator).collect()
    })
}

fn hosts() -> impl Strategy<Value = (Option<String>, Option<String>, Option<String>)> {
    let version = || prop::option::of("[0-9]{1,3}(\\.[0-9]{1,2}){0,2}");
    let brand = prop::option::of(prop_oneof![
        Just("GeForce".to_owned()),
        Just("Tesla".to_owned()),
        Just(String::new()),
    ]);
    (version(), version(), brand)
}

proptest! {
    #[test]
    fn any_text_is_taken(text in any::<String>()) {
        let requirement = Requirement::parse(&text);
        requirement.judge(&HOST);
        requirement.judge(&Host::default());
        prop_assert!(requirement.invalid().len() <= text.len());
    }

    #[test]
    fn it_is_judged_as_by_reading_it_aloud(text in requirement(), (cuda, driver, brand) in hosts()) {
        let host = Host {
            cuda: cuda.as_deref(),
            driver: driver.as_deref(),
            arch: Some("8.6"),
            brand: brand.as_deref(),
        };
        prop_assert_eq!(Requirement::parse(&text).judge(&host), naive(&text, &host), "{}", text);
    }

    /// A part that is invalid without a host is also invalid with a known host.
    #[test]
    fn what_is_invalid_is_known_beforehand(text in part()) {
        let judged = Requirement::parse(&text).judge(&HOST);
        let invalid = Requirement::parse(&text).invalid();
        prop_assert_eq!(judged == Verdict::Invalid, !invalid.is_empty(), "{}", text);
    }
}
