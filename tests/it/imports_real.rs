//! Imports from the PyTorch of published wheels, compared with what its Python does.

use std::path::Path;
use std::process::Command;

use imgcheck::{Checker, ImageRequest};
use imgcheck_launch::Overlay;
use testkit::tools::{real_images, real_images_required};

/// Programs, each with one import.
const PROGRAMS: [&str; 22] = [
    "import torch.npu_is_not_here",
    "import torch._six",
    "from torch._six import string_classes",
    "from torch.nn import Liner",
    "from torch.nn import Linear, functional, Buffer",
    "from torch.nn.modules import Linear",
    "from torch.cuda import FloatTensor",
    "from torch.cuda import FlotTensor",
    "from torch.cuda.amp import autocast, GradScaler",
    "from torch.utils.data import DataLoader, IterDataPipe",
    "from torch.utils.data import Dataloader",
    "from torch.optim import AdamW, lr_scheduler",
    "from torch.optim import Adamw",
    "from torch.distributed import init_process_group, ReduceOp",
    "from torch.distributed.device_mesh import DeviceMesh",
    "from torch.distributed._shard.checkpoint.metadata import Metadata",
    "from torch import Tensor, zeros, float32, nn, compile, sym_sqrt, _dynamo, ops, classes",
    "from typing import Self, Pattern",
    "from typing import override",
    "from warnings import deprecated",
    "from numpy import float_",
    "from numpy import float64, fft, matlib, strings",
];

/// Prints for each program whether it ends without an exception.
const RUN: &str = "
import sys, warnings
warnings.simplefilter('ignore')
for program in sys.argv[1:]:
    try:
        exec(program, {})
        print('fine')
    except ImportError:
        print('fails')
";

/// What Python does with each program; `None` without the right to ask it.
fn python(root: &Path) -> Option<Vec<bool>> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: chroot needs root's rights");
        return None;
    }
    let python = ["python3", "-B", "-c", RUN];
    let output = Command::new("chroot")
        .arg(root)
        .args(python)
        .args(PROGRAMS)
        .output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let fails = text.lines().map(|it| it == "fails").collect::<Vec<_>>();
    assert_eq!(fails.len(), PROGRAMS.len(), "{text}");
    Some(fails)
}

#[test]
fn what_a_module_of_pytorch_has_is_what_python_finds() {
    let root = real_images().join("loader/torch-2.8.0/root");
    assert!(!real_images_required() || root.is_dir());
    if !root.is_dir() {
        eprintln!("skipped: {} is not there", root.display());
        return;
    }
    let Some(expected) = python(&root) else {
        return;
    };
    // Those that end without an exception do so one after the other, too.
    let (failing, fine): (Vec<_>, Vec<_>) = PROGRAMS.iter().zip(expected).partition(|it| it.1);
    let fine: Vec<&str> = fine.into_iter().map(|it| *it.0).collect();
    let failing = failing.into_iter().map(|it| ((*it.0).to_owned(), true));
    let programs: Vec<(String, bool)> = failing.chain([(fine.join("\n"), false)]).collect();
    let overlay = |program: &str| Overlay {
        command: Some(["python3", "-c", program].map(str::to_owned).to_vec()),
        ..Overlay::default()
    };
    let checker = Checker::builder().build().unwrap();
    let request = ImageRequest::new(root.display().to_string());
    let overlays = programs.iter().map(|it| overlay(&it.0)).collect();
    let mut images = checker.images(&request.launched_with(overlays)).unwrap();
    let (facts, subject) = images.remove(0);
    for (program, fails) in programs {
        let subject = subject.clone().launched_with(overlay(&program));
        let findings = checker.judge(&facts, &subject).unwrap();
        let said = findings.iter().any(|it| it.rule == "python-import-fails");
        assert_eq!(said, fails, "{program}");
    }
}
