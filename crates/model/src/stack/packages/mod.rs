//! Installed packages that contain components, from every package manager.

mod apk;
mod conda;
mod dpkg;
pub(super) mod incomplete;
mod listed_files;
pub(super) mod native_modules;
mod owners;
mod package;
pub(super) mod python;
pub(super) mod record;

use super::Distribution;
use super::catalogue::Catalogue;
use super::inventory::Inventory;

pub(super) use owners::{OWNERS, Packages};
pub(super) use package::Package;
pub(super) use record::Records;

/// All packages in an image that contain components.
pub(super) fn read(
    inventory: &Inventory,
    distributions: &[Distribution],
    records: &Records,
    catalogue: &Catalogue,
) -> Packages {
    let mut packages = python::packages(inventory, distributions, records, catalogue);
    packages.extend(dpkg::packages(inventory, catalogue));
    packages.extend(apk::packages(inventory, catalogue));
    packages.extend(conda::packages(inventory, catalogue));
    Packages::new(packages)
}
