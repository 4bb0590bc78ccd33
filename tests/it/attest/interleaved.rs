//! Several writers change the list under a tag, in an order that the test plans.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::interleaving::Event::{Come, Done};
use testkit::interleaving::Step::{Put, Read};
use testkit::registry::{Content, Seen, Server, error};
use testkit::writable::{Conditions, Writable};

use super::{MANIFEST, Place, image, make_keys, text};

/// Reads of a list before it is written for the first time: for what is to be superseded, and to change it.
const READS_BEFORE: usize = 2;

/// A registry, and the lists under tags that it needs: cosign's, and that of referrers if it does not list them by itself.
fn places() -> [(Place, Vec<String>); 2] {
    [true, false].map(|has_referrers| {
        let place = Place::new(has_referrers);
        let tag = place.digest().replace(':', "-");
        let lists = [format!("{tag}.att"), tag].into_iter();
        let count = if has_referrers { 1 } else { 2 };
        (place, lists.take(count).collect())
    })
}

/// What a list has.
fn entries(list: &Value) -> &Vec<Value> {
    let entries = match &list["layers"] {
        Value::Null => &list["manifests"],
        layers => layers,
    };
    entries.as_array().unwrap()
}

/// How much of what is in a list are statements: an artifact with facts is the same for all writers.
fn statements(registry: &Writable, tag: &str) -> usize {
    let list = registry.tagged(tag).unwrap();
    let is_statement = |it: &&Value| !it["artifactType"].to_string().contains("facts");
    entries(&list).iter().filter(is_statement).count()
}

/// Adds something to a list, as a program that does not look at it again.
fn add(registry: &Writable, tag: &str, number: usize) {
    let blob = registry.put_blob(number.to_string().as_bytes());
    let kind = "application/vnd.oci.image.index.v1+json";
    let empty = match tag.ends_with(".att") {
        true => json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": {}, "layers": []}),
        false => json!({"schemaVersion": 2, "mediaType": kind, "manifests": []}),
    };
    let mut list = registry.tagged(tag).unwrap_or(empty);
    let field = if tag.ends_with(".att") {
        "layers"
    } else {
        "manifests"
    };
    let entry = json!({"mediaType": "text/plain", "digest": blob, "size": 1});
    list[field].as_array_mut().unwrap().push(entry);
    registry.put(tag, list.to_string());
}

/// Attests with two keys at the same time.
fn attest_twice(place: &Place, arguments: &[&str]) {
    thread::scope(|scope| {
        for key in ["own", "other"] {
            scope.spawn(move || place.attest(key, arguments));
        }
    });
}

/// Requests for manifests by a method and a name.
fn requests(place: &Place, method: &str, name: &str) -> Vec<Seen> {
    let mut seen = place.server.seen();
    seen.retain(|it| it.method == method && it.part() == format!("manifests/{name}"));
    seen
}

#[test]
fn what_another_writer_undid_is_added_again() {
    for (place, lists) in places() {
        for list in &lists {
            // Both have read the list before one of them replaces it.
            place.registry.hold(list, Put(1), Come(Put(2)));
            place.registry.hold(list, Put(2), Done(Put(1)));
        }
        attest_twice(&place, &[]);
        for list in &lists {
            assert_eq!(statements(&place.registry, list), 6);
            assert_eq!(requests(&place, "PUT", list).len(), 3);
        }
        for key in ["own", "other"] {
            assert_eq!(place.verify(key, &[]).0, 0);
        }
    }
}

#[test]
fn what_another_writer_undid_after_the_first_look_is_added_again() {
    for (place, lists) in places() {
        for list in &lists {
            let look = 2 * READS_BEFORE + 1;
            place.registry.hold(list, Put(1), Come(Put(2)));
            place.registry.hold(list, Put(2), Done(Read(look)));
            place.registry.hold(list, Read(look + 1), Done(Put(2)));
        }
        attest_twice(&place, &[]);
        for list in &lists {
            assert_eq!(statements(&place.registry, list), 6);
        }
    }
}

