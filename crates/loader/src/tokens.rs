//! Dynamic string tokens: `$ORIGIN`, `$LIB` and `$PLATFORM` (ld.so(8); glibc elf/dl-load.c, `_dl_dst_substitute`).

use super::object::Object;
use super::system::{Libc, System};
use imgcheck_base::lexical;

/// Linux accepts no path of this length or longer (`include/uapi/linux/limits.h`).
const PATH_MAX: usize = 4096;

/// The object whose paths are expanded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin<'o> {
    /// The value of `$ORIGIN`.
    pub directory: &'o str,
    /// The object is the program, whose directory the caller may choose, with a hard link for example.
    pub is_program: bool,
}

impl<'o> Origin<'o> {
    pub fn of(object: &'o Object) -> Self {
        Origin {
            directory: object.origin(),
            is_program: object.reason == super::Reason::Executable,
        }
    }
}

impl System<'_> {
    /// Expands the tokens of a path; `None` if the loader discards it: it reaches PATH_MAX, or secure-execution mode distrusts it.
    pub(crate) fn expand(&self, text: &str, origin: Origin) -> Option<String> {
        let tokens = [
            ("ORIGIN", origin.directory),
            ("LIB", self.lib.as_str()),
            ("PLATFORM", self.platform),
        ];
        let mut expanded = String::new();
        let mut rest = text;
        let mut has_origin = false;
        while let Some((before, after)) = rest.split_once('$') {
            expanded.push_str(before);
            if expanded.len() >= PATH_MAX {
                return None;
            }
            let token = tokens.iter().find_map(|(name, value)| {
                let braced = after
                    .strip_prefix('{')
                    .and_then(|it| it.strip_prefix(name)?.strip_prefix('}'));
                let plain = after
                    .strip_prefix(name)
                    .filter(|rest| rest.is_empty() || rest.starts_with('/'));
                Some((*name, *value, braced.or(plain)?))
            });
            rest = match token {
                Some((name, value, after)) => {
                    let is_whole = after.is_empty() || after.starts_with('/');
                    if name == "ORIGIN" {
                        has_origin = true;
                        if self.is_secure && !(expanded.is_empty() && is_whole) {
                            return None;
                        }
                    }
                    expanded.push_str(value);
                    after
                }
                None => {
                    expanded.push('$');
                    after
                }
            }
        }
        expanded.push_str(rest);
        let needs_trust = self.is_secure && has_origin && origin.is_program;
        let is_trusted = !needs_trust || self.trusts(&expanded);
        (expanded.len() < PATH_MAX && is_trusted).then_some(expanded)
    }

    /// Whether a path, normalized without looking at links, is in a default directory (`is_trusted_path_normalize`). musl expands no
    /// `$ORIGIN` of a program in this mode (ldso/dynlink.c, `fixup_rpath`).
    fn trusts(&self, path: &str) -> bool {
        let normalized = format!("/{}/", lexical::normalized(path));
        let is_above = |directory: &String| normalized.starts_with(&format!("{directory}/"));
        self.libc == Libc::Glibc && self.default_directories.iter().any(is_above)
    }
}
