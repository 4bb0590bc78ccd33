//! Several processes and threads with one directory.

use super::*;

#[test]
fn many_runs_share_a_directory() {
    let case = Case::new();
    let runs: Vec<Run> = thread::scope(|scope| {
        let runs: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| case.run("cache", &[])))
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    for run in &runs {
        assert_eq!((&run.report, run.remarks.as_str()), (&runs[0].report, ""));
    }
    assert_eq!(case.facts("cache").len(), 2);
    assert!(case.run("cache", &[]).is_cached());
}

#[test]
fn many_threads_put_get_and_evict() {
    const LIMIT: u64 = 100_000;
    let scratch = tempdir().unwrap();
    // Each its own cache, as a run of the program has.
    thread::scope(|scope| {
        for run in 0..4 {
            let directory = scratch.path();
            scope.spawn(move || {
                let cache = cache(directory, LIMIT);
                for seed in 0..200 {
                    let (key, bytes) = document(seed * (1 + run % 2), 3000);
                    if let Some(found) = cache.get(&key) {
                        assert_eq!(found, bytes);
                    }
                    cache.put(&key, &bytes);
                }
            });
        }
    });
    let cache = cache(scratch.path(), LIMIT);
    let (key, bytes) = document(1000, 3000);
    cache.put(&key, &bytes);
    let entries = cache.list().unwrap();
    let total: u64 = entries.iter().map(|entry| entry.bytes).sum();
    assert!((LIMIT / 2..=LIMIT).contains(&total), "{total}");
    assert_eq!(cache.get(&key), Some(bytes));
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), entries.len());
}

#[test]
fn a_killed_run_leaves_nothing_that_is_believed() {
    let case = Case::new();
    let expected = case.run("elsewhere", &[]).report;
    for delay in 0..24 {
        let mut run = case
            .command("cache")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(4 * delay));
        run.kill().unwrap();
        run.wait().unwrap();
        if case.path("cache").exists() {
            let good = cache(&case.path("cache"), u64::MAX).list().unwrap();
            let names = case.files("cache").into_iter();
            let left = names.filter(|path| is_temporary(path)).count();
            assert_eq!(case.files("cache").len(), good.len() + left);
        }
        if delay % 4 == 3 {
            assert_eq!(case.run("cache", &[]).report, expected);
            assert!(case.run("cache", &[]).is_cached());
            fs::remove_dir_all(case.path("cache")).unwrap();
        }
    }
}

fn is_temporary(path: &Path) -> bool {
    path.file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .starts_with(".tmp-")
}
