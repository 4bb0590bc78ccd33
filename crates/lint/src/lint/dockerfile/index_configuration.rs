//! Where pip and uv get an index from, beside their options and variables: configuration files, and what the build is given.
//!
//! Sources: pip, "Configuration files"; uv, "Configuration files".

use super::super::install::Install;
use super::super::pin::Index;
use super::super::requirements::index_option;
use super::super::text::Text;
use super::copies::absolute;
use super::session::Session;
use super::state::State;
use imgcheck_base::error::Result;
use imgcheck_base::lexical::name_of;

/// The names of the files.
const FILES: [&str; 2] = ["pip.conf", "uv.toml"];
/// Those that pip reads as root, beside that of the environment.
const OF_PIP: [&str; 4] = [
    "/etc/pip.conf",
    "/etc/xdg/pip/pip.conf",
    "/root/.config/pip/pip.conf",
    "/root/.pip/pip.conf",
];
/// Those that uv reads as root, beside those of the working directory.
const OF_UV: [&str; 3] = [
    "/etc/uv/uv.toml",
    "/etc/xdg/uv/uv.toml",
    "/root/.config/uv/uv.toml",
];
/// The variables that name an index, or a file that does.
const VARIABLES: [&str; 11] = [
    "PIP_CONFIG_FILE",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_INDEX_URL",
    "UV_CONFIG_FILE",
    "UV_DEFAULT_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_TORCH_BACKEND",
];

impl State<'_> {
    /// Handles a variable whose value the file does not say.
    pub fn index_variable(&mut self, name: &str) {
        if VARIABLES.contains(&name) {
            self.index_from = Some(name.to_owned());
        }
    }

    /// Handles a path that something is written to.
    pub fn index_file(&mut self, path: &str) {
        if FILES.contains(&name_of(path)) {
            self.index_from = Some(path.to_owned());
        }
    }

    /// Handles the settings of `RUN --mount`, which may bring a configuration file or, as a secret, a variable.
    pub fn index_mount(&mut self, settings: &str) {
        for (name, value) in settings.split(',').filter_map(|it| it.split_once('=')) {
            match name {
                "env" => self.index_variable(value),
                "target" | "dst" | "destination" => self.index_file(value),
                _ => {}
            }
        }
    }

    /// Adds the indexes that configuration files name to those of a command. What imgcheck cannot read counts as an index, too.
    pub fn configure_index(
        &self,
        text: &Text<'_>,
        install: &mut Install,
        session: &Session,
    ) -> Result<()> {
        let directory = self.directory(session);
        let (variable, mut files) = match install.uv {
            true => {
                let here = ["uv.toml", "pyproject.toml"].map(|it| absolute(directory, it));
                let all = OF_UV.iter().map(|it| (*it).to_owned()).chain(here);
                ("UV_CONFIG_FILE", all.collect::<Vec<_>>())
            }
            false => {
                let environment = install.environment.as_deref();
                let environment = environment.unwrap_or("/usr/local");
                let own = absolute(environment, "pip.conf");
                let all = OF_PIP.iter().map(|it| (*it).to_owned()).chain([own]);
                ("PIP_CONFIG_FILE", all.collect())
            }
        };
        let mut own = install.variables.iter();
        let own = own.find(|(name, _)| name == variable);
        let named = own.map(|(_, value)| value.clone());
        let named = named.or_else(|| self.session_value(variable, session));
        let named = named.filter(|it| it != "/dev/null");
        files.extend(named.iter().map(|it| absolute(directory, it)));
        let mut is_read = false;
        for path in &files {
            let Some((_, content)) = self.origin(text, path)? else {
                continue;
            };
            match install.uv {
                true if names_index(&content) => {
                    install.index.add(path);
                    is_read = true;
                }
                true => {}
                false => is_read |= read(&content, path, &mut install.index),
            }
        }
        let from = self.index_from.as_deref().or(named.as_deref());
        if let Some(from) = from.filter(|_| !is_read) {
            install.index.add(from);
        }
        Ok(())
    }
}

impl Index {
    /// Adds an index that is only known by what names it.
    fn add(&mut self, from: &str) {
        self.besides.push(from.to_owned());
    }
}

/// Whether a configuration of uv may name an index.
fn names_index(content: &str) -> bool {
    content.contains("index") || content.contains("find-links") || content.contains("torch-backend")
}

/// Reads a configuration file of pip (`configparser` of Python without interpolation); `false` if it names no index.
fn read(content: &str, path: &str, index: &mut Index) -> bool {
    let (mut option, mut is_read) = (None, false);
    for line in content.lines() {
        let is_continued = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';', '[']) {
            continue;
        }
        let values = match line.split_once(['=', ':']).filter(|_| !is_continued) {
            None => line,
            Some((name, values)) => {
                let name = name.trim().replace('_', "-");
                let known = ["index-url", "extra-index-url", "find-links"];
                option = known.contains(&name.as_str()).then(|| format!("--{name}"));
                values
            }
        };
        let Some(option) = &option else { continue };
        for value in values.split_whitespace() {
            is_read = true;
            match option.as_str() {
                _ if value.contains('$') => index.add(path),
                // An option or a variable counts more.
                "--index-url" if index.instead.is_some() => {}
                option => index_option(index, option, value),
            }
        }
    }
    is_read
}
