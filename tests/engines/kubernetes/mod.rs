//! A real API server: what imgcheck reads of a cluster. The server is built once by `testdata/recipes/kube_apiserver.sh`.

mod live;
mod watched;

use testkit::kubernetes::Kubernetes;

/// The rights that `deploy/kustomize` gives, and no others.
const RIGHTS: &str = include_str!("../../../deploy/kustomize/rbac.yaml");
const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: imgcheck}\n";

/// A server on which the ServiceAccount `imgcheck` has its rights.
fn server() -> Option<Kubernetes> {
    let server = Kubernetes::start()?;
    server.apply(NAMESPACE);
    server.apply(&RIGHTS.replace(
        "name: imgcheck\n---",
        "name: imgcheck\n  namespace: imgcheck\n---",
    ));
    Some(server)
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
