//! Installed packages that contain components, from every package manager.

mod apk;
mod conda;
mod dpkg;
mod owners;
mod package;
pub(super) mod python;

use super::Distribution;
use super::catalogue::Catalogue;
use super::inventory::Inventory;

pub(super) use owners::{OWNERS, Packages};
pub(super) use package::Package;

/// All packages in an image that contain components.
pub(super) fn read(
    inventory: &Inventory,
    distributions: &[Distribution],
    catalogue: &Catalogue,
) -> Packages {
    let mut packages = python::packages(distributions, catalogue);
    packages.extend(dpkg::packages(inventory, catalogue));
    packages.extend(apk::packages(inventory, catalogue));
    packages.extend(conda::packages(inventory, catalogue));
    Packages::new(packages)
}
