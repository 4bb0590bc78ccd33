//! Modes of `chmod` (POSIX.1-2024, `chmod`).

/// What a mode does to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Only who may write them.
    OfWriting,
    /// Everybody it names may read and execute them, or some more may.
    Opens,
    /// Somebody may not read or execute them any more.
    Restricts,
}

impl Change {
    /// Reads a mode; `None` if it sets other bits, such as set-user-ID, or is not understood.
    pub fn parse(mode: &str) -> Option<Self> {
        let is_octal = mode.len() >= 3 && mode.bytes().all(|it| (b'0'..=b'7').contains(&it));
        if is_octal {
            let (special, classes) = mode.split_at(mode.len() - 3);
            let opens = classes.bytes().all(|it| it & 0o5 == 0o5);
            // The sticky bit only matters for who may remove files.
            return matches!(special, "" | "0" | "1").then_some(match opens {
                true => Change::Opens,
                false => Change::Restricts,
            });
        }
        let clauses: Option<Vec<Change>> = mode.split(',').map(clause).collect();
        let clauses = clauses?;
        let has = |change: Change| clauses.contains(&change);
        Some(match (has(Change::Restricts), has(Change::Opens)) {
            (true, _) => Change::Restricts,
            (false, true) => Change::Opens,
            (false, false) => Change::OfWriting,
        })
    }
}

/// `u+x`, `go-w`, `a=r`
fn clause(text: &str) -> Option<Change> {
    let at = text.find(['+', '-', '='])?;
    let (who, action) = text.split_at(at);
    let (operator, bits) = action.split_at(1);
    let is_known =
        who.chars().all(|c| "ugoa".contains(c)) && bits.chars().all(|c| "rwxX".contains(c));
    is_known.then_some(match (operator, bits) {
        ("+" | "-", "w") => Change::OfWriting,
        ("+", _) => Change::Opens,
        _ => Change::Restricts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes() {
        for (mode, change) in [
            ("+x", Some(Change::Opens)),
            ("u+rwX,go-w", Some(Change::Opens)),
            ("g+w", Some(Change::OfWriting)),
            ("0755", Some(Change::Opens)),
            ("1777", Some(Change::Opens)),
            ("600", Some(Change::Restricts)),
            ("a-x", Some(Change::Restricts)),
            ("u=rw", Some(Change::Restricts)),
            ("4755", None),
            ("u+s", None),
            ("--reference=x", None),
        ] {
            assert_eq!(Change::parse(mode), change, "{mode}");
        }
    }
}