#[test]
fn what_cannot_be_added_in_time_is_an_error() {
    for (place, lists) in places() {
        let list = lists.last().unwrap();
        let tag = list.clone();
        let old = Mutex::new(None);
        // Another writer puts back its old list again and again.
        place.registry.react(list, move |registry, event| {
            let mut old = old.lock().unwrap();
            match event {
                Come(Put(_)) if old.is_none() => {
                    add(registry, &tag, 0);
                    *old = registry.tagged(&tag);
                }
                Done(Put(_)) => {
                    registry.put(&tag, old.as_ref().unwrap().to_string());
                }
                _ => {}
            }
        });
        let output = place.run("attest", "own.pem", &["--settle-timeout", "1"]);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{errors}");
        assert_eq!(text(&output.stdout), "", "nothing is said to be attested");
        let problem = format!("the tag {list} does not have what was attested");
        assert!(errors.contains(&problem), "{errors}");
        assert!(
            errors.contains("attest again when no other program"),
            "{errors}"
        );
        let reader = if list.ends_with(".att") {
            "cosign 1 and 2"
        } else {
            "the registry has no referrers API"
        };
        assert!(errors.contains(reader), "{errors}");
        assert!(
            requests(&place, "PUT", list).len() > 1,
            "it was tried again"
        );
    }
}

#[test]
fn a_list_that_changes_all_the_time_is_an_error() {
    for (place, lists) in places() {
        let list = lists.last().unwrap();
        let tag = list.clone();
        place.registry.react(list, move |registry, event| {
            if let Come(Read(number)) = event {
                add(registry, &tag, number);
            }
        });
        let output = place.run("attest", "own.pem", &["--settle-timeout", "1"]);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{errors}");
        let problem = format!("the tag {list} has what was attested, but may lose it");
        assert!(errors.contains(&problem), "{errors}");
        assert_eq!(requests(&place, "PUT", list).len(), 1);
    }
}

#[test]
fn who_is_alone_reads_twice_and_waits_once() {
    let time = Duration::from_millis(300);
    for (place, lists) in places() {
        let reads = Arc::new(Mutex::new(Vec::new()));
        for list in &lists {
            let (reads, list) = (Arc::clone(&reads), list.clone());
            place.registry.react(&list.clone(), move |_, event| {
                if let Come(Read(_)) = event {
                    reads.lock().unwrap().push((list.clone(), Instant::now()));
                }
            });
        }
        place.attest("own", &["--settle-time", "0.3"]);
        for list in &lists {
            let reads = reads.lock().unwrap();
            let reads = reads.iter().filter(|(read, _)| read == list);
            let reads: Vec<Instant> = reads.map(|(_, at)| *at).collect();
            assert_eq!(requests(&place, "PUT", list).len(), 1);
            assert_eq!(reads.len(), READS_BEFORE + 2);
            let [.., first, second] = reads[..] else {
                panic!("fewer than two")
            };
            assert!(second.duration_since(first) >= time);
        }
    }
}

#[test]
fn one_key_used_twice_at_the_same_time_comes_to_an_end() {
    for (place, lists) in places() {
        for list in &lists {
            // The first run looks again when the second has superseded what the first has written.
            let look = READS_BEFORE + 1;
            place.registry.hold(list, Read(look), Done(Put(2)));
        }
        thread::scope(|scope| {
            scope.spawn(|| place.attest("own", &[]));
            for list in &lists {
                place.registry.wait(list, Come(Read(READS_BEFORE + 1)));
            }
            place.attest("own", &[]);
        });
        for list in &lists {
            assert_eq!(requests(&place, "PUT", list).len(), 3);
        }
        assert_eq!(place.verify("own", &[]).0, 0);
    }
}

/// A place whose registry answers some requests by itself.
fn with_answers(
    answer: impl Fn(&Writable, &str, &Seen) -> Option<testkit::registry::Answer> + Send + Sync + 'static,
) -> (Place, String) {
    let mut place = Place::new(true);
    let tag = format!("{}.att", place.digest().replace(':', "-"));
    let (registry, list) = (place.registry.clone(), tag.clone());
    place.server = Server::new(move |seen| {
        answer(&registry, &list, seen).unwrap_or_else(|| registry.answer(seen))
    });
    (place, tag)
}

