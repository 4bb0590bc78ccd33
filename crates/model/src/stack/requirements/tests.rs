#![allow(clippy::unwrap_used)]

use super::*;
use crate::stack::python::Environment;
use imgcheck_base::limits::Limit;

const SITE: &str = "/usr/lib/python3/dist-packages";

fn distribution(name: &str, version: &str, requires: &[&str]) -> Distribution {
    Distribution {
        name: name.to_owned(),
        version: version.to_owned(),
        requires: requires.iter().map(|it| (*it).to_owned()).collect(),
        site: SITE.to_owned(),
        path: format!("{SITE}/{name}-{version}.dist-info/METADATA"),
        layer: Some(1),
    }
}

fn environment(sites: &[&str]) -> Environment {
    Environment {
        prefix: "/usr".to_owned(),
        interpreter: "/usr/bin/python3.11".to_owned(),
        release: "3.11".to_owned(),
        sites: sites.iter().map(|it| (*it).to_owned()).collect(),
        ..Environment::default()
    }
}

fn unmet_of(distributions: &[Distribution], sites: &[&str]) -> Vec<UnmetRequirement> {
    unmet_within(distributions, &[environment(sites)], &Limits::default()).unwrap()
}

fn unmet_within(
    distributions: &[Distribution],
    environments: &[Environment],
    limits: &Limits,
) -> Result<Vec<UnmetRequirement>, LimitExceeded> {
    let installed = Installed {
        distributions,
        environments,
        components: &[],
        machine: "x86_64",
    };
    let names = crate::knowledge::table("requirements").unwrap();
    unmet(&installed, &names, limits)
}

/// An environment whose packages lie below its prefix.
fn own_environment(prefix: &str, sites: &[&str]) -> Environment {
    Environment {
        prefix: prefix.to_owned(),
        ..environment(sites)
    }
}

/// The requirement of a package `torchvision` on what is installed.
fn is_met(requirement: &str, name: &str, version: &str) -> bool {
    let distributions = [
        distribution("torchvision", "0.23.0", &[requirement]),
        distribution(name, version, &[]),
    ];
    unmet_of(&distributions, &[SITE]).is_empty()
}

#[test]
fn versions_are_compared_as_pip_does() {
    for (requirement, version, met) in [
        ("torch==2.8.0", "2.8.0", true),
        ("torch==2.8.0", "2.8.0+cu128", true),
        ("torch==2.8.0+cu128", "2.8.0+cu126", false),
        ("torch==2.8.0", "2.9.1", false),
        ("torch (>=1.10,<2)", "2.8.0", false),
        ("Torch>=2.8", "2.8.0a0+34c6371d24.nv25.8", true),
        ("torch>=2.9", "2.8.0a0+34c6371d24.nv25.8", false),
        ("torch<2.8", "2.8.0a0+34c6371d24.nv25.8", false),
        ("torch", "1.0", true),
        ("torch==2.9.*", "2.9.1", true),
        ("torch===2.9.0", "2.9.0+cu128", false),
        ("torch>=2", "not a version", true),
    ] {
        assert_eq!(
            is_met(requirement, "torch", version),
            met,
            "{requirement} {version}"
        );
    }
}

#[test]
fn requirements_that_do_not_apply() {
    for requirement in [
        "torch==1; sys_platform == 'win32'",
        "torch==1; platform_machine == 'aarch64'",
        "torch==1; python_version < '3.9'",
        "torch==1; extra == 'test'",
        "torch @ https://example.org/torch.whl",
        "numpy<1",
        "torch==1; platform_release == ''",
        "torch==1; python_full_version < '3.11.4'",
        "torch==",
        "torch.",
        "9.",
        "torch==1; os_name == \u{e9}",
        "",
    ] {
        assert!(is_met(requirement, "torch", "2.8.0"), "{requirement}");
    }
    let linux = r#"torch==1; platform_system == "Linux" and platform_machine == "x86_64""#;
    assert!(!is_met(linux, "torch", "2.8.0"));
}

/// One of two metadata directories in one place is a leftover, and the first place on the path wins over the next.
#[test]
fn the_copy_that_is_imported_counts() {
    let vision = distribution("torchvision", "0.23.0", &["torch==2.8.0"]);
    let other = Distribution {
        site: "/opt/site".to_owned(),
        ..distribution("torch", "2.9.0", &[])
    };
    let right = distribution("torch", "2.8.0", &[]);
    let leftover = distribution("torch", "2.7.0", &[]);
    let all = [vision, other, right, leftover];
    assert_eq!(unmet_of(&all, &[SITE, "/opt/site"]), []);
    let found = unmet_of(&all, &["/opt/site", SITE]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].found, "2.9.0");
    assert_eq!(found[0].specifiers, "==2.8.0");
    assert_eq!(found[0].pin, "2.8.0");
    assert!(found[0].main);
}

