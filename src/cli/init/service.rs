//! The service that runs the jobs of a repository.

use std::fs;
use std::path::Path;

use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Service {
    Github,
    Gitlab,
}

impl Service {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Service::Github => "github",
            Service::Gitlab => "gitlab",
        }
    }

    /// What a repository that uses it has.
    fn files(self) -> &'static [&'static str] {
        match self {
            Service::Github => &[".github"],
            Service::Gitlab => &[".gitlab", ".gitlab-ci.yml"],
        }
    }
}

/// The services that a repository uses: by its files, or else by its remote.
pub fn used(directory: &Path) -> Vec<Service> {
    let has = |service: &Service| service.files().iter().any(|it| directory.join(it).exists());
    let mut used = Service::value_variants().to_vec();
    used.retain(has);
    if used.is_empty() {
        used.extend(of_remote(directory));
    }
    used
}

/// The service that hosts the first remote of a Git repository that names one.
fn of_remote(directory: &Path) -> Option<Service> {
    let configuration = fs::read_to_string(directory.join(".git/config")).unwrap_or_default();
    let urls = configuration
        .lines()
        .filter_map(|line| line.trim().strip_prefix("url = "));
    urls.map(host).find_map(|host| {
        let mut services = Service::value_variants().iter();
        services.find(|it| host.contains(it.name())).copied()
    })
}

/// The host of `https://token@github.com/team/train` or `git@github.com:team/train`.
fn host(url: &str) -> &str {
    let address = url.split_once("://").map_or(url, |(_, address)| address);
    let authority = address.split('/').next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    host.split(':').next().unwrap_or_default()
}
