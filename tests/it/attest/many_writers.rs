//! Registries without the referrers API keep a list under a tag that all writers change.

use std::thread;

use super::Place;

const WRITERS: usize = 32;

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let place = Place::new(false);
    for at in 0..WRITERS {
        super::make_keys(place.keys.path(), &format!("writer-{at}"));
    }
    thread::scope(|scope| {
        for at in 0..WRITERS {
            let place = &place;
            let arguments = ["--settle-time", "2", "--settle-timeout", "600"];
            scope.spawn(move || place.attest(&format!("writer-{at}"), &arguments));
        }
    });
    let pushed = place.registry.pushed();
    let tag = place.digest().replace(':', "-");
    let index = &pushed[&place.registry.digest(&tag)]["manifests"];
    // Three bundles each, and the facts, which are the same for all.
    assert_eq!(index.as_array().unwrap().len(), 3 * WRITERS + 1);
    let old = &pushed[&place.registry.digest(&format!("{tag}.att"))]["layers"];
    assert_eq!(old.as_array().unwrap().len(), 3 * WRITERS);
    for at in [0, WRITERS - 1] {
        assert_eq!(place.verify(&format!("writer-{at}"), &[]).0, 0);
    }
}
