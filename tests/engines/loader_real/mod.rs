//! The loader model against real processes: root filesystems with published wheels, in which the real Python and the real glibc were
//! watched. `testdata/recipes/loader_images.py` and `loader_faults.py` make them and write down what happened; absent ones are
//! skipped with a message, or fail the tests when IMGCHECK_REQUIRE_REAL is `1`.

mod faults;
mod healthy;
mod observed;
