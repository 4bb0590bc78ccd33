//! Names and links that lead out of the image.

use std::path::Path;

use super::attack::{Attack, Outcome};
use super::common::{Image, Item, docker_archive, file, symlink, write_archive};

/// Attacks by names and links.
pub fn attacks() -> Vec<Attack> {
    vec![Attack {
        name: "symlink-to-host-file",
        holds: "`etc/os-release` as a symbolic link to `../../../../etc/os-release`",
        outcome: Outcome::Read(
            "read: the link stays in the image, where it leads to nothing",
            |report| {
                assert!(!report.to_string().contains("debian"), "{report}");
            },
        ),
        make: |scratch| {
            archive(
                scratch,
                &[
                    symlink("etc/os-release", "../../../../etc/os-release"),
                    file("x", ""),
                ],
            )
        },
    }]
}

/// A docker archive of one layer, and the arguments to show it.
fn archive(scratch: &Path, items: &[Item]) -> Vec<String> {
    write_archive(
        &scratch.join("image.tar"),
        &docker_archive(&[Image::new("hostile:1", &[items])]),
    );
    ["check", "image.tar", "--format", "json"]
        .map(str::to_owned)
        .into()
}
