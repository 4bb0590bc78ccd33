//! `imgcheck preflight`: check what manifests deploy.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use imgcheck::{
    Checker, Connection, ContainerReport, Error, ImageRequest, PreflightRequest, Verdict,
};

use super::formats::{self, CheckFormat};
use super::images::{ReadingArguments, finish, finish_reading};
use super::interrupt::Stop;
use super::output::OutputArguments;
use super::policy::{ImagePolicyArguments, NOT_JUDGED, WriteBaselineArgument};
use super::view::ViewArguments;

/// Arguments of `imgcheck preflight`.
#[derive(Debug, Args)]
pub struct PreflightArguments {
    /// Kubernetes manifests (YAML or JSON, any number of documents), Docker Compose files, and shell or batch scripts; a directory,
    /// for the *.yaml, *.yml and *.json manifests in it; or - for standard input
    ///
    /// imgcheck judges every container, including init, sidecar and ephemeral containers. Render charts and overlays first, and pipe in
    /// the output of `helm template …` or `kubectl kustomize …`.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Where to find images: a YAML file with lines `reference: SOURCE`, where SOURCE is anything that `imgcheck check` accepts, such
    /// as oci:build/image. imgcheck looks up other images by reference
    #[arg(long, value_name = "FILE", env = "IMGCHECK_IMAGES")]
    images: Option<PathBuf>,
    /// Nodes of the cluster: output of `kubectl get nodes -o json`, or `nodes,resourceslices` in a cluster with dynamic
    /// resource allocation; repeatable
    #[arg(
        long,
        value_name = "FILE",
        env = "IMGCHECK_NODES",
        value_delimiter = ':'
    )]
    nodes: Vec<PathBuf>,
    /// Cluster in the configuration whose node classes to use [default: the only one]
    #[arg(
        long,
        value_name = "NAME",
        env = "IMGCHECK_CLUSTER",
        conflicts_with = "nodes"
    )]
    cluster: Option<String>,
    /// Ask the API server in this kubeconfig for nodes, ResourceSlices, runtime classes, queues and runtimes
    #[arg(
        long,
        value_name = "FILE",
        env = "IMGCHECK_KUBECONFIG",
        conflicts_with_all = ["nodes", "cluster"]
    )]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: the current one]. Without --kubeconfig, imgcheck reads the files of kubectl: KUBECONFIG, or
    /// ~/.kube/config
    #[arg(
        long,
        value_name = "NAME",
        env = "IMGCHECK_CONTEXT",
        conflicts_with_all = ["nodes", "cluster"]
    )]
    context: Option<String>,
    #[command(flatten)]
    reading: ReadingArguments,
    #[command(flatten)]
    policy: ImagePolicyArguments,
    #[command(flatten)]
    write_baseline: WriteBaselineArgument,
    #[command(flatten)]
    view: ViewArguments,
    #[command(flatten)]
    output: OutputArguments<CheckFormat>,
}

/// Judges every container. The exit code is 1 if one fails, and 3 if an image could not be read or judged; the others are reported anyway.
pub fn run(arguments: &PreflightArguments) -> Result<ExitCode, Stop> {
    let (reading, policy) = (&arguments.reading, &arguments.policy);
    let files = arguments.files.iter();
    let inputs = files.chain(&arguments.images).chain(&arguments.nodes);
    let inputs: Vec<_> = inputs
        .map(|file| ImageRequest::new(file.display().to_string()))
        .collect();
    arguments.output.validate(&inputs)?;
    if reading.names_one_image() {
        let problem = "--as and --all-platforms are for single images";
        let help = "name the sources of images with --images; the platforms follow from the nodes";
        return Err(Error::usage(problem).with_help(help).into());
    }
    if policy.names_targets() && arguments.names_nodes() {
        let problem = "--gpu and --driver are for images whose nodes are unknown";
        let help = "leave them out, or leave out --nodes, --cluster, --kubeconfig and --context";
        return Err(Error::usage(problem).with_help(help).into());
    }
    let checker = Checker::builder().loader_trees(arguments.output.includes(CheckFormat::Html));
    let checker = policy.apply(reading.apply(checker)?)?;
    let checker = arguments.write_baseline.apply(checker);
    let (checker, run, make) = reading.begin(checker, arguments.view.is_quiet())?;
    let report = checker.preflight(&arguments.request().reading(make));
    finish_reading(&checker, &run)?;
    let report = report?;
    formats::write(&arguments.output, &arguments.view, &report)?;
    let baseline = || Ok((report.baseline()?, report.baseline_length()));
    arguments.write_baseline.write(
        report.errors.is_empty(),
        arguments.view.is_quiet(),
        baseline,
    )?;
    let containers = report.workloads.iter().flat_map(|it| &it.containers);
    let is_incomplete = |it: &ContainerReport| match &it.judged {
        Some(image) => image.verdict == Verdict::Incomplete,
        None => true,
    };
    let is_unknown = report
        .workloads
        .iter()
        .any(|it| it.verdict == Verdict::Incomplete);
    let code = match report.verdict() {
        _ if is_unknown => NOT_JUDGED,
        _ if containers.into_iter().any(is_incomplete) => NOT_JUDGED,
        Verdict::Fail => 1,
        _ => 0,
    };
    Ok(finish(&report, code))
}

impl PreflightArguments {
    fn names_nodes(&self) -> bool {
        let names = [&self.cluster, &self.context];
        !self.nodes.is_empty() || self.kubeconfig.is_some() || names.iter().any(|it| it.is_some())
    }

    fn request(&self) -> PreflightRequest {
        let mut request = PreflightRequest::new(&self.files);
        if self.policy.names_targets() {
            request = request.without_clusters();
        }
        if let Some(images) = &self.images {
            request = request.images_file(images);
        }
        if let Some(cluster) = &self.cluster {
            request = request.cluster(cluster);
        }
        if let Some(connection) = Connection::named(self.kubeconfig.clone(), self.context.clone()) {
            request = request.connection(connection);
        }
        self.nodes.iter().fold(request, PreflightRequest::nodes)
    }
}
