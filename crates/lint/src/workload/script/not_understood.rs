//! Commands and lines for a batch system that look as if they start a container or request GPUs, and are not followed.

use super::program::BEFORE;
use crate::lint::Argument;
use crate::workload::evidence::Search;
use crate::workload::facts::{Container, Evidence, EvidenceKind};
use crate::workload::hints::{AROUND, ScriptHints};
use crate::workload::kinds::Kinds;
use crate::workload::text::Manifest;

/// How much of a command is shown, in characters.
const SHOWN: usize = 80;

/// What commands that start no container look like, and the lines for a batch system if there is no container at all.
pub(super) fn evidence(
    commands: &[Vec<Argument>],
    containers: &[Container],
    manifest: &Manifest,
    kinds: &Kinds,
) -> Vec<Evidence> {
    let mut search = Search::new(manifest, kinds, containers);
    for words in commands {
        command(words, &mut search);
    }
    if containers.is_empty() {
        directives(&mut search);
    }
    search.found
}

fn command(words: &[Argument], search: &mut Search) {
    let (kinds, manifest) = (search.kinds, search.manifest);
    let Some(first) = words.first() else { return };
    let texts: Vec<&str> = words.iter().map(|it| it.text.as_str()).collect();
    let line = texts.join(" ");
    if is_silent(&kinds.scripts, &line) {
        return;
    }
    let place = manifest.range(first.span.clone());
    if kinds.scripts.starts.iter().any(|it| has_words(&line, it)) {
        let shown: String = line.chars().take(SHOWN).collect();
        return search.add(EvidenceKind::Command, shown.trim(), place);
    }
    for word in words {
        let place = manifest.range(word.span.clone());
        for text in word.text.split_whitespace() {
            let text = text.trim_matches(AROUND);
            if let Some(image) = kinds.hints.certain_image(text) {
                search.add(EvidenceKind::Image, &image, place.clone());
            }
            let mut options = kinds.scripts.gpu_options.iter();
            if options.any(|it| text == it || text.starts_with(&format!("{it}="))) {
                search.add(EvidenceKind::Gpu, text, place.clone());
            }
        }
    }
}

/// Whether a command only names an image. What starts it unchanged does not count.
fn is_silent(hints: &ScriptHints, line: &str) -> bool {
    let before = |word: &str| BEFORE.contains(&word) || word.starts_with('-');
    let mut rest = line;
    while let Some((_, after)) = rest.split_once(' ').filter(|(word, _)| before(word)) {
        rest = after;
    }
    let (program, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
    let program = program.rsplit('/').next().unwrap_or(program);
    let line = format!("{program} {arguments} ");
    let mut silent = hints.silent.iter();
    silent.any(|it| line.starts_with(&format!("{it} ")))
}

/// Whether words are in a line, also in quotes or with a path before them.
fn has_words(line: &str, words: &str) -> bool {
    let is_outside = |it: char| !(it.is_alphanumeric() || ['-', '_', '.'].contains(&it));
    line.match_indices(words).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + words.len()..].chars().next();
        before.is_none_or(is_outside) && after.is_some_and(char::is_whitespace)
    })
}

/// Lines for a batch system that request GPUs.
fn directives(search: &mut Search) {
    let (hints, manifest) = (&search.kinds.scripts, search.manifest);
    let mut start = 0;
    for line in manifest.text().split_inclusive('\n') {
        let mut known = hints.directives.iter();
        let is_directive = known.any(|it| line.starts_with(it.as_str()));
        if is_directive && hints.gpu_directives.iter().any(|it| line.contains(it)) {
            let text = line.trim_end();
            let place = manifest.range(start..start + text.len());
            search.add(EvidenceKind::Gpu, text, place);
        }
        start += line.len();
    }
}
