//! Comparison of references.

/// Whether both name the same image: the same text, or the same after Docker's defaults
/// (`docker.io`, `library/`, `latest`) are filled in.
pub(super) fn same(wanted: &str, recorded: &str) -> bool {
    wanted == recorded || complete(wanted) == complete(recorded)
}

fn complete(reference: &str) -> String {
    let (host, path) = match reference.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => (host, path),
        _ => ("docker.io", reference),
    };
    let host = if host == "index.docker.io" {
        "docker.io"
    } else {
        host
    };
    let library = if host == "docker.io" && !path.contains('/') {
        "library/"
    } else {
        ""
    };
    let tag = if path.contains([':', '@']) {
        ""
    } else {
        ":latest"
    };
    format!("{host}/{library}{path}{tag}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_filled_in() {
        for (wanted, recorded) in [
            ("busybox", "docker.io/library/busybox:latest"),
            ("index.docker.io/x/y:1", "x/y:1"),
            ("localhost:5000/x", "localhost:5000/x:latest"),
            ("latest", "latest"),
        ] {
            assert!(same(wanted, recorded), "{wanted} {recorded}");
        }
        assert!(!same("busybox:1", "busybox"));
        assert!(!same("localhost/x", "x"));
    }
}
