//! The plan of a sweep, and lists of Pods: any bytes are read or refused, and a plan is read as it was written.

use imgcheck::SweepPlan;
use imgcheck_base::digest::sha256;
use imgcheck_sweep::images_of_pods;

pub fn fuzz(bytes: &[u8]) {
    let _ = SweepPlan::read("plan", bytes);
    // With the right digest, the lines themselves are reached.
    let signed = format!("{{\"end\":\"{}\"}}\n", sha256(bytes));
    let whole = [bytes, signed.as_bytes()].concat();
    if let Ok(plan) = SweepPlan::read("plan", &*whole) {
        let mut written = Vec::new();
        plan.write(&mut written).expect("memory has room");
        assert_eq!(SweepPlan::read("plan", &*written).ok(), Some(plan));
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = images_of_pods(text);
    }
}
