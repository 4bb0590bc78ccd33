//! Why a file answers, in words and as one word.

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

/// A reason as one word, for the report.
pub(super) fn word(reason: &Reason) -> &'static str {
    match reason {
        Reason::Executable => "executable",
        Reason::Interpreter => "interpreter",
        Reason::Preload => "preload",
        Reason::Path => "path",
        Reason::Search(SearchPath::Rpath(_)) => "rpath",
        Reason::Search(SearchPath::Runpath(_)) => "runpath",
        Reason::Search(SearchPath::LibraryPath) => "ld-library-path",
        Reason::Search(SearchPath::Cache) => "cache",
        Reason::Search(SearchPath::Default) => "default",
    }
}
