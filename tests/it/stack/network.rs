//! Libraries for the network between GPUs.

use crate::sample::{Image, elf};

#[test]
fn libraries_are_known_by_their_names() {
    let image = Image::python()
        .elf("usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0", elf(&[]))
        .link(
            "usr/lib/x86_64-linux-gnu/libibverbs.so.1",
            "libibverbs.so.1.14.44.0",
        )
        .elf("opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so", elf(&[]))
        .text("usr/share/doc/libibverbs1/README", "")
        .text("opt/libnccl-net.conf", "");
    let network = image.stack().network;
    let names = |paths: &[String]| {
        let names = paths.iter().filter_map(|path| path.rsplit_once('/'));
        names.map(|(_, name)| name.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        names(&network.verbs),
        ["libibverbs.so.1", "libibverbs.so.1.14.44.0"]
    );
    assert_eq!(
        network.plugins,
        ["/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so"]
    );
}
