//! The module that a misspelled one probably means.

use imgcheck_base::spelling::nearest;
use imgcheck_image::Node;
use imgcheck_python::run::{Files, Found};

use super::files::ImageFiles;

/// A module with the most similar name to one that the directories do not have: `torch` for `torhc`. `None` if they have it, or nothing like
/// it.
pub(super) fn similar<'r>(
    name: &str,
    path: &[Node<'r>],
    files: &ImageFiles<'_, 'r>,
) -> Option<String> {
    let mut path = path.to_vec();
    let mut known: Vec<&str> = Vec::new();
    for part in name.split('.') {
        let found = path.iter().filter_map(|it| files.find(*it, part));
        let found: Vec<Found<Node<'r>>> = found.collect();
        if found.is_empty() {
            let names = path.iter().flat_map(|it| files.names(*it));
            let names: Vec<&str> = names.filter(|it| is_identifier(it)).collect();
            known.push(nearest(part, names)?);
            return Some(known.join("."));
        }
        known.push(part);
        let below = found.into_iter().filter_map(|it| match it {
            Found::Package(directory, _) | Found::Directory(directory) => Some(directory),
            Found::Module(_) => None,
        });
        path = below.collect();
    }
    None
}

/// Whether a name can be imported: that of the metadata of a distribution cannot.
fn is_identifier(name: &str) -> bool {
    name.chars().all(|it| it.is_alphanumeric() || it == '_')
}