#[test]
fn a_list_is_read_again_before_a_failed_write_is_repeated() {
    let failed = AtomicUsize::new(0);
    let (place, list) = with_answers(move |registry, list, seen| {
        let is_put = seen.method == "PUT" && seen.part() == format!("manifests/{list}");
        if !is_put || failed.fetch_add(1, Ordering::Relaxed) > 0 {
            return None;
        }
        add(registry, list, 0);
        Some(error(503, "UNAVAILABLE", "try again"))
    });
    place.attest("own", &[]);
    assert_eq!(statements(&place.registry, &list), 4);
    let writes = requests(&place, "PUT", &list);
    let writes: Vec<Value> = writes
        .iter()
        .map(|it| serde_json::from_str(&it.body).unwrap())
        .collect();
    let lengths: Vec<usize> = writes.iter().map(|it| entries(it).len()).collect();
    assert_eq!(lengths, [3, 4]);
}

#[test]
fn a_list_that_was_read_long_ago_is_not_written() {
    let was_slow = AtomicBool::new(false);
    let (place, list) = with_answers(move |registry, list, seen| {
        let is_upload = seen.method == "PUT" && seen.part().starts_with("blobs/");
        // cosign's configuration: it depends on the list, so it comes between reading and writing.
        let is_config =
            is_upload && seen.body.contains("diff_ids") && seen.body.contains(r#""os":"""#);
        if is_config && !was_slow.swap(true, Ordering::Relaxed) {
            add(registry, list, 0);
            tokio::task::block_in_place(|| thread::sleep(Duration::from_millis(300)));
        }
        None
    });
    place.attest("own", &["--settle-time", "0.2"]);
    let writes = requests(&place, "PUT", &list);
    assert_eq!(writes.len(), 1);
    let written: Value = serde_json::from_str(&writes[0].body).unwrap();
    assert_eq!(entries(&written).len(), 4);
}

#[test]
fn a_registry_that_heeds_conditions_loses_nothing_in_between() {
    for has_referrers in [true, false] {
        let place = conditional(has_referrers, Conditions::Heeded);
        let list = format!("{}.att", place.digest().replace(':', "-"));
        place.registry.hold(&list, Put(1), Come(Put(2)));
        place.registry.hold(&list, Put(2), Done(Put(1)));
        let counts = Arc::new(Mutex::new(Vec::new()));
        let (own, tag) = (Arc::clone(&counts), list.clone());
        place.registry.react(&list, move |registry, event| {
            if let Done(Put(_)) = event {
                own.lock().unwrap().push(statements(registry, &tag));
            }
        });
        attest_twice(&place, &[]);
        assert_eq!(*counts.lock().unwrap(), [3, 3, 6], "the second is refused");
        let writes = requests(&place, "PUT", &list);
        assert_eq!(writes[0].condition.as_deref(), Some("*"));
        let entity_tag = writes[2].if_match.as_deref().unwrap();
        assert!(entity_tag.starts_with("\"sha256:"), "{entity_tag}");
    }
}

#[test]
fn a_registry_that_refuses_all_conditions_is_written_without() {
    for has_referrers in [true, false] {
        let place = conditional(has_referrers, Conditions::Misunderstood);
        for key in ["own", "other"] {
            place.attest(key, &[]);
            assert_eq!(place.verify(key, &[]).0, 0);
        }
        let list = format!("{}.att", place.digest().replace(':', "-"));
        assert_eq!(statements(&place.registry, &list), 6);
    }
}

fn conditional(has_referrers: bool, conditions: Conditions) -> Place {
    let content = Content::of(super::TAG, &[image("amd64")], false);
    let registry = Writable::new(content, has_referrers).with_conditions(conditions);
    let keys = tempfile::tempdir().unwrap();
    for name in ["own", "other"] {
        make_keys(keys.path(), name);
    }
    Place {
        server: registry.serve(),
        registry,
        keys,
    }
}
