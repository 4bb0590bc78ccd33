//! Compiled files beside modules: whether Python runs one that is something else than its source.
//!
//! Source: PEP 3147, PEP 552, and `Python/marshal.c`.

use std::collections::HashSet;

/// Longest name that is looked at.
const LONGEST: usize = 4096;

/// Names that the compiler adds.
const GENERATED: [&str; 19] = [
    "__doc__",
    "__name__",
    "__module__",
    "__qualname__",
    "__annotations__",
    "__file__",
    "__class__",
    "__classcell__",
    "__classdict__",
    "__classdictcell__",
    "__firstlineno__",
    "__static_attributes__",
    "__conditional_annotations__",
    "__annotate__",
    "__annotate_func__",
    "__type_params__",
    "return",
    "format",
    "locals",
];

/// Whether Python does not compare a compiled file with its source.
pub fn is_unchecked(compiled: &[u8]) -> bool {
    flags(compiled) & 0b11 == 0b01
}

/// Whether Python may run a compiled file instead of a source of this text and size, and it has names that the source does not have. Python
/// itself compares the size and the time of the source with those in the file; the time is not known here.
pub fn may_replace(compiled: &[u8], source: &str, size: u64) -> bool {
    let is_timed = flags(compiled) & 0b01 == 0;
    let recorded = number(compiled, 12).map(u64::from);
    if is_timed && recorded != Some(size & u64::from(u32::MAX)) {
        return false;
    }
    is_unchecked(compiled) || has_other_names(compiled, source)
}

fn flags(compiled: &[u8]) -> u32 {
    number(compiled, 4).unwrap_or_default()
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// Whether a compiled file contains names that its source does not, or lacks a function or class of its source: code that does something
/// else needs other names, or at least fewer. What is in comments does not count.
fn has_other_names(compiled: &[u8], source: &str) -> bool {
    let is_code = |line: &&str| !line.trim_start().starts_with('#');
    let lines = || source.split(['\n', '\r']).filter(is_code);
    let is_separator = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    let known: HashSet<&str> = lines().flat_map(|line| line.split(is_separator)).collect();
    let is_known = |name: &str| {
        // `__name` in a class is `_Class__name`.
        let private = name
            .strip_prefix('_')
            .and_then(|rest| rest.split_once("__"));
        known.contains(name)
            || GENERATED.contains(&name)
            || private.is_some_and(|(class, rest)| {
                known.contains(class) && known.contains(format!("__{rest}").as_str())
            })
    };
    let names: HashSet<&str> = names(compiled).collect();
    let mut defined = lines().filter_map(|line| {
        let line = line.trim_start();
        let rest = line
            .strip_prefix("def ")
            .or_else(|| line.strip_prefix("class "))?;
        rest.split(is_separator).next()
    });
    let is_lost = |name: &str| name.len() > 1 && !names.contains(name);
    let mut found = names.iter();
    defined.any(is_lost) || found.any(|name| !name.split('.').all(is_known))
}

/// The texts of a marshaled object that may be names, wherever they are.
fn names(compiled: &[u8]) -> impl Iterator<Item = &str> {
    let text = |at: usize| {
        let (start, length) = match compiled[at] & 0x7f {
            b'z' | b'Z' => (at + 2, usize::from(*compiled.get(at + 1)?)),
            b'a' | b'A' | b'u' | b't' => (at + 5, number(compiled, at + 1)? as usize),
            _ => return None,
        };
        let is_name = |it: &&str| {
            let is_word = |word: &str| {
                let mut characters = word.chars();
                let first = characters.next();
                first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                    && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
            };
            it.split('.').all(is_word)
        };
        let bytes = compiled.get(start..start.checked_add(length)?)?;
        let is_possible = (2..=LONGEST).contains(&length);
        str::from_utf8(bytes)
            .ok()
            .filter(|_| is_possible)
            .filter(is_name)
    };
    (0..compiled.len()).filter_map(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "# exec\nimport os\ndef pid(): return os.getpid()\n";

    /// A compiled file with these names.
    fn compiled(flags: u8, size: u8, names: &[&str]) -> Vec<u8> {
        let mut bytes = vec![
            0xa7, 13, 13, 10, flags, 0, 0, 0, 1, 2, 3, 4, size, 0, 0, 0, 0xe3,
        ];
        for (number, name) in names.iter().enumerate() {
            let kind = [0xda, 0x5a, 0xfa, 0x7a][number % 4];
            bytes.extend([kind, name.len() as u8]);
            bytes.extend(name.bytes());
        }
        bytes
    }

    #[test]
    fn a_compiled_file_with_other_names_is_not_its_source() {
        let names = [
            "os",
            "pid",
            "getpid",
            "<module>",
            "/usr/x.py",
            "__doc__",
            "pid.getpid",
        ];
        assert!(!may_replace(&compiled(0, 44, &names), SOURCE, 44));
        assert!(may_replace(
            &compiled(0, 44, &["os", "pid", "system"]),
            SOURCE,
            44
        ));
        assert!(
            may_replace(&compiled(0, 44, &["os", "getpid"]), SOURCE, 44),
            "no function"
        );
        assert!(
            may_replace(&compiled(0, 44, &["exec"]), SOURCE, 44),
            "a comment"
        );
        assert!(may_replace(
            &compiled(0, 44, &["os", "os.system"]),
            SOURCE,
            44
        ));
        assert!(
            !may_replace(&compiled(0, 43, &["system"]), SOURCE, 44),
            "it is out of date"
        );
        assert!(
            may_replace(&compiled(3, 0, &["system"]), SOURCE, 44),
            "a checked hash"
        );
        assert!(
            may_replace(&compiled(1, 0, &["os"]), SOURCE, 44),
            "an unchecked hash"
        );
    }

    #[test]
    fn names_of_private_attributes() {
        let source = "class Printer:\n  def f(self): return self.__data\n";
        assert!(!may_replace(
            &compiled(0, 9, &["Printer", "_Printer__data"]),
            source,
            9
        ));
        assert!(may_replace(
            &compiled(0, 9, &["Printer", "_Printer__other"]),
            source,
            9
        ));
    }

    #[test]
    fn long_texts_are_names_too() {
        let mut bytes = compiled(0, 9, &[]);
        bytes.extend([b'u', 6, 0, 0, 0]);
        bytes.extend(b"system");
        assert!(may_replace(&bytes, SOURCE, 9));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_judged(bytes: Vec<u8>, source: String) {
            may_replace(&bytes, &source, 0);
        }
    }
}
