//! Claims read from references that people wrote, and from labels and environments of images.

mod environment;
mod references;

use std::collections::BTreeMap;

use imgcheck_model::claims::{Claim, Grammar};
use proptest::prelude::*;

/// One row of a corpus; `testdata/tags.md` describes them.
struct Row<'t> {
    reference: &'t str,
    expected: Vec<&'t str>,
    allowed: Vec<&'t str>,
}

fn corpus(text: &str) -> Vec<Row<'_>> {
    text.lines()
        .skip(1)
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let note = columns.get(3).copied().unwrap_or_default();
            let allowed = note.split_once("may: ").map_or("", |(_, rest)| rest);
            Row {
                reference: columns[0],
                expected: columns[1].split_whitespace().collect(),
                allowed: allowed
                    .split_whitespace()
                    .map(|word| word.trim_end_matches([';', ',']))
                    .collect(),
            }
        })
        .collect()
}

fn read(grammar: &Grammar, reference: &str) -> Vec<String> {
    let claims = grammar.claims(reference).unwrap_or_default();
    claims.iter().map(written).collect()
}

fn written(claim: &Claim) -> String {
    format!("{}={}", claim.subject, claim.version)
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn named(pairs: &[(String, String)]) -> impl Iterator<Item = (&String, &String)> {
    pairs.iter().map(|(name, value)| (name, value))
}

#[test]
fn every_built_in_pattern_compiles() {
    let files = imgcheck_tables::files("knowledge/tags");
    assert!(files.len() > 5);
    Grammar::load(files).unwrap();
}

#[test]
fn a_mistake_in_a_grammar_file_is_shown_where_it_is() {
    let problem = |text: &str| Grammar::load([("my.yaml", text)]).unwrap_err().to_string();
    let wrong = problem("tokens:\n- near: [cuda]\n  read: 'cuda(?<cuda>[0-9]'\n");
    assert!(wrong.contains("my.yaml:3:"), "{wrong}");
    assert!(wrong.contains("not valid"), "{wrong}");
    let unknown = problem("tokens:\n- near: [cuda]\n  read: 'x(?<cudaa>[0-9])'\n");
    assert!(
        unknown.contains("`cudaa`") && unknown.contains("not a subject"),
        "{unknown}"
    );
    let misspelt = problem("tokens:\n- nere: [cuda]\n  read: 'x'\n");
    assert!(
        misspelt.contains("nere") && misspelt.contains("my.yaml:2:"),
        "{misspelt}"
    );
}

#[test]
fn the_most_literal_publisher_wins_and_mirrors_are_seen_through() {
    let grammar = Grammar::load([(
        "my.yaml",
        "grammars:\n\
         - {match: ['acme/*'], tag: ['r(?<l4t>[0-9.]+)']}\n\
         - {match: [acme/train], tag: ['t(?<torch>{release})']}\n\
         - {match: ['zoo/**'], name: ['n(?<jax>{release})']}\n",
    )])
    .unwrap();
    assert_eq!(
        read(&grammar, "mirror.example:5000/hub/acme/other:r35.4"),
        ["l4t=35.4"]
    );
    assert_eq!(read(&grammar, "acme/train:t2.8-r35.4"), ["torch=2.8"]);
    assert_eq!(read(&grammar, "zoo/a/b/n0.4.1"), ["jax=0.4.1"]);
    assert_eq!(read(&grammar, "zooo/n0.4.1"), [""; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_reference_is_read_twice_alike_and_every_text_is_a_piece_of_it(
        repository in "(nvidia/cuda|pytorch|dustynv/[a-z]{1,6}|vertex-ai/[a-z0-9.-]{1,12}|[a-z]{1,5}/[a-z0-9-]{1,9})",
        pieces in proptest::collection::vec(
            "(v?[0-9.]{1,7}|cu[0-9]{0,5}|cuda-?[0-9.]{0,6}|cudnn[0-9]?|py[0-9.]{0,5}|torch[0-9.]{0,6}|ubuntu[0-9.]{0,5}|gpu|devel|r[0-9.]{1,7}|[a-zA-Z0-9]{1,6})", 1..6),
        separator in "[-_.]",
    ) {
        let reference = format!("{repository}:{}", pieces.join(&separator));
        let grammar = imgcheck_model::knowledge::grammar().unwrap();
        if let Ok(claims) = grammar.claims(&reference) {
            prop_assert_eq!(&claims, &grammar.claims(&reference).unwrap());
            for claim in claims {
                prop_assert!(!claim.version.is_empty() && reference.contains(&claim.text));
                prop_assert!(imgcheck_tables::vocabulary::CLAIM_SUBJECTS.contains(&claim.subject.as_str()));
            }
        }
    }

    #[test]
    fn any_text_and_any_environment_is_read_without_panic(
        reference in "\\PC{0,60}",
        value in "\\PC{0,40}",
    ) {
        let grammar = imgcheck_model::knowledge::grammar().unwrap();
        let names = ["CUDA_VERSION", "PYTORCH_VERSION", "org.opencontainers.image.version"];
        let variables: Vec<_> = names.iter().map(|name| ((*name).to_owned(), value.clone())).collect();
        let labels = variables.iter().cloned().collect();
        let claims = grammar.image_claims(Some(&reference), &labels, named(&variables));
        prop_assert!(claims.iter().all(|claim| !claim.version.is_empty()));
    }
}
