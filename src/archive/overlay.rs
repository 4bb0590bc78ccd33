//! Members that mean something to the kernel's overlay, and so hide or move what lower layers have, though the image
//! specification gives them no such meaning (Linux, `Documentation/filesystems/overlayfs.rst`).

/// What is wrong with a member that has an attribute of the overlay: Docker and Podman set it, containerd and umoci do not.
pub const ATTRIBUTE: &str = "an attribute of the kernel's overlay, which some engines set";

/// Whether an extended attribute is one of the overlay.
pub fn is_attribute(name: &[u8]) -> bool {
    name.starts_with(b"trusted.overlay.") || name.starts_with(b"user.overlay.")
}

/// Whether a character device is a whiteout: its number is 0. Of too large numbers Docker takes the low bits (moby,
/// `pkg/system/mknod.go`).
pub fn is_whiteout_device(major: u64, minor: u64) -> bool {
    major & 0xfff == 0 && minor & 0xf_ffff == 0
}
