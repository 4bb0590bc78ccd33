//! Texts that users write: rules, configuration, Dockerfiles and what stands beside them.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::attack::{Attack, Outcome};
use super::forge::{archive, known};
use super::loader::{process, program};
use testkit::file;

/// Attacks by texts.
pub fn attacks() -> Vec<Attack> {
    [yaml(), rules(), builds()].into_iter().flatten().collect()
}

fn yaml() -> Vec<Attack> {
    vec![
        Attack {
            name: "yaml-laughs-in-environment",
            holds: "an `environment.yml` with ten lists, each of which contains the previous one ten times (“billion laughs”)",
            outcome: Outcome::Misuse("too large when its aliases are written out"),
            make: |scratch| {
                fs::write(
                    scratch.join("environment.yml"),
                    laughs("channels", "dependencies"),
                )
                .unwrap();
                words_of("lint environment.yml")
            },
        },
        Attack {
            name: "yaml-laughs-in-configuration",
            holds: "the same in an `.imgcheck.yaml`",
            outcome: Outcome::Misuse("unknown key `x1`"),
            make: |scratch| with_configuration(scratch, &laughs("expect", "rules")),
        },
        Attack {
            name: "yaml-laughs-in-rule",
            holds: "the same in a rule file",
            outcome: Outcome::Misuse("unknown key `x1`"),
            make: |scratch| {
                fs::write(scratch.join("r.yaml"), laughs("references", "tests")).unwrap();
                with_image(scratch, "--rules r.yaml")
            },
        },
        Attack {
            name: "yaml-100000-deep",
            holds: "a configuration with 100,000 nested lists",
            outcome: Outcome::Misuse("nested too deeply"),
            make: |scratch| {
                let deep = format!("expect: {}", "[".repeat(100_000));
                with_configuration(scratch, &deep)
            },
        },
    ]
}

fn rules() -> Vec<Attack> {
    vec![
        Attack {
            name: "rule-regular-expression",
            holds: "a rule with a regular expression that compiles to 10⁹ states",
            outcome: Outcome::Misuse("is not a regular expression"),
            make: |scratch| {
                rule(
                    scratch,
                    r#"image.reference.matches("(((a{1,100}){1,100}){1,100}){1,100}b")"#,
                )
            },
        },
        Attack {
            name: "rule-quantifiers-in-quantifiers",
            holds: "a rule that compares every triple of 1,000 libraries of a process",
            outcome: Outcome::Refused("rule-time"),
            make: |scratch| {
                rule(
                    scratch,
                    "loader.mapped.all(a, loader.mapped.all(b, loader.mapped.all(c, a.path != \"\" || b.path != c.path)))",
                )
            },
        },
        Attack {
            name: "rule-2000-deep",
            holds: "a rule whose expression has 2,000 nested brackets",
            outcome: Outcome::Misuse("Recursion limit of 96 exceeded"),
            make: |scratch| {
                rule(
                    scratch,
                    &format!("{}true{}", "(".repeat(2_000), ")".repeat(2_000)),
                )
            },
        },
        Attack {
            name: "rule-8000-negations",
            holds: "a rule whose expression consists of 8,000 negations",
            outcome: Outcome::Printed("read: it is evaluated", |text| {
                assert!(text.contains("hostile-rule"), "{text}");
            }),
            make: |scratch| rule(scratch, &format!("{}true", "!".repeat(8_000))),
        },
    ]
}

