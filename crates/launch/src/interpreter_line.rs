//! The `#!` line of a script, as Linux reads it (`fs/binfmt_script.c`).

/// Linux reads this much of a file to find its interpreter (`BINPRM_BUF_SIZE`).
const BINPRM_BUF_SIZE: usize = 256;

/// The interpreter of a script, and its one argument; `None` if the file does not start with a `#!` line that Linux accepts.
pub(crate) fn interpreter(text: &str) -> Option<(&str, Option<&str>)> {
    let line = text.strip_prefix("#!")?;
    let line = line.split('\n').next()?;
    if line.len() + 2 >= BINPRM_BUF_SIZE {
        return None;
    }
    let blanks = [' ', '\t'];
    let line = line.trim_matches(blanks);
    let (path, argument) = match line.find(blanks) {
        None => (line, None),
        Some(end) => (&line[..end], Some(line[end..].trim_matches(blanks))),
    };
    (!path.is_empty()).then_some((path, argument))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_the_line_is_one_argument() {
        for (text, expected) in [
            ("#!/bin/sh\n", Some(("/bin/sh", None))),
            (
                "#! /bin/bash -e -x \necho",
                Some(("/bin/bash", Some("-e -x"))),
            ),
            (
                "#!/usr/bin/env\tpython3",
                Some(("/usr/bin/env", Some("python3"))),
            ),
            ("#!\n", None),
            ("echo", None),
        ] {
            assert_eq!(interpreter(text), expected, "{text}");
        }
        assert_eq!(interpreter(&format!("#!/{}", "x".repeat(256))), None);
    }
}
