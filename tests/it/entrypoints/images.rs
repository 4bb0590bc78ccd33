//! Entrypoints of the forms that widely used images have, written for these tests: what they do and by which means of the shell follows
//! the published scripts, which each case names.

mod aws;
mod conda;
mod jupyter;
mod ngc;
mod runpod;
mod serving;
mod tools;

use serde_json::Value;

/// An image with an entrypoint.
pub struct Case {
    pub name: &'static str,
    /// `config` of the image configuration.
    pub config: Value,
    /// Executable scripts and texts, by their paths.
    pub files: Vec<(&'static str, &'static str)>,
    /// Programs that are not scripts, besides those of a distribution.
    pub programs: Vec<&'static str>,
    /// The program that runs, with its arguments.
    pub starts: Vec<&'static str>,
    /// Variables that it gets, and that the image configuration does not set so; empty for those that it does not get.
    pub environment: Vec<(&'static str, &'static str)>,
    /// A file that makes the start do something else than it seems, and a variable or program that the gap names.
    pub hostile: (&'static str, &'static str, &'static str),
}

const PYTHON: [&str; 2] = ["python3", "serve.py"];

pub fn all() -> Vec<Case> {
    vec![
        ngc::ngc(),
        jupyter::jupyter(),
        runpod::runpod(),
        aws::aws_training(),
        aws::aws_inference(),
        serving::tgi(),
        serving::vllm(),
        serving::vllm_module(),
        conda::micromamba(),
        conda::conda_hook(),
        conda::conda_profile(),
        conda::conda_run(),
        conda::source_activate(),
        tools::poetry(),
        tools::pipenv(),
        tools::sudo(),
    ]
}

const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\njovyan:x:1000:100::/home/jovyan:/bin/bash\napp:x:1001:1001::/home/app:/bin/sh\n";
