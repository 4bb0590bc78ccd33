//! Scripts that would keep a reader busy, and the shells that the other tests need.

use std::path::Path;

use super::bench::bench;

#[test]
fn hostile_scripts_end_soon() {
    let deep = "if true; then ".repeat(5000);
    let substitutions = "echo $(".repeat(5000);
    let doubling = format!("A=xxxxxxxx\n{}", "A=$A$A$A$A\n".repeat(200));
    let loops = "for a in 1 2 3 4 5 6 7 8 9; do ".repeat(9) + ":" + &"; done".repeat(9);
    let unknown =
        "while read x; do A=$A$x; for b in $x; do ".repeat(8) + ":" + &"; done; done".repeat(8);
    for script in [
        deep.as_str(),
        &substitutions,
        &doubling,
        &loops,
        &unknown,
        "f() { f; f; }; f",
        "exec \"$0\" \"$@\" x",
        ". \"$0\"",
        "while :; do A=$A.; done",
        "${A:-${A:-${A:-${A:-`echo $(`}}}}",
        "case x in (((",
        "\u{0}\u{feff}<<<<<<",
    ] {
        let begin = std::time::Instant::now();
        let _ = bench(script).model("bash");
        assert!(
            begin.elapsed().as_secs() < 20,
            "{}",
            &script[..script.len().min(40)]
        );
    }
}

#[test]
fn shells_are_there() {
    for shell in ["bash", "dash"] {
        assert!(
            Path::new("/usr/bin").join(shell).exists(),
            "{shell} is needed by the tests of scripts"
        );
    }
}
