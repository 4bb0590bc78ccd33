//! Expectations, allowed stacks and fleets.

use super::*;

#[test]
fn a_met_expectation_passes() {
    let directory = configured(
        "expect: [\"torch==2.8.*\", \"cuda==12.8\", \"python==3.11\", \"os==debian12\"]",
    );
    let (code, report) = check(directory.path(), &[HONEST], &["--expect", "cudnn>=9.7,<10"]);
    assert_eq!((code, messages(&report)), (0, vec![]));
}

#[test]
fn an_unmet_expectation_fails_and_names_its_origin() {
    let directory = configured("fail-on: never\nexpect:\n  - torch==2.7.*\n");
    let (code, report) = check(directory.path(), &[HONEST], &["--expect", "tensorflow>=2"]);
    assert_eq!(code, 0);
    let expected = [
        "expected torch==2.7.*, but the image contains torch 2.8.0+cu128 (expected by .imgcheck.yaml:3)",
        "expected tensorflow>=2, but the image contains no tensorflow (expected by --expect)",
    ];
    assert_eq!(messages(&report), expected);
    assert_eq!(
        rules(&only_image(&report)["findings"]),
        ["policy-expectation"; 2]
    );
    // The flag overrides the file.
    let (code, _) = check(directory.path(), &[HONEST], &["--fail-on", "error"]);
    assert_eq!(code, 1);
}

#[test]
fn any_installed_python_distribution_can_be_expected() {
    let directory = configured("expect: [\"Nvidia_CUDNN.cu12==9.10.*\"]");
    let expect = [
        "--expect",
        "nvidia_nccl_cu12>=99",
        "--expect",
        "transformers>=4.40",
    ];
    let (code, report) = check(directory.path(), &[HONEST], &expect);
    let expected = [
        "expected nvidia_nccl_cu12>=99, but the image contains nvidia-nccl-cu12 2.27.3",
        "expected transformers>=4.40, but the image contains no transformers (expected by --expect)",
    ];
    let messages = messages(&report);
    assert_eq!((code, messages.len()), (1, 2), "{messages:?}");
    for (message, expected) in messages.iter().zip(expected) {
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn expectations_of_the_environment_are_separated_by_semicolons() {
    let output = imgcheck()
        .arg(repository(HONEST))
        .env("IMGCHECK_EXPECT", "torch>=2.8,<2.9;cudnn==8")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("expected cudnn==8, but the image contains cudnn 9.10.2"));
    assert!(!said.contains("expected torch"));
}

#[test]
fn an_invalid_expectation_is_exit_code_2() {
    for (text, words) in [
        ("pytorch==2.8", "did you mean `torch`?"),
        ("torch", "has no version"),
        ("torch=2.8", "write `torch==2.8`"),
        (
            "torch ==2.8.0, cuda==12.8",
            "separate them with `;`, as in `torch ==2.8.0; cuda==12.8`",
        ),
        ("torch=>2.8", "invalid version specifier"),
        ("cuda==12.8.1", "major and minor"),
        ("os>=22.04", "os==ubuntu22.04"),
        ("os>=ubuntu22.04", "have no order"),
        ("os==ubuntu 22.04", "invalid version specifier"),
        ("torch==2.9 cudnn==8", "syntax of pip"),
        ("torch==2.8garbage", "`2.8garbage` is not a version"),
        ("cuda==12.8x", "`12.8x` is not a version"),
        ("torch!=2.9oops", "`2.9oops` is not a version"),
        ("cudnn!=8 or 9", "`8 or 9` is not a version"),
    ] {
        let said = program::failure(2, &["--expect", text, HONEST]);
        assert!(said.contains(words) && said.contains(text), "{said}");
    }
}

#[test]
fn an_image_must_be_one_of_the_allowed_stacks() {
    let stacks = "stacks:\n  - {name: old, torch: 2.5.*, cuda: 12.4}\n  - {name: current, torch: 2.8.*, cuda: 12.8, cudnn: \">=9.11\"}\n";
    let directory = configured(stacks);
    let (code, report) = check(directory.path(), &[HONEST], &[]);
    assert_eq!(code, 1);
    let expected = "the image is not one of the 2 allowed combinations; the nearest is `current`, which requires cudnn >=9.11 where the image has 9.10.2";
    assert_eq!(messages(&report), [expected]);
    let directory = configured(&stacks.replace("9.11", "9.10"));
    assert_eq!(check(directory.path(), &[HONEST], &[]).0, 0);
}

#[test]
fn images_of_one_run_must_agree() {
    let directory = configured("consistent: [os, torch, nccl]");
    let other = ubuntu(directory.path());
    let other = other.to_str().unwrap();
    // Two of the three have Debian 12.
    let (code, report) = check(directory.path(), &[HONEST, MISLABELLED, other], &[]);
    assert_eq!(code, 1);
    let images = report["images"].as_array().unwrap();
    let found: Vec<_> = images
        .iter()
        .map(|image| rules(&image["findings"]))
        .collect();
    assert_eq!(
        found,
        [
            vec![],
            vec!["claim-torch-version"],
            vec!["policy-inconsistent-fleet"]
        ]
    );
    let message = images[2]["findings"][0]["message"].as_str().unwrap();
    let expected = "os is ubuntu22.04 in this image, but debian12 in pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime, pytorch-cuda:v2.9";
    assert_eq!(message, expected);
    // Of two both are at fault.
    let (_, report) = check(directory.path(), &[HONEST, other], &[]);
    let images = report["images"].as_array().unwrap();
    assert!(
        images
            .iter()
            .all(|image| rules(&image["findings"]) == ["policy-inconsistent-fleet"])
    );
}
