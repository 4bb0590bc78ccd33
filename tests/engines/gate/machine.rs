//! Machines that give too little: memory, threads, files, time; and clocks that are wrong.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::case::{Case, Ending, MISLABELLED, check, check_by, ending, essence, program, run};
use testkit::tools::{say, tool};

const MIB: u64 = 1 << 20;

/// Runs under a limit of `prlimit(1)`; the program starts or not, and if it tells something it is so.
fn under(case: &Case, limit: &str) -> Ending {
    let image = case.image();
    let starter = ["prlimit", limit, "--", program()];
    case.ending(&run(&mut check_by(&starter, &[image.to_str().unwrap()])))
}

#[test]
fn too_little_memory_gives_no_verdict() {
    if !tool("prlimit") {
        return;
    }
    let case = Case::new(1 << 20);
    let mut endings = Vec::new();
    // From too little for the program itself to enough.
    for mib in (16..=160)
        .step_by(8)
        .chain([192, 256, 384, 512, 1024, 2048, 4096, 8192])
    {
        endings.push((mib, under(&case, &format!("--as={}", mib * MIB))));
    }
    assert_ne!(endings[0].1, Ending::Whole);
    assert_eq!(endings.last().unwrap().1, Ending::Whole, "{endings:?}");
}

#[test]
fn too_few_files_give_no_verdict() {
    if !tool("prlimit") {
        return;
    }
    let case = Case::new(4096);
    let endings: Vec<Ending> = (0..24)
        .map(|files| under(&case, &format!("--nofile={files}")))
        .collect();
    assert_ne!(endings[0], Ending::Whole);
    let Ending::Failed(said) = &endings[6] else {
        panic!("six open files are enough");
    };
    assert!(said.contains("Too many open files"), "{said}");
    assert_eq!(endings.last().unwrap(), &Ending::Whole);
}

#[test]
fn too_little_time_or_space_gives_no_verdict() {
    if !tool("prlimit") {
        return;
    }
    let case = Case::new(1 << 20);
    let image = case.image();
    // More than a second's work.
    let images = vec![image.to_str().unwrap(); 200];
    let starter = ["prlimit", "--cpu=1", "--", program()];
    let output = run(&mut check_by(&starter, &images));
    assert_ne!(case.ending(&output), Ending::Whole);
    let report = case.path("report");
    let report = format!("json={}", report.display());
    let starter = ["prlimit", "--fsize=100", "--", program()];
    let arguments = [image.to_str().unwrap(), "-o", &report];
    let output = run(&mut check_by(&starter, &arguments));
    assert_ne!(case.ending(&output), Ending::Whole);
}

#[test]
fn too_few_threads_give_no_verdict() {
    if !tool("prlimit") || !tool("setpriv") {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        say(format_args!(
            "skipped: processes are counted by user, and only root can be another one"
        ));
        return;
    }
    let case = Case::new(4096);
    // Where any user reaches it.
    let place = tempfile::tempdir().unwrap();
    let own = place.path().join("imgcheck");
    fs::copy(program(), &own).unwrap();
    let open = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    open(place.path());
    open(&own);
    let archive = place.path().join("image.tar");
    fs::copy(MISLABELLED, &archive).unwrap();
    let layout = place.path().join("layout");
    fs::rename(case.image(), &layout).unwrap();
    let plain = essence(&run(&mut check(&[archive.to_str().unwrap()])));
    let mut said = Vec::new();
    for threads in 1..=32 {
        let user = [
            "setpriv",
            "--reuid=54321",
            "--regid=54321",
            "--clear-groups",
        ];
        let limit = format!("--nproc={threads}");
        let limited = ["prlimit", &limit, "--", own.to_str().unwrap()];
        let starter = [user, limited].concat();
        let check = |image: &Path| run(&mut check_by(&starter, &[image.to_str().unwrap()]));
        said.push((
            ending(&check(&archive), &plain),
            case.ending(&check(&layout)),
        ));
    }
    assert_eq!(said.last().unwrap(), &(Ending::Whole, Ending::Whole));
}

/// An ignore ends with its last day, by the clock of the machine.
#[test]
fn a_clock_that_is_wrong_stops_no_run() {
    if !tool("faketime") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("config.yaml");
    fs::write(
        &config,
        "ignore: [{rule: claim-torch-version, reason: known, expires: 2020-06-30}]\n",
    )
    .unwrap();
    let at = |day: &str| {
        let starter = ["faketime", day, program()];
        let arguments = [MISLABELLED, "--config", config.to_str().unwrap()];
        let mut command = check_by(&starter, &arguments);
        command
            .env_remove("IMGCHECK_NO_CONFIG")
            .env_remove("IMGCHECK_NO_CACHE")
            .env("IMGCHECK_CACHE_DIR", place.path().join("cache"));
        run(&mut command).status.code()
    };
    assert_eq!(at("2020-06-30 12:00:00"), Some(0));
    for day in [
        "2020-07-02 00:00:00",
        "2100-01-01 00:00:00",
        "2037-12-31 00:00:00",
    ] {
        assert_eq!(at(day), Some(1), "{day}");
    }
    assert_eq!(at("1970-01-02 00:00:00"), Some(0));
}