/// A distribution that several environments share is judged for each, and reported for the first that lacks something.
#[test]
fn each_environment_is_judged_by_what_it_imports() {
    let vision = distribution("torchvision", "0.23.0", &["torch==2.8.0", "torch==2.8.0"]);
    let own = |site: &str, version: &str| Distribution {
        site: site.to_owned(),
        path: format!("{site}/torch-{version}.dist-info/METADATA"),
        ..distribution("torch", version, &[])
    };
    let all = [
        vision,
        own("/a", "2.8.0"),
        own("/b", "2.9.0"),
        own("/c", "2.7.0"),
    ];
    let environments = [
        own_environment("/opt/a", &["/a", SITE]),
        own_environment("/opt/again", &["/a", SITE]),
        own_environment("/opt/b", &["/b", SITE]),
        own_environment("/opt/b-again", &["/b", SITE]),
        own_environment("/opt/c", &["/c", SITE]),
    ];
    let told = |environments: &[Environment]| {
        let unmet = unmet_within(&all, environments, &Limits::default()).unwrap();
        let told = unmet.iter();
        let told = told.map(|it| format!("{} {} {}", it.environment, it.found, it.main));
        told.collect::<Vec<_>>()
    };
    assert_eq!(told(&environments), ["/opt/b 2.9.0 false"]);
    assert_eq!(told(&environments[3..]), ["/opt/b-again 2.9.0 true"]);
    assert_eq!(told(&environments[..2]), [""; 0]);
    // Where torchvision itself comes from elsewhere, that one counts.
    let other = Distribution {
        site: "/b".to_owned(),
        path: "/b/torchvision.dist-info/METADATA".to_owned(),
        ..distribution("torchvision", "0.24.0", &["torch==2.9.0"])
    };
    let all: Vec<_> = all.into_iter().chain([other]).collect();
    let unmet = unmet_within(&all, &environments[..4], &Limits::default()).unwrap();
    assert_eq!(unmet, []);
}

/// Environments with a directory of their own each, which share one whose requirements they all meet.
#[test]
fn comparisons_are_counted() {
    const MANY: usize = 300;
    let mut all: Vec<Distribution> = (0..MANY)
        .map(|n| distribution(&format!("package-{n}"), "1.0", &["torch>=2"]))
        .collect();
    let mut environments = Vec::new();
    for n in 0..MANY {
        let site = format!("/{n}");
        environments.push(own_environment(&site, &[&site, SITE]));
        all.push(Distribution {
            path: format!("{site}/torch.dist-info/METADATA"),
            site,
            ..distribution("torch", "2.8.0", &[])
        });
    }
    assert_eq!(
        unmet_within(&all, &environments, &Limits::default()),
        Ok(vec![])
    );
    let mut limits = Limits::default();
    limits.set(Limit::Requirements, 100_000);
    let exceeded = unmet_within(&all, &environments, &limits).unwrap_err();
    assert_eq!(exceeded.limit, Limit::Requirements);
    // The same environment again and again is no work.
    let one = vec![environments[0].clone(); MANY];
    assert_eq!(unmet_within(&all, &one, &limits), Ok(vec![]));
}

/// Markers that would take a reader for ever, and parentheses that would take its stack, are passed over.
#[test]
fn hostile_requirements_are_passed_over() {
    let pairs: Vec<String> = (0..60)
        .map(|n| format!("(os_name=='a{n}' and os_name!='b{n}')"))
        .collect();
    let alternatives = format!("torch==1; {}", pairs.join(" or "));
    let deep = format!(
        "torch==1; {}os_name=='x'{}",
        "(".repeat(400),
        ")".repeat(400)
    );
    let long = format!("torch=={}", "1.".repeat(100_000));
    for requirement in [alternatives, deep, long] {
        assert!(is_met(&requirement, "torch", "2.8.0"));
    }
}

proptest::proptest! {
    /// Names that end in a dot and markers that are not ASCII among them.
    #[test]
    fn no_requirement_panics(text in "torch([.-]|.{0,12}|==1; ?.{0,30})") {
        let _ = is_met(&text, "torch", "2.8.0");
        let _ = is_met(&text, "torch-", "2.8.0");
    }
}

#[test]
fn a_large_environment_is_quick() {
    let many = |index: usize| {
        let requires: Vec<String> = (0..40)
            .map(|n| format!("package-{n}>=1.0; extra == 'all'"))
            .collect();
        let requires: Vec<&str> = requires.iter().map(String::as_str).collect();
        distribution(&format!("package-{index}"), "1.0", &requires)
    };
    let mut all: Vec<Distribution> = (0..500).map(many).collect();
    all.push(distribution(
        "torch",
        "2.8.0",
        &["nvidia-cudnn-cu12==9.10.2.21"],
    ));
    all.push(distribution("nvidia-cudnn-cu12", "9.1.0.70", &[]));
    let started = std::time::Instant::now();
    assert_eq!(unmet_of(&all, &[SITE]).len(), 1);
    assert!(
        started.elapsed() < std::time::Duration::from_secs(30),
        "{:?}",
        started.elapsed()
    );
}
