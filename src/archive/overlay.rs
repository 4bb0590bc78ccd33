//! Members that mean something to the kernel's overlay, and so hide or move what lower layers have, though the image
//! specification gives them no such meaning (Linux, `Documentation/filesystems/overlayfs.rst`).

/// What is wrong with a member that has an attribute of the overlay: Docker and Podman set it, containerd and umoci do not.
pub const ATTRIBUTE: &str = "it has an attribute of the kernel's overlay (such as trusted.overlay.opaque), which hides or moves files in some engines and not in others";

/// Attributes that hide or move what lower layers have; the others (`origin`, `impure`, `nlink`, …) only help the kernel.
const HIDING: [&[u8]; 5] = [
    b"opaque",
    b"redirect",
    b"metacopy",
    b"whiteout",
    b"whiteouts",
];

/// Whether an extended attribute is one of the overlay that hides or moves files.
pub fn is_attribute(name: &[u8]) -> bool {
    [&b"trusted.overlay."[..], b"user.overlay."]
        .into_iter()
        .filter_map(|prefix| name.strip_prefix(prefix))
        .any(|attribute| HIDING.contains(&attribute))
}

/// Whether a character device is a whiteout: its number is 0. Of too large numbers Docker takes the low bits (moby,
/// `pkg/system/mknod.go`).
pub fn is_whiteout_device(major: u64, minor: u64) -> bool {
    major & 0xfff == 0 && minor & 0xf_ffff == 0
}
