//! Package name patterns.

/// Whether a text matches a pattern: `#` matches one or more digits, and `*` matches any text.
pub(super) fn matches_pattern(pattern: &str, text: &str) -> bool {
    let Some(special) = pattern.find(['#', '*']) else {
        return pattern == text;
    };
    let Some(rest) = text.strip_prefix(&pattern[..special]) else {
        return false;
    };
    let after = &pattern[special + 1..];
    let longest = if pattern[special..].starts_with('*') {
        rest.len()
    } else {
        rest.bytes().take_while(u8::is_ascii_digit).count()
    };
    let shortest = usize::from(pattern[special..].starts_with('#'));
    (shortest..=longest)
        .rev()
        .filter_map(|length| rest.get(length..))
        .any(|rest| matches_pattern(after, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(matches_pattern("libcudnn#-cuda-#", "libcudnn9-cuda-12"));
        assert!(matches_pattern("cupy-cuda*", "cupy-cuda12x"));
        assert!(matches_pattern("cuda-cudart-#-#", "cuda-cudart-12-8"));
        assert!(!matches_pattern("libcudnn#", "libcudnn"));
        assert!(!matches_pattern("libcudnn#", "libcudnn9-dev"));
        assert!(!matches_pattern("torch", "torchvision"));
    }
}
