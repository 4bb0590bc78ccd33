//! The databases of containerd: reading one ends, and finds the same twice.

use std::os::fd::AsFd;

use imgcheck_base::error::Result;
use imgcheck_fuzz::file;
use imgcheck_source::source::containerd::bolt::{Bucket, Database};

/// containerd's buckets are not nested deeper.
const DEPTH: usize = 6;
/// A damaged database can lead to one page from everywhere.
const BUCKETS: usize = 1000;

pub fn fuzz(bytes: &[u8]) {
    let file = file(bytes);
    let file = file.as_fd().try_clone_to_owned().expect("a descriptor");
    let database = Database::new(file.into(), "meta.db".to_owned());
    let names = || {
        database.read(|top| {
            let mut names = Vec::new();
            walk(&top, 0, &mut names)?;
            Ok(names)
        })
    };
    match (names(), names()) {
        (Ok(first), Ok(second)) => assert_eq!(first, second),
        (Err(_), Err(_)) => {}
        _ => panic!("it could be read only once"),
    }
}

fn walk(bucket: &Bucket, depth: usize, names: &mut Vec<String>) -> Result<()> {
    if depth > DEPTH {
        return Ok(());
    }
    for (name, below) in bucket.buckets()? {
        // A key that was listed is found.
        let _ = below.text("digest")?;
        if names.len() < BUCKETS {
            names.push(name);
            walk(&below, depth + 1, names)?;
        }
    }
    Ok(())
}
