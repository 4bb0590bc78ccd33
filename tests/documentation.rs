//! The console blocks of README and book are run: commands, output and exit codes are those of this version.

#[test]
fn console_blocks_tell_the_truth() {
    trycmd::TestCases::new()
        .case("README.md")
        .case("docs/src/*.md")
        .run();
}
