//! Why a file answers, in words and as one word.

use super::cause::FoundBy;
use imgcheck_base::lexical::name_of;
use imgcheck_loader::{Reason, SearchPath};

/// A reason for people.
pub(super) fn text(reason: &Reason) -> String {
    match reason {
        Reason::Executable => "the program".to_owned(),
        Reason::Interpreter => "the loader".to_owned(),
        Reason::Preload => "LD_PRELOAD or ld.so.preload".to_owned(),
        Reason::Path => "its path".to_owned(),
        Reason::Search(path) => search_path(path),
    }
}

/// A search path for people.
pub(super) fn search_path(path: &SearchPath) -> String {
    let name = |path: &str| name_of(path).to_owned();
    match path {
        SearchPath::Rpath(of) => format!("DT_RPATH of {}", name(of)),
        SearchPath::Runpath(of) => format!("DT_RUNPATH of {}", name(of)),
        SearchPath::LibraryPath => "LD_LIBRARY_PATH".to_owned(),
        SearchPath::Cache => "ld.so.cache".to_owned(),
        SearchPath::Default => "default directories".to_owned(),
    }
}

/// A reason as one word.
pub(super) fn found_by(reason: &Reason) -> FoundBy {
    match reason {
        Reason::Executable => FoundBy::Executable,
        Reason::Interpreter => FoundBy::Interpreter,
        Reason::Preload => FoundBy::Preload,
        Reason::Path => FoundBy::Path,
        Reason::Search(SearchPath::Rpath(_)) => FoundBy::Rpath,
        Reason::Search(SearchPath::Runpath(_)) => FoundBy::Runpath,
        Reason::Search(SearchPath::LibraryPath) => FoundBy::LdLibraryPath,
        Reason::Search(SearchPath::Cache) => FoundBy::Cache,
        Reason::Search(SearchPath::Default) => FoundBy::Default,
    }
}
