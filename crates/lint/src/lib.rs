//! What files ask for before an image is built or a workload starts: Dockerfiles, requirements and projects in [`lint`], manifests in
//! [`workload`].

pub mod lint;
pub mod workload;
