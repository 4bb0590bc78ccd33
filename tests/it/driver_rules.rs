//! The rules about the host's driver and about the pins of Python packages, from the files and variables of made-up images to the
//! findings. The variables are those of public images; the files are made up of facts, with no bytes behind them.

mod images;

use imgcheck_model::finding::{Finding, Severity};
use imgcheck_model::knowledge;
use serde_json::json;

use crate::sample::{Image, SITE, elf, identified};
use images::{LIBRARIES, cuda_11_8, cuda_12_8, nvidia};

#[test]
fn official_images_give_nothing() {
    let runtime = nvidia(Image::pytorch()).env("PYTORCH_VERSION=2.8.0");
    assert_eq!(runtime.said(), [""; 0]);
    let development = nvidia(Image::pytorch())
        .env("CUDA_VERSION=12.8.1")
        .env(&cuda_12_8())
        .compat("12.8", "570.124.06");
    assert_eq!(development.said(), [""; 0]);
    let framework = Image::pytorch()
        .env("CUDA_VERSION=12.9.1.010")
        .env("NVIDIA_REQUIRE_CUDA=cuda>=9.0")
        .env("NVIDIA_VISIBLE_DEVICES=all")
        .env("NVIDIA_DRIVER_CAPABILITIES=compute,utility,video")
        .env("_CUDA_COMPAT_PATH=/usr/local/cuda/compat")
        .env("LD_LIBRARY_PATH=/usr/local/cuda/compat/lib:/usr/local/nvidia/lib")
        .compat("12.9", "575.57.08")
        .link("usr/local/cuda-12.9/compat/lib", ".");
    assert_eq!(framework.said(), [""; 0]);
}

/// `FROM python` and `pip install torch`: in order, and one hint.
#[test]
fn a_plain_base_gets_a_note() {
    assert_eq!(Image::pytorch().said(), ["Note driver-devices-unset"]);
}

#[test]
fn wheels_of_cuda_12_on_a_base_of_cuda_11() {
    let image = nvidia(Image::pytorch())
        .env("CUDA_VERSION=11.8.0")
        .env(&cuda_11_8())
        .compat("11.8", "520.61.05");
    assert_eq!(image.said(), ["Warning driver-require-wrong"]);
    let message = image.message("driver-require-wrong");
    assert!(
        message.contains("drivers for CUDA 11.8, but its libraries are for CUDA 12.8"),
        "{message}"
    );
}

#[test]
fn wheels_of_cuda_12_on_a_base_of_cuda_13() {
    let image = nvidia(Image::pytorch())
        .env("NVIDIA_REQUIRE_CUDA=cuda>=13.0 brand=tesla,driver>=535,driver<536");
    assert_eq!(image.said(), ["Warning driver-require-wrong"]);
    let switched_off = nvidia(Image::pytorch())
        .env("NVIDIA_REQUIRE_CUDA=cuda>=13.0")
        .env("NVIDIA_DISABLE_REQUIRE=true");
    assert_eq!(switched_off.said(), [""; 0]);
}

#[test]
fn a_compat_directory_on_the_library_path() {
    let image = Image::pytorch()
        .env("NVIDIA_VISIBLE_DEVICES=all")
        .env("LD_LIBRARY_PATH=/usr/local/cuda/compat")
        .compat("12.8", "570.124.06");
    assert_eq!(image.said(), ["Warning driver-compat-on-path"]);
    let message = image.message("driver-compat-on-path");
    assert!(
        message.contains(
            "driver 570.124.06 for CUDA 12.8, which only works with the host drivers 535, 550"
        ),
        "{message}"
    );
}

/// An image whose `/etc/ld.so.conf.d` names the directory of the compat package, as `COPY` leaves it: nobody ran `ldconfig`.
fn configured(file: &str) -> Image {
    Image::pytorch()
        .env("NVIDIA_VISIBLE_DEVICES=all")
        .compat("12.8", "570.124.06")
        .configured(file, "/usr/local/cuda/compat\n")
}

