//! The versions of symbols that files define.

use std::cell::RefCell;
use std::collections::HashMap;

use imgcheck_elf::ElfFacts;

/// The newest versions that files define. The definitions of a file are looked at once, however many versions it lacks.
#[derive(Default)]
pub(super) struct NewestVersions<'r>(RefCell<HashMap<*const ElfFacts, ByKind<'r>>>);

/// The newest version of each kind.
type ByKind<'r> = HashMap<&'r str, Newest<'r>>;

struct Newest<'r> {
    numbers: Vec<u32>,
    version: &'r str,
}

impl<'r> NewestVersions<'r> {
    /// The newest version that a file defines of the same kind: `GLIBCXX_3.4.28` for `GLIBCXX_3.4.30`.
    pub fn of_kind(&self, elf: &'r ElfFacts, version: &str) -> Option<&'r str> {
        let (kind, _) = version.rsplit_once('_')?;
        let mut known = self.0.borrow_mut();
        let by_kind = known
            .entry(std::ptr::from_ref(elf))
            .or_insert_with(|| newest(&elf.version_definitions));
        by_kind.get(kind).map(|newest| newest.version)
    }
}

fn newest(definitions: &[String]) -> ByKind<'_> {
    let mut by_kind = ByKind::new();
    for version in definitions {
        let Some((kind, numbers)) = version.rsplit_once('_') else {
            continue;
        };
        let numbers: Option<Vec<u32>> = numbers.split('.').map(|it| it.parse().ok()).collect();
        let Some(numbers) = numbers else {
            continue;
        };
        let is_newest = by_kind
            .get(kind)
            .is_none_or(|known: &Newest| known.numbers <= numbers);
        if is_newest {
            by_kind.insert(kind, Newest { numbers, version });
        }
    }
    by_kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_that_of_the_same_kind() {
        let versions = [
            "libstdc++.so.6",
            "GLIBCXX_3.4.9",
            "GLIBCXX_3.4.28",
            "GLIBCXX_3.4.3",
            "CXXABI_1.3.12",
            "CXXABI_TM_1",
            "CXXABI_FLOAT128",
            "GLIBC_PRIVATE",
        ];
        let elf = ElfFacts {
            version_definitions: versions.map(str::to_owned).to_vec(),
            ..ElfFacts::default()
        };
        let newest = NewestVersions::default();
        for (version, expected) in [
            ("GLIBCXX_3.4.30", Some("GLIBCXX_3.4.28")),
            ("CXXABI_1.3.13", Some("CXXABI_1.3.12")),
            ("CXXABI_TM_2", Some("CXXABI_TM_1")),
            ("GLIBC_2.38", None),
            ("unversioned", None),
        ] {
            assert_eq!(newest.of_kind(&elf, version), expected, "{version}");
        }
    }
}
