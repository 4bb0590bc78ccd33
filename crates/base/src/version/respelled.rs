//! A version in the spelling of a tag.

use super::first_numbers;

/// How versions join their numbers in tags: `12.8`, `cu128`, `12_8`, `12-8`.
const SEPARATORS: [&str; 4] = [".", "", "_", "-"];

/// A text that spells the version `claimed`, with another version in the same spelling and as many components: `cu118` for 11.8 is
/// `cu128` for 12.8.90. The other version alone if the text does not spell the first.
pub fn respelled(text: &str, claimed: &str, version: &str) -> String {
    // `debian12` is a name as a whole.
    let is_number = version.starts_with(|c: char| c.is_ascii_digit());
    let count = claimed.split('.').count();
    let numbers = first_numbers(version, count).filter(|_| is_number);
    let version = numbers.unwrap_or_else(|| version.to_owned());
    let spelled = SEPARATORS.iter().find_map(|separator| {
        let written = claimed.replace('.', separator);
        let start = text.rfind(&written).filter(|_| !written.is_empty())?;
        let end = start + written.len();
        let version = version.replace('.', separator);
        Some(format!("{}{version}{}", &text[..start], &text[end..]))
    });
    spelled.unwrap_or(version)
}

/// A reference whose tag or repository claims `claimed` with `text`, with another version there and without a digest:
/// `team/train:torch2.9-cu124` with PyTorch 2.8.0 is `team/train:torch2.8-cu124`. The reference as it is if it already has the other version there, the text alone if it has neither.
pub fn renamed(reference: &str, text: &str, claimed: &str, version: &str) -> String {
    let respelled = respelled(text, claimed, version);
    let reference = reference
        .split_once('@')
        .map_or(reference, |(name, _)| name);
    match reference.rfind(text).filter(|_| !text.is_empty()) {
        Some(start) => {
            let (before, after) = (&reference[..start], &reference[start + text.len()..]);
            format!("{before}{respelled}{after}")
        }
        None if reference.contains(&respelled) => reference.to_owned(),
        None => respelled,
    }
}

/// A reference whose tag does not have a word, with one separator less: `team/cuda:12.8-cudnn9` without `cudnn9` is `team/cuda:12.8`. The reference as it is
/// if its tag does not have the word, or nothing else.
pub fn without(reference: &str, word: &str) -> String {
    let start = match reference.rfind([':', '/']) {
        Some(at) => at + 1,
        None => 0,
    };
    let (before, tag) = reference.split_at(start);
    let is_end = |text: &str| !text.contains(|c: char| !"-_.+".contains(c));
    let is_whole = |at: &usize| {
        let (left, right) = (&tag[..*at], &tag[*at + word.len()..]);
        let is_apart = |c: Option<char>| c.is_none_or(|it| "-_.+".contains(it));
        is_apart(left.chars().next_back()) && is_apart(right.chars().next())
    };
    let mut places = tag.match_indices(word).map(|(at, _)| at);
    let Some(at) = places.find(is_whole).filter(|_| !word.is_empty()) else {
        return reference.to_owned();
    };
    let (left, right) = (&tag[..at], &tag[at + word.len()..]);
    let mut rest = right.chars();
    match left.char_indices().next_back() {
        _ if is_end(left) && is_end(right) => reference.to_owned(),
        Some((separator, _)) => format!("{before}{}{right}", &left[..separator]),
        None => {
            rest.next();
            format!("{before}{}", rest.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_tag_goes_with_its_separator() {
        for (reference, word, expected) in [
            ("team/cuda:12.8-cudnn9", "cudnn9", "team/cuda:12.8"),
            ("a/b:cudnn-cuda12.8", "cudnn", "a/b:cuda12.8"),
            ("a:1_cudnn_devel", "cudnn", "a:1_devel"),
            ("a:cudnn", "cudnn", "a:cudnn"),
            ("a/cudnn:12.8", "cudnn", "a/cudnn:12.8"),
            ("a:12.8-cudnn90", "cudnn9", "a:12.8-cudnn90"),
            ("12.8-cudnn9-x", "cudnn9", "12.8-x"),
        ] {
            assert_eq!(without(reference, word), expected, "{reference} {word}");
        }
    }

    #[test]
    fn a_version_is_spelled_as_the_tag_spells_it() {
        for (reference, text, claimed, version, expected) in [
            ("a/b:v2.9", "v2.9", "2.9", "2.8.0+cu128", "a/b:v2.8"),
            (
                "a/b:2.9.1-x@sha256:00",
                "2.9.1",
                "2.9.1",
                "2.8.0",
                "a/b:2.8.0-x",
            ),
            (
                "b:torch2.9-cu118",
                "cu118",
                "11.8",
                "12.8.90",
                "b:torch2.9-cu128",
            ),
            ("b:torch2.8", "torch2.9", "2.9", "2.8.0", "b:torch2.8"),
            ("b:py311", "py311", "3.11", "3.9.2", "b:py39"),
            ("b:cuda12_4", "cuda12_4", "12.4", "12.8", "b:cuda12_8"),
            (
                "b:ubuntu22.04",
                "ubuntu22.04",
                "ubuntu22.04",
                "debian12",
                "b:debian12",
            ),
            ("b:jammy", "jammy", "ubuntu22.04", "debian12", "b:debian12"),
            ("", "cudnn8", "8", "9.10.2", "cudnn9"),
            ("", "", "2.9", "2.8.0", "2.8"),
        ] {
            let found = renamed(reference, text, claimed, version);
            assert_eq!(found, expected, "{reference}");
        }
    }
}
