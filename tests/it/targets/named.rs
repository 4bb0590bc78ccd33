//! Targets by option, variable and configuration, and which are refused.

use serde_json::Value;

use super::{SAMPLE, messages, sample, target, torch_on};
use crate::program::{failure, faults, imgcheck, only_image, repository};

#[test]
fn the_environment_names_targets_too_and_an_option_is_above_it() {
    let run = |arguments: &[&str]| {
        let output = imgcheck()
            .env("IMGCHECK_GPU", "a100,p100")
            .env("IMGCHECK_DRIVER", "535.183.06")
            .arg(repository(SAMPLE))
            .args(["-f", "json"])
            .args(arguments)
            .output()
            .unwrap();
        (
            output.status.code(),
            serde_json::from_slice::<Value>(&output.stdout).unwrap(),
        )
    };
    let (code, report) = run(&[]);
    assert_eq!((code, torch_on(&report).len()), (Some(1), 2));
    assert_eq!(target(&report)["driver"]["how"], "minor-version");
    let (code, report) = run(&["--gpu", "h100"]);
    assert_eq!((code, torch_on(&report).len()), (Some(0), 1));
}

#[test]
fn the_configuration_names_fleets_and_options_stand_above_it() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("imgcheck.yaml");
    let fleets = "targets:\n  - name: new pool\n    gpus: [h100, 5090]\n    driver: \"580.65.06\"\n  - name: old pool\n    gpus: [p100]\n    driver: \"470.256.02\"\n";
    std::fs::write(&config, fleets).unwrap();
    let config = config.to_str().unwrap();
    let (code, report) = sample(&["--config", config]);
    assert_eq!(code, 1);
    assert_eq!(faults(&report), ["driver-too-old", "gpu-not-covered"]);
    let said = messages(&report);
    assert!(
        said[0].starts_with("the driver 470.256.02 of old pool is too old for CUDA 12.8"),
        "{said:?}"
    );
    assert!(
        said[1].contains("no code for P100 (sm_60) of old pool"),
        "{said:?}"
    );
    let (code, report) = sample(&["--config", config, "--gpu", "h100"]);
    assert_eq!((code, torch_on(&report).len()), (0, 1));
    // A driver alone is that of all fleets, whose GPUs are still judged.
    let (code, report) = sample(&["--config", config, "--driver", "580.65.06"]);
    assert_eq!(
        (code, faults(&report)),
        (1, vec!["gpu-not-covered".to_owned()])
    );
    let fleets_of_report = only_image(&report)["targets"].as_array().unwrap();
    let drivers: Vec<_> = fleets_of_report
        .iter()
        .map(|fleet| (&fleet["name"], &fleet["driver"]["version"]))
        .collect();
    let driver = &Value::from("580.65.06");
    assert_eq!(
        drivers,
        [(&"new pool".into(), driver), (&"old pool".into(), driver)]
    );

    std::fs::write(config, fleets.replace("h100", "h1000")).unwrap();
    let image = repository(SAMPLE);
    let error = failure(2, &["check", image.to_str().unwrap(), "--config", config]);
    for word in [
        "imgcheck.yaml:3:",
        "gpus: [h1000, 5090]",
        "did you mean `H100`?",
    ] {
        assert!(error.contains(word), "no {word:?} in: {error}");
    }
}

#[test]
fn an_unknown_gpu_or_driver_is_exit_code_2_with_a_suggestion() {
    let image = repository(SAMPLE);
    let image = image.to_str().unwrap();
    for (arguments, words) in [
        (["--gpu", "h1000"], ["`h1000`", "did you mean `H100`?"]),
        (
            ["--gpu", "a100,rtx 6000"],
            ["`rtx 6000`", "`RTX 6000 Ada` or `Quadro RTX 6000`"],
        ),
        (["--gpu", "91"], ["`91`", "write `sm_91`"]),
        (
            ["--gpu", "MI300X"],
            ["`MI300X`", "AMD GPUs are not supported"],
        ),
        (["--gpu", "voodoo"], ["`voodoo`", "nvidia-smi"]),
        (["--driver", "535"], ["only a driver branch", "535.183.06"]),
        (
            ["--driver", "latest"],
            ["not a driver version", "535.183.06"],
        ),
    ] {
        let error = failure(2, &[&["check", image][..], &arguments].concat());
        for word in words {
            assert!(error.contains(word), "no {word:?} in: {error}");
        }
    }
}

/// No machine has both, so there is nothing that an image could be checked for.
#[test]
fn a_gpu_and_a_driver_that_do_not_go_together_are_exit_code_2() {
    let image = repository(SAMPLE);
    let image = image.to_str().unwrap();
    for (gpus, driver, sentences) in [
        (
            "b200",
            "535.183.06",
            vec!["driver 535.183.06 is too old for B200: no driver before branch 570 supports it"],
        ),
        (
            "rtx 5090",
            "535.261.03",
            vec![
                "driver 535.261.03 is too old for GeForce RTX 5090: no driver before branch 570 supports it",
            ],
        ),
        (
            "gtx 1080 ti,v100,h100",
            "595.71.05",
            vec![
                "driver 595.71.05 is too new for GeForce GTX 1080 Ti: branch 580 is the last that supports Pascal",
                "driver 595.71.05 is too new for V100: branch 580 is the last that supports Volta",
            ],
        ),
    ] {
        let arguments = ["check", image, "--gpu", gpus, "--driver", driver];
        let error = failure(2, &arguments)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        for sentence in sentences {
            assert!(error.contains(sentence), "no {sentence:?} in: {error}");
        }
        assert!(
            error.contains("the GPUs and the driver of one machine"),
            "{error}"
        );
    }
    // The same GPUs with a driver of the first branch, or of the last.
    for (gpus, driver) in [
        ("b200", "570.133.20"),
        ("rtx 5090", "570.86.16"),
        ("v100", "580.65.06"),
        ("h100", "595.71.05"),
    ] {
        let (code, report) = sample(&["--gpu", gpus, "--driver", driver]);
        assert_eq!((code, faults(&report)), (0, vec![]), "{gpus} with {driver}");
    }
}

#[test]
fn the_configuration_is_refused_for_it_as_well_and_so_is_a_driver_for_its_targets() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("imgcheck.yaml");
    let image = repository(SAMPLE);
    let refused = |text: &str, arguments: &[&str], words: &[&str]| {
        std::fs::write(&config, text).unwrap();
        let own = [
            "check",
            image.to_str().unwrap(),
            "--config",
            config.to_str().unwrap(),
        ];
        let error = failure(2, &[&own[..], arguments].concat());
        let error = error.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in words {
            assert!(error.contains(word), "no {word:?} in: {error}");
        }
    };
    let too_new =
        "driver 595.71.05 is too new for V100: branch 580 is the last that supports Volta";
    let target = "targets:\n  - name: old\n    gpus: [v100]\n    driver: \"595.71.05\"\n";
    refused(target, &[], &["imgcheck.yaml:4:", too_new]);
    let class = "clusters:\n  prod:\n    nodes: [{name: old, gpu: v100, driver: 595.71.05}]\n";
    refused(class, &[], &["imgcheck.yaml:3:", too_new]);
    let fits = target.replace("595.71.05", "580.65.06");
    refused(
        &fits,
        &["--driver", "595.71.05"],
        &["target `old`: driver 595.71.05", too_new],
    );
    let (code, report) = sample(&["--config", config.to_str().unwrap()]);
    assert_eq!((code, faults(&report)), (0, vec![]));
}
