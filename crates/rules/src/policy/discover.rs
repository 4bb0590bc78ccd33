//! Finds the configuration file.

use std::path::{Path, PathBuf};

use etcetera::{BaseStrategy, choose_base_strategy};

/// Names of the configuration file in a repository.
pub const NAMES: [&str; 2] = [".imgcheck.yaml", ".imgcheck.yml"];

/// The file of the user: `imgcheck/config.yaml` in `$XDG_CONFIG_HOME` or `~/.config`.
pub fn of_user() -> Option<PathBuf> {
    let user = choose_base_strategy().ok()?.config_dir();
    Some(user.join("imgcheck/config.yaml")).filter(|file| file.is_file())
}

/// The nearest file in a directory and its parents, up to one that contains `.git`. The path is relative to the directory:
/// `../.imgcheck.yaml`.
pub fn in_repository(directory: &Path) -> Option<PathBuf> {
    let mut shown = PathBuf::new();
    for place in directory.ancestors() {
        let found = NAMES.iter().find(|name| place.join(name).is_file());
        if let Some(name) = found {
            return Some(shown.join(name));
        }
        if place.join(".git").exists() {
            return None;
        }
        shown.push("..");
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    #[test]
    fn the_nearest_file_wins_and_the_search_ends_at_the_repository() {
        let outside = tempfile::tempdir().unwrap();
        let repository = outside.path().join("repository");
        let inner = repository.join("images/train");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir(repository.join(".git")).unwrap();
        fs::write(outside.path().join(".imgcheck.yaml"), "").unwrap();
        assert_eq!(in_repository(&inner), None);
        fs::write(repository.join(".imgcheck.yml"), "").unwrap();
        assert_eq!(in_repository(&inner), Some("../../.imgcheck.yml".into()));
        fs::write(inner.join(".imgcheck.yaml"), "").unwrap();
        assert_eq!(in_repository(&inner), Some(".imgcheck.yaml".into()));
        fs::remove_dir(repository.join(".git")).unwrap();
        fs::remove_file(inner.join(".imgcheck.yaml")).unwrap();
        fs::remove_file(repository.join(".imgcheck.yml")).unwrap();
        assert_eq!(
            in_repository(&inner),
            Some("../../../.imgcheck.yaml".into())
        );
    }
}
