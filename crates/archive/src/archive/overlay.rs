//! Members with a meaning for the kernel's overlay file system: they hide or move files of lower layers, although the image
//! specification does not say so (Linux, `Documentation/filesystems/overlayfs.rst`).

/// The error for a member with such an attribute: Docker and Podman set it, containerd and umoci do not.
pub const ATTRIBUTE: &str = "has an extended attribute of overlayfs (such as trusted.overlay.opaque), which hides or moves files in some container engines and not in others";

/// Attributes that hide or move files of lower layers; others (`origin`, `impure`, `nlink`, …) only help the kernel.
const HIDING: [&[u8]; 5] = [
    b"opaque",
    b"redirect",
    b"metacopy",
    b"whiteout",
    b"whiteouts",
];

/// Whether an extended attribute hides or moves files of lower layers.
pub fn is_attribute(name: &[u8]) -> bool {
    [&b"trusted.overlay."[..], b"user.overlay."]
        .into_iter()
        .filter_map(|prefix| name.strip_prefix(prefix))
        .any(|attribute| HIDING.contains(&attribute))
}

/// Whether a character device is a whiteout: its number is 0. Docker uses only the low bits of large numbers (moby,
/// `pkg/system/mknod.go`).
pub fn is_whiteout_device(major: u64, minor: u64) -> bool {
    major & 0xfff == 0 && minor & 0xf_ffff == 0
}
