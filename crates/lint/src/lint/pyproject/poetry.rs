//! Version constraints of Poetry (<https://python-poetry.org/docs/dependency-specification/>).

/// The same constraint in PEP 440: `>=3.13,<4` for `^3.13`. `None` for one with alternatives (`||`), and for one that is not valid.
pub fn specifier_of(constraint: &str) -> Option<String> {
    let parts = constraint.split(',').map(|part| part_of(part.trim()));
    let parts: Vec<String> = parts.collect::<Option<_>>()?;
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    Some(parts.collect::<Vec<_>>().join(","))
}

fn part_of(part: &str) -> Option<String> {
    if part.contains([' ', '|']) {
        return None;
    }
    let range = |version: &str, limit: Vec<u64>| {
        let limit: Vec<String> = limit.iter().map(u64::to_string).collect();
        format!(">={version},<{}", limit.join("."))
    };
    if let Some(version) = part.strip_prefix('^') {
        let numbers = numbers(version)?;
        // The first number that is not 0 stays.
        let kept = numbers.iter().position(|it| *it != 0);
        return Some(range(
            version,
            raised(&numbers, kept.unwrap_or(numbers.len() - 1)),
        ));
    }
    if let Some(version) = part.strip_prefix('~').filter(|it| !it.starts_with('=')) {
        let numbers = numbers(version)?;
        return Some(range(version, raised(&numbers, 1.min(numbers.len() - 1))));
    }
    match part.chars().next() {
        Some('*') if part.len() == 1 => Some(String::new()),
        Some(first) if first.is_ascii_digit() => Some(format!("=={part}")),
        first => first.map(|_| part.to_owned()),
    }
}

/// The numbers up to one of them, which is raised.
fn raised(numbers: &[u64], at: usize) -> Vec<u64> {
    let mut raised = numbers[..=at].to_vec();
    raised[at] += 1;
    raised
}

fn numbers(version: &str) -> Option<Vec<u64>> {
    let numbers = version.split('.').map(|it| it.parse::<u32>().ok());
    numbers.map(|it| it.map(u64::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_are_those_of_pep_440() {
        for (written, expected) in [
            ("^3.13", ">=3.13,<4"),
            ("^0.20", ">=0.20,<0.21"),
            ("^0.0.3", ">=0.0.3,<0.0.4"),
            ("^0", ">=0,<1"),
            ("~2.4.1", ">=2.4.1,<2.5"),
            ("~2", ">=2,<3"),
            ("~=2.4", "~=2.4"),
            (">=3.9, <3.12", ">=3.9,<3.12"),
            ("3.11.*", "==3.11.*"),
            ("3.11", "==3.11"),
            ("*", ""),
        ] {
            assert_eq!(
                specifier_of(written).as_deref(),
                Some(expected),
                "{written}"
            );
        }
        for written in ["^3.9 || ^3.12", ">=3.9 <4", "^x", "^", ""] {
            assert_eq!(specifier_of(written), None, "{written}");
        }
    }
}
