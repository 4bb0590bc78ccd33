#![allow(clippy::unwrap_used)]

use super::*;

fn table() -> GpuTable {
    crate::knowledge::gpus().unwrap()
}

fn sm(text: &str) -> String {
    table().parse(text).unwrap().capability.sm()
}

#[test]
fn names_as_people_and_programs_write_them() {
    for (text, expected) in [
        ("a100", "sm_80"),
        ("A100-SXM4-80GB", "sm_80"),
        ("NVIDIA A100-PCIE-40GB", "sm_80"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "sm_80"),
        ("H100", "sm_90"),
        ("NVIDIA H100 80GB HBM3", "sm_90"),
        ("NVIDIA H100 NVL", "sm_90"),
        ("NVIDIA GH200 480GB", "sm_90"),
        ("GB200 NVL72", "sm_100"),
        ("NVIDIA B300 SXM6 AC", "sm_103"),
        ("Tesla V100-SXM2-32GB", "sm_70"),
        ("teslat4", "sm_75"),
        ("rtx 4090", "sm_89"),
        ("RTX4090", "sm_89"),
        ("4090", "sm_89"),
        ("NVIDIA GeForce RTX 4090 D", "sm_89"),
        ("980", "sm_52"),
        ("750", "sm_50"),
        ("NVIDIA RTX 2000 Ada Generation", "sm_89"),
        ("NVIDIA RTX 4000 SFF Ada Generation", "sm_89"),
        ("rtx 5000 ada", "sm_89"),
        ("Quadro P6000", "sm_61"),
        ("p6000", "sm_61"),
        ("NVIDIA T4G", "sm_75"),
        ("mx450", "sm_75"),
        ("Tegra X1", "sm_53"),
        ("NVIDIA GeForce GTX TITAN X", "sm_52"),
        ("NVIDIA TITAN X (Pascal)", "sm_61"),
        ("geforce rtx 3090", "sm_86"),
        ("NVIDIA GeForce RTX 3060 Laptop GPU", "sm_86"),
        ("GeForce RTX 4080 SUPER", "sm_89"),
        ("1080ti", "sm_61"),
        ("NVIDIA RTX 6000 Ada Generation", "sm_89"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "sm_120"),
        ("a6000", "sm_86"),
        ("A10G", "sm_86"),
        ("A10-24Q", "sm_86"),
        ("jetson agx orin", "sm_87"),
        ("orin", "sm_87"),
        ("DGX Spark", "sm_121"),
    ] {
        assert_eq!(
            table().parse(text).map(|gpu| gpu.capability.sm()),
            Ok(expected.to_owned()),
            "{text}"
        );
    }
}

#[test]
fn architectures_in_every_notation() {
    for text in [
        "sm_90",
        "sm90",
        "SM90",
        "9.0",
        "90",
        "compute_90",
        "sm_90a",
        "cc 9.0",
        " sm_90 ",
    ] {
        assert_eq!(sm(text), "sm_90", "{text}");
    }
    assert_eq!(sm("120f"), "sm_120");
    assert_eq!(table().parse("9.0").unwrap().name, "sm_90");
    assert_eq!(table().parse("rtx4090").unwrap().name, "GeForce RTX 4090");
}

#[test]
fn an_unknown_name_comes_with_a_suggestion() {
    let help = |text: &str| table().parse(text).unwrap_err().help;
    assert_eq!(help("H10O"), "did you mean `H100`?");
    assert_eq!(
        help("rtx 6000"),
        "did you mean `RTX 6000 Ada` or `Quadro RTX 6000`?"
    );
    assert!(help("Voodoo").contains("nvidia-smi"));
    assert!(help("").contains("nvidia-smi"));
    assert!(table().parse("é").is_err());
    assert!(table().parse("99.99.99").is_err());
}

/// A capability is a number: no spelling is near to it, and NVIDIA's rules judge one that is newer than the tables.
#[test]
fn an_architecture_that_no_table_has_is_one_all_the_same() {
    for text in ["sm_107", "sm107a", "10.7", "compute_107f", "cc 10.7"] {
        let gpu = table().parse(text).unwrap();
        assert_eq!(
            (gpu.name.as_str(), gpu.is_listed),
            ("sm_107", false),
            "{text}"
        );
        assert_eq!((gpu.segment, gpu.first_branch), (Segment::Unknown, None));
    }
    assert!(table().parse("sm_110").unwrap().is_listed);
    // A number alone may be a misspelled model.
    for text in ["107", "309"] {
        let misread = table().parse(text).unwrap_err();
        assert_eq!(misread.problem, format!("unknown GPU `{text}`"));
        assert!(
            misread.help.contains(&format!("write `sm_{text}`")),
            "{misread}"
        );
    }
}

#[test]
fn a_renamed_capability_is_rejected() {
    for text in ["sm_101", "10.1", "101a", "compute_101"] {
        let misread = table().parse(text).unwrap_err();
        assert_eq!(
            format!("{}: {}", misread.problem, misread.help),
            "sm_101 was renamed sm_110 in CUDA 13 (Jetson Thor): use sm_110",
            "{text}"
        );
    }
    assert!(table().parse("sm_110").is_ok());
}

proptest::proptest! {
    #[test]
    fn any_text_is_accepted_or_rejected(text in "\\PC{0,24}") {
        if let Err(misread) = table().parse(&text) {
            proptest::prop_assert!(!misread.help.is_empty());
        }
    }

    #[test]
    fn any_number_is_accepted_or_rejected(text in "(sm|compute|cc)?[_. -]?[0-9.]{0,6}[af]?") {
        if let Ok(gpu) = table().parse(&text) {
            let known = table().capabilities.contains(&gpu.capability);
            proptest::prop_assert_eq!(gpu.is_listed, known);
        }
    }
}

/// Two models that normalize to one name must have the same architecture, or the result would depend on the order of the table.
#[test]
fn no_name_means_two_architectures() {
    let mut seen = BTreeMap::new();
    let table = table();
    assert!(table.models.len() > 80);
    for (key, gpu) in &table.models {
        assert!(!key.is_empty(), "{}", gpu.name);
        let first = seen.entry(key).or_insert(gpu.capability);
        assert_eq!(*first, gpu.capability, "{key}");
        assert_eq!(
            table.parse(&gpu.name).unwrap().capability,
            gpu.capability,
            "{}",
            gpu.name
        );
    }
}

#[test]
fn the_gpus_of_other_vendors_are_named_as_such() {
    for (text, vendor) in [
        ("mi300x", "AMD"),
        ("AMD Instinct MI250", "AMD"),
        ("gfx942", "AMD"),
        ("RX 7900 XTX", "AMD"),
        ("Gaudi 3", "Intel"),
    ] {
        let error = table().parse(text).unwrap_err();
        let problem = format!("{vendor} GPUs are not supported: `{text}`");
        assert_eq!(error.problem, problem);
    }
    for text in ["rtx 9000x", "m60000"] {
        let error = table().parse(text).unwrap_err();
        assert_eq!(error.problem, format!("unknown GPU `{text}`"));
    }
}