fn builds() -> Vec<Attack> {
    vec![
        Attack {
            name: "dockerfile-1000000-lines",
            holds: "a Dockerfile with a million lines",
            outcome: Outcome::Misuse("file is larger than 1 MiB"),
            make: |scratch| {
                dockerfile(
                    scratch,
                    &format!(
                        "FROM debian\n{}",
                        "RUN pip install torch\n".repeat(1_000_000)
                    ),
                )
            },
        },
        Attack {
            name: "dockerfile-that-doubles",
            holds: "a Dockerfile with 900 variables, each twice as long as the previous one",
            outcome: Outcome::Printed("read: a value that is too long counts as unknown", |text| {
                assert!(text.contains("Dockerfile"), "{text}");
            }),
            make: |scratch| {
                let mut text = "FROM debian\nARG A0=xxxx\n".to_owned();
                (0..900).for_each(|it| writeln!(text, "ARG A{}=$A{it}$A{it}", it + 1).unwrap());
                text.push_str("RUN pip install torch==$A900\n");
                dockerfile(scratch, &text)
            },
        },
        Attack {
            name: "dockerfile-unterminated-here-documents",
            holds: "a Dockerfile with 5,000 here-documents that do not end",
            outcome: Outcome::Misuse("more than 200 here-documents"),
            make: |scratch| {
                dockerfile(
                    scratch,
                    &format!("FROM debian\n{}", "RUN cat <<EOF\n".repeat(5_000)),
                )
            },
        },
        Attack {
            name: "dockerfile-one-line",
            holds: "a Dockerfile with one instruction that continues over 20,000 lines",
            outcome: Outcome::Printed("read: no finding", |text| {
                assert!(text.contains("Dockerfile"), "{text}");
            }),
            make: |scratch| {
                dockerfile(
                    scratch,
                    &format!(
                        "FROM debian\nRUN true {}\n",
                        "&& pip list \\\n".repeat(20_000)
                    ),
                )
            },
        },
        Attack {
            name: "requirements-100000",
            holds: "a requirements file with 100,000 lines with markers",
            outcome: Outcome::Misuse("file is larger than 1 MiB"),
            make: |scratch| {
                let mut text = String::new();
                for it in 0..100_000 {
                    writeln!(text, "p{it}==1 ; python_version >= '3.{it}' and (sys_platform == 'linux' or os_name == 'nt')").unwrap();
                }
                requirements(scratch, &text)
            },
        },
        Attack {
            name: "requirements-marker-deep",
            holds: "a requirements file with markers that have 10,000 nested brackets",
            outcome: Outcome::Misuse("requirement is too long"),
            make: |scratch| {
                let deep = format!(
                    "torch==2.8 ; {}os_name == 'posix'{}\n",
                    "(".repeat(10_000),
                    ")".repeat(10_000)
                );
                let long = format!(
                    "torch==2.8 ; os_name == 'posix'{}\n",
                    " or os_name == 'x'".repeat(3_000)
                );
                requirements(scratch, &format!("{deep}{}", long.repeat(10)))
            },
        },
    ]
}

/// Lists under two keys, of which each names the one before ten times.
fn laughs(first: &str, last: &str) -> String {
    let mut text = format!("{first}: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]\n");
    for level in 1..10 {
        let before = format!("*a{}, ", level - 1).repeat(10);
        let key = if level == 9 {
            last.to_owned()
        } else {
            format!("x{level}")
        };
        writeln!(text, "{key}: &a{level} [{before}]").unwrap();
    }
    text
}

/// Checks a small image.
fn with_image(scratch: &Path, options: &str) -> Vec<String> {
    process(scratch, "x", b"");
    words_of(&format!("check image.tar {options}"))
}

/// Checks a small image with a configuration of this text.
pub fn with_configuration(scratch: &Path, text: &str) -> Vec<String> {
    fs::write(scratch.join("c.yaml"), text).unwrap();
    with_image(scratch, "--config c.yaml")
}

pub fn requirements(scratch: &Path, text: &str) -> Vec<String> {
    fs::write(scratch.join("requirements.txt"), text).unwrap();
    words_of("lint requirements.txt")
}

/// Checks a small image with a rule of this expression.
fn rule(scratch: &Path, expression: &str) -> Vec<String> {
    let rule = format!(
        "id: hostile-rule\ntitle: x\nseverity: error\nsince: 1.0.0\nfail: |\n  {expression}\nmessage: x\nwhy: x\n\
         tests: [{{name: x, given: {{}}, expect: {{findings: 0}}}}]\n"
    );
    fs::write(scratch.join("rule.yaml"), rule).unwrap();
    let names: Vec<String> = (0..1_000).map(|it| format!("lib{it}.so")).collect();
    let mut items = program(&names);
    let library = known(&["x"], b"\xc3").build();
    items.extend(
        names
            .iter()
            .map(|name| file(&format!("usr/lib64/{name}"), &library)),
    );
    archive(scratch, &items);
    words_of("check image.tar --rules rule.yaml")
}

pub fn dockerfile(scratch: &Path, text: &str) -> Vec<String> {
    fs::write(scratch.join("Dockerfile"), text).unwrap();
    words_of("lint Dockerfile")
}

fn words_of(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}