/// The toolkit runs `ldconfig` when a container starts, so the directory is searched there.
#[test]
fn a_compat_directory_that_only_the_ldconfig_of_the_toolkit_finds() {
    let image = configured("cuda-compat.conf");
    assert_eq!(image.said(), ["Warning driver-compat-on-path"]);
    let message = image.message("driver-compat-on-path");
    let start = "libcuda.so.1 is, once the container toolkit has run `ldconfig`, \
                 /usr/local/cuda-12.8/compat/libcuda.so.570.124.06, because of /etc/ld.so.conf.d/cuda-compat.conf:1, ";
    assert!(message.starts_with(start), "{message}");
    // The directory of the host's library is configured before it.
    assert_eq!(configured("zz-compat.conf").said(), [""; 0]);
    let first = configured("cuda-compat.conf").env("LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu");
    assert_eq!(first.said(), [""; 0]);
}

#[test]
fn a_stub_that_only_the_ldconfig_of_the_toolkit_finds() {
    let with_stubs = |file: &str| {
        let mut stub = identified("driver", "libcuda.so.1", &[]);
        let identity = stub.identity.as_mut().unwrap();
        identity.part = Some("stub".to_owned());
        Image::pytorch()
            .env("NVIDIA_VISIBLE_DEVICES=all")
            .configured(file, "/usr/local/cuda/lib64/stubs\n")
            .elf("usr/local/cuda/lib64/stubs/libcuda.so", stub)
    };
    let image = with_stubs("cuda.conf");
    assert_eq!(image.said(), ["Error driver-stub-on-path"]);
    let message = image.message("driver-stub-on-path");
    let start = "libcuda.so.1 is, once the container toolkit has run `ldconfig`, the stub \
                 /usr/local/cuda/lib64/stubs/libcuda.so because of /etc/ld.so.conf.d/cuda.conf:1: ";
    assert!(message.starts_with(start), "{message}");
    // The directory of the host's library is configured before it.
    assert_eq!(with_stubs("zz-cuda.conf").said(), [""; 0]);
}

#[test]
fn a_machine_on_which_the_compat_library_certainly_fails_makes_it_an_error() {
    let on_path = || {
        Image::pytorch()
            .env("NVIDIA_VISIBLE_DEVICES=all")
            .env("LD_LIBRARY_PATH=/usr/local/cuda/compat")
            .compat("12.8", "570.124.06")
    };
    for image in [configured("cuda-compat.conf"), on_path()] {
        let (fails, may_work) = (
            "Error driver-compat-mismatch",
            "Warning driver-compat-on-path",
        );
        for (gpu, driver, expected) in [
            ("rtx 4090", "535.183.06", fails),
            ("rtx 4090", "580.65.06", fails),
            ("rtx 4090", "570.124.06", may_work),
            ("a100", "535.183.06", may_work),
            ("a100", "580.65.06", fails),
            ("rtx a6000", "535.183.06", may_work),
            ("sm_89", "535.183.06", may_work),
        ] {
            assert_eq!(
                image.said_on(gpu, driver),
                [expected],
                "{gpu} with {driver}"
            );
        }
    }
    assert_eq!(
        configured("zz-compat.conf").said_on("rtx 4090", "535.183.06"),
        [""; 0]
    );
    assert_eq!(
        Image::pytorch()
            .env("NVIDIA_VISIBLE_DEVICES=all")
            .said_on("rtx 4090", "535.183.06"),
        [""; 0]
    );
}

#[test]
fn a_driver_that_was_installed() {
    let real = identified("driver", "libcuda.so.1", &[("version", "535.261.03")]);
    let image = nvidia(Image::pytorch())
        .elf(&format!("{LIBRARIES}/libcuda.so.535.261.03"), real)
        .link(
            &format!("{LIBRARIES}/libcuda.so.1"),
            "libcuda.so.535.261.03",
        )
        .elf("usr/bin/nvidia-smi", elf(&["libnvidia-ml.so.1"]));
    assert_eq!(image.said(), ["Error driver-library-in-image"]);
    let message = image.message("driver-library-in-image");
    let files = "/usr/bin/nvidia-smi and /usr/lib/x86_64-linux-gnu/libcuda.so.535.261.03 belong to driver 535.261.03";
    assert!(message.starts_with(files), "{message}");
}

#[test]
fn leftovers_of_a_mount_are_reported() {
    let image = nvidia(Image::pytorch())
        .empty(&format!("{LIBRARIES}/libcuda.so.418.56"))
        .link(&format!("{LIBRARIES}/libcuda.so.1"), "libcuda.so.418.56")
        .empty(&format!("{LIBRARIES}/libnvidia-ml.so.418.56"))
        .empty(&format!("{LIBRARIES}/libnvidia-opencl.so.418.56"));
    let said = image.said();
    assert!(
        said.contains(&"Warning driver-library-in-image".to_owned()),
        "{said:?}"
    );
    let waiting = nvidia(Image::pytorch()).link(&format!("{LIBRARIES}/libcuda.so"), "libcuda.so.1");
    assert_eq!(waiting.said(), [""; 0]);
}

