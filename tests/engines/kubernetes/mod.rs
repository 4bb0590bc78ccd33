//! A real API server: what imgcheck reads of a cluster. The server is built once by `testdata/recipes/kube_apiserver.sh`.

#[cfg(feature = "gate")]
mod admission;
mod certificate;
mod chart;
#[cfg(feature = "gate")]
mod custom;
mod live;
mod queues;
mod refused_fields;
mod refused_resources;
mod runtimes;
#[cfg(feature = "gate")]
mod scene;
mod sweep;
mod watched;

#[cfg(feature = "gate")]
#[allow(dead_code)]
#[path = "../../it/gate/images.rs"]
mod images;

use std::time::Duration;

use testkit::kubernetes::{Kubernetes, kubectl};

use crate::program::repository;

/// The objects of a directory below `deploy/kustomize`.
fn kustomized(directory: &str) -> String {
    let directory = repository("deploy/kustomize").join(directory);
    let output = kubectl().arg("kustomize").arg(directory).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).unwrap()
}

/// A server on which everything of `deploy/kustomize/self-signed` is applied, as far as Kubernetes 1.20 knows it.
fn server() -> Option<Kubernetes> {
    let server = Kubernetes::start()?;
    server.apply(&for_old_server(&kustomized("self-signed")));
    // The last right: the server sees new rights a moment after it has accepted them.
    let account = "--as=system:serviceaccount:imgcheck:imgcheck";
    let kind = "validatingwebhookconfigurations/imgcheck";
    for _ in 0..100 {
        let answer = server.kubectl(&["auth", "can-i", "patch", kind, account], "");
        if answer.stdout.starts_with(b"yes") {
            return Some(server);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the ServiceAccount has no rights")
}

/// Waits until something holds that another process has to notice.
#[cfg(feature = "gate")]
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Kubernetes 1.20 has budgets in `policy/v1beta1` only. It ignores fields that it does not know, such as `matchConditions`.
fn for_old_server(objects: &str) -> String {
    objects.replace("apiVersion: policy/v1\n", "apiVersion: policy/v1beta1\n")
}

/// A node as GPU Feature Discovery labels it; without a GPU if there is no product.
fn node(name: &str, product: &str, driver: &str) -> String {
    let labels = match (product, driver.split('.').collect::<Vec<_>>().as_slice()) {
        ("", _) => String::new(),
        (product, [major, minor, revision]) => format!(
            "nvidia.com/gpu.present: 'true', nvidia.com/gpu.product: {product}, nvidia.com/gpu.count: '8', \
             nvidia.com/cuda.driver-version.full: '{driver}', nvidia.com/cuda.driver-version.major: '{major}', \
             nvidia.com/cuda.driver-version.minor: '{minor}', nvidia.com/cuda.driver-version.revision: '{revision}', "
        ),
        _ => panic!("a driver has three numbers"),
    };
    let gpus = if product.is_empty() { 0 } else { 8 };
    format!(
        "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: {name}\n  labels: {{{labels}kubernetes.io/arch: amd64, kubernetes.io/os: linux}}\n\
         status:\n  allocatable: {{cpu: '8', nvidia.com/gpu: '{gpus}'}}\n  nodeInfo: {{architecture: amd64}}\n"
    )
}
