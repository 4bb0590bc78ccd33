//! The public API: facts depend on bytes only, judgement is pure, and requests do not disturb each other.

mod cancelled;
mod facts;
mod judgement;
mod several;

use std::fs;
use std::path::Path;

use imgcheck::{
    Checker, CheckerBuilder, Day, ErrorCode, ImageFacts, ImageRequest, Severity, Subject,
};
use testkit::{Image, file};

use crate::program::repository;

const SAMPLE: &str = "testdata/sample/pytorch-cuda-v2.9.tar";
const DAY: (i32, u32, u32) = (2026, 11, 22);

fn day((year, month, day): (i32, u32, u32)) -> Day {
    Day::from_ymd_opt(year, month, day).unwrap()
}

fn checker() -> Checker {
    Checker::builder().build().unwrap()
}

fn request(path: &Path) -> ImageRequest {
    ImageRequest::new(path.to_str().unwrap())
}

fn sample(checker: &Checker) -> ImageFacts {
    checker.facts(&request(&repository(SAMPLE))).unwrap()
}

fn image() -> Image {
    let library = fs::read(std::env::current_exe().unwrap()).unwrap();
    let lower = [file("etc/os-release", "ID=debian\nVERSION_ID=12\n")];
    let upper = [
        file(
            "usr/lib/libexample.so.1",
            &library[..library.len().min(1 << 20)],
        ),
        file("opt/data", "x".repeat(10_000)),
    ];
    let labels = (0..200).map(|at| (format!("label-{at}"), "x".into()));
    Image {
        labels: serde_json::Value::Object(labels.collect()),
        ..Image::new("example:1", &[&lower, &upper])
    }
}

#[test]
fn the_public_types_are_shared_between_threads() {
    fn assert_shared<T: Send + Sync>() {}
    assert_shared::<Checker>();
    assert_shared::<ImageRequest>();
    assert_shared::<ImageFacts>();
    assert_shared::<Subject>();
    assert_shared::<imgcheck::Error>();
}

#[test]
fn options_are_checked_when_a_checker_is_built() {
    let code = |build: CheckerBuilder| build.build().err().map(|error| error.code());
    let build = Checker::builder;
    assert_eq!(code(build().gpus(["h1000"])), Some(ErrorCode::Usage));
    assert_eq!(code(build().driver("new")), Some(ErrorCode::Usage));
    assert_eq!(code(build().expect("torch")), Some(ErrorCode::Usage));
    assert_eq!(code(build().rules("no/such")), Some(ErrorCode::Usage));
    assert_eq!(
        code(build().configuration("no/such")),
        Some(ErrorCode::Usage)
    );
    assert_eq!(code(build().fail_on(Some(Severity::Note))), None);
}
