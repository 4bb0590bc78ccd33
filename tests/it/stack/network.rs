//! Libraries for the network between GPUs.

use imgcheck_elf::ElfFacts;
use imgcheck_model::stack::Network;

use crate::sample::{Image, SITE, elf, identified};

#[test]
fn libraries_are_known_by_their_names() {
    let image = Image::python()
        .elf("usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0", elf(&[]))
        .link(
            "usr/lib/x86_64-linux-gnu/libibverbs.so.1",
            "libibverbs.so.1.14.44.0",
        )
        .elf("opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so", elf(&[]))
        .elf("opt/libnccl-tuner-mine.so", elf(&[]))
        .elf("opt/hpcx/ucx/lib/ucx/libuct_cuda.so.0.0.0", elf(&[]))
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
    assert_eq!(network.other_plugins, ["/opt/libnccl-tuner-mine.so"]);
    assert_eq!(network.ucx, ["/opt/hpcx/ucx/lib/ucx/libuct_cuda.so.0.0.0"]);
}

#[test]
fn facts_say_what_nccl_can_use() {
    let nccl = identified("nccl", "libnccl.so.2", &[("version", "2.27.3")]);
    let path = format!("{SITE}/nvidia/nccl/lib/libnccl.so.2");
    let summary = |image: Image| {
        let components = image.stack().components.into_iter();
        let mut nccl = components.filter(|it| it.name == "nccl");
        nccl.next().unwrap().details["network"].clone()
    };
    let image = || Image::python().elf(&path, nccl.clone());
    assert_eq!(summary(image()), "TCP only");
    let verbs = || image().elf("usr/lib64/libibverbs.so.1", elf(&[]));
    assert_eq!(summary(verbs()), "TCP only");
    let adapter = "usr/lib64/libibverbs/libmlx5-rdmav34.so";
    assert_eq!(
        summary(verbs().elf(adapter, elf(&[]))),
        "TCP, InfiniBand, RoCE"
    );
    let plugin = image().elf("opt/ofi/libnccl-net.so", elf(&[]));
    assert_eq!(summary(plugin), "TCP, libnccl-net.so");
}

/// An image with a libibverbs that has an interface, and libraries for adapters.
fn with_providers(interface: u8, providers: &[u8]) -> Network {
    let verbs = ElfFacts {
        version_definitions: vec![
            "IBVERBS_1.1".to_owned(),
            format!("IBVERBS_PRIVATE_{interface}"),
        ],
        ..elf(&[])
    };
    let mut image = Image::python().elf("usr/lib64/libibverbs.so.1", verbs);
    for provider in providers {
        let path = format!("usr/lib64/libibverbs/libmlx5-rdmav{provider}.so");
        image = image.elf(&path, elf(&[]));
    }
    image.stack().network
}

/// As in rdma-core 44: libibverbs with IBVERBS_PRIVATE_34 opens libmlx5-rdmav34.so.
#[test]
fn providers_fit_one_interface() {
    assert_eq!(with_providers(34, &[]).providers, Vec::<String>::new());
    let fitting = with_providers(34, &[34]);
    assert_eq!(
        fitting.providers,
        ["/usr/lib64/libibverbs/libmlx5-rdmav34.so"]
    );
    assert_eq!(fitting.other_providers, Vec::<String>::new());
    let other = with_providers(34, &[25]);
    assert_eq!(other.providers, Vec::<String>::new());
    assert_eq!(
        other.other_providers,
        ["/usr/lib64/libibverbs/libmlx5-rdmav25.so"]
    );
}

#[test]
fn a_plugin_whose_library_is_nowhere_cannot_be_loaded() {
    const PLUGIN: &str = "opt/amazon/ofi-nccl/lib/libnccl-net.so";
    let image = || Image::python().elf(PLUGIN, elf(&["libfabric.so.1", "libcuda.so.1"]));
    let unloadable = image().stack().network.unloadable;
    assert_eq!(unloadable.len(), 1);
    assert_eq!(
        (unloadable[0].path.as_str(), unloadable[0].library.as_str()),
        ("/opt/amazon/ofi-nccl/lib/libnccl-net.so", "libfabric.so.1")
    );
    let complete = image().library("opt/amazon/efa/lib64", "libfabric.so.1", &[]);
    assert_eq!(complete.stack().network.unloadable, []);
}