#[test]
fn driver_parts_that_are_not_requested() {
    let with = |capabilities: &str| {
        Image::pytorch()
            .env("NVIDIA_VISIBLE_DEVICES=all")
            .env(&format!("NVIDIA_DRIVER_CAPABILITIES={capabilities}"))
    };
    assert_eq!(with("compute").said(), [""; 0]);
    assert_eq!(
        with("graphics,utility").said(),
        ["Warning driver-capability-missing"]
    );
    let message = with("graphics,utility").message("driver-capability-missing");
    assert!(
        message.contains("libcudart.so.12 needs libcuda.so.1 of the host's driver"),
        "{message}"
    );
    assert_eq!(
        with("compute,gpu").said(),
        ["Warning driver-capability-missing"]
    );
    let opencv = format!("{SITE}/cv2/cv2.abi3.so");
    let opencv = |image: Image| image.elf(&opencv, elf(&["libnvcuvid.so.1"]));
    assert_eq!(
        opencv(with("compute,utility")).said(),
        ["Warning driver-capability-missing"]
    );
    assert_eq!(opencv(with("compute,utility,video")).said(), [""; 0]);
    let decoder = format!("{SITE}/torchvision/gpu_decoder.so");
    let vision = with("compute,utility")
        .package("torchvision", "0.23.0")
        .elf(&decoder, elf(&["libnvcuvid.so.1"]));
    assert_eq!(vision.said(), [""; 0]);
}

#[test]
fn pins_that_are_broken() {
    let cudnn = |version: &str| {
        let mut image = nvidia(Image::pytorch());
        image.layers[0]
            .entries
            .retain(|entry| !entry.path.contains("nvidia_cudnn_cu12"));
        image.package("nvidia-cudnn-cu12", version)
    };
    assert_eq!(cudnn("9.10.2.21").said(), [""; 0]);
    assert_eq!(
        cudnn("9.1.0.70").said(),
        ["Warning torch-requirement-unmet"]
    );
    assert_eq!(cudnn("9.16.0.29").said(), ["Note torch-requirement-unmet"]);
    let message = cudnn("9.1.0.70").message("torch-requirement-unmet");
    assert_eq!(
        message,
        "torch 2.8.0+cu128 requires nvidia-cudnn-cu12==9.10.2.21, but 9.1.0.70 is installed"
    );
}

/// What the loader model takes from the host is what some capability brings.
#[test]
fn every_library_of_the_host_has_a_capability() {
    let table = |name| knowledge::table::<serde_json::Value>(name).unwrap();
    let (host, capabilities) = (table("loader/host"), table("capabilities"));
    for library in host["libraries"].as_array().unwrap() {
        let name = library["name"].as_str().unwrap();
        let stem = format!("{}.so", name.split_once(".so").unwrap().0);
        let brings =
            |row: &serde_json::Value| row["libraries"].as_array().unwrap().contains(&json!(stem));
        let rows = capabilities["capabilities"].as_array().unwrap();
        assert!(rows.iter().any(brings), "{name}");
    }
}

#[test]
fn every_finding_says_what_to_do() {
    let image = Image::pytorch()
        .env("NVIDIA_REQUIRE_CUDA=cuda==12")
        .env("NVIDIA_DRIVER_CAPABILITIES=All")
        .env("LD_LIBRARY_PATH=/usr/local/cuda/compat")
        .compat("12.8", "570.124.06")
        .empty("usr/bin/nvidia-smi");
    let findings = image.findings();
    let own = findings.iter().filter(|it| it.rule.starts_with("driver-"));
    let own: Vec<&Finding> = own.collect();
    let mut rules: Vec<&str> = own.iter().map(|it| it.rule.as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    assert_eq!(
        rules,
        [
            "driver-capability-missing",
            "driver-compat-on-path",
            "driver-devices-unset",
            "driver-library-in-image",
            "driver-require-wrong"
        ]
    );
    for finding in own {
        assert!(
            finding.help.as_ref().is_some_and(|help| help.len() > 20),
            "{}",
            finding.rule
        );
        assert_eq!(finding.severity, Severity::Warning, "{}", finding.rule);
    }
}
