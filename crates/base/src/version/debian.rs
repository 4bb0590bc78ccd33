//! The order of Debian package versions ([`deb-version(7)`](https://manpages.debian.org/deb-version.7)).

use std::cmp::Ordering;

/// Orders two Debian versions: epoch, then upstream version, then revision.
pub fn compare(a: &str, b: &str) -> Ordering {
    let (a, b) = (split(a), split(b));
    a.0.cmp(&b.0)
        .then_with(|| compare_part(a.1, b.1))
        .then_with(|| compare_part(a.2, b.2))
}

/// `[epoch:]upstream[-revision]`; a missing epoch is 0, a missing revision is empty.
fn split(version: &str) -> (u64, &str, &str) {
    let (epoch, rest) = match version.split_once(':') {
        Some((epoch, rest)) => match epoch.parse() {
            Ok(epoch) => (epoch, rest),
            Err(_) => (0, version),
        },
        None => (0, version),
    };
    let (upstream, revision) = rest.rsplit_once('-').unwrap_or((rest, ""));
    (epoch, upstream, revision)
}

/// Compares alternating sequences of other characters (`~` before the end, the end before letters, letters before the rest) and
/// digits.
fn compare_part(mut a: &str, mut b: &str) -> Ordering {
    while !a.is_empty() || !b.is_empty() {
        let (text_a, text_b) = (
            take(&mut a, |c| !c.is_ascii_digit()),
            take(&mut b, |c| !c.is_ascii_digit()),
        );
        let (number_a, number_b) = (
            take(&mut a, |c| c.is_ascii_digit()),
            take(&mut b, |c| c.is_ascii_digit()),
        );
        let order = compare_text(text_a, text_b).then_with(|| compare_number(number_a, number_b));
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Removes and returns the longest prefix of accepted characters.
fn take<'a>(text: &mut &'a str, accept: impl Fn(char) -> bool) -> &'a str {
    let end = text.find(|c| !accept(c)).unwrap_or(text.len());
    let (head, tail) = text.split_at(end);
    *text = tail;
    head
}

fn compare_text(a: &str, b: &str) -> Ordering {
    let weights = |text: &str| {
        text.chars()
            .map(|c| match c {
                '~' => -1,
                c if c.is_ascii_alphabetic() => i64::from(u32::from(c)),
                c => i64::from(u32::from(c)) + 0x11_0000,
            })
            .chain([0])
            .collect::<Vec<_>>()
    };
    weights(a).cmp(&weights(b))
}

/// Compares numbers of any length without leading zeros.
fn compare_number(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Debian's manual and dpkg's test suite.
    #[test]
    fn order_is_that_of_dpkg() {
        for (smaller, larger) in [
            ("1.0~rc1", "1.0"),
            ("1.0~~", "1.0~"),
            ("1.0", "1.0a"),
            ("1.0a", "1.0+b"),
            ("1.0-1", "1.0-2"),
            ("1.9", "1.10"),
            ("9", "1:1"),
            ("8.9.2.26-1+cuda12.1", "8.9.7.29-1+cuda12.2"),
        ] {
            assert_eq!(
                compare(smaller, larger),
                Ordering::Less,
                "{smaller} < {larger}"
            );
            assert_eq!(
                compare(larger, smaller),
                Ordering::Greater,
                "{larger} > {smaller}"
            );
        }
        assert_eq!(compare("1.00-0", "1.0-0"), Ordering::Equal);
        assert_eq!(compare("0:1.0", "1.0"), Ordering::Equal);
    }
}
