//! The end of `--help`: examples, and what the exit codes mean.

/// What the exit codes mean.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  nothing at or above --fail-on; with --fail-on never, errors are NOT COUNTED
  1  a finding at or above --fail-on
  2  the command line, the configuration or a rule file is wrong, or no named file exists
  3  an image was not found or could not be read completely; a failed scan is never a pass";

/// Of `imgcheck facts`.
pub const FACTS: &str = "\
Examples:
  imgcheck facts image.tar
  imgcheck facts -o facts=image.facts image.tar           save everything, to check it later
  imgcheck facts -f json pytorch-cuda:v2.9 | jq '.images[].stack[] | {name, version, path}'";

/// Of `imgcheck claims`.
pub const CLAIMS: &str = "\
Examples:
  imgcheck claims pytorch/pytorch:2.8.0-cuda11.8          was it ever published? which tags were?
  imgcheck claims $(grep -ho '^FROM [^ ]*' */Dockerfile | cut -d' ' -f2)";

/// Of `imgcheck diff`.
pub const DIFF: &str = "\
Examples:
  imgcheck diff pytorch-cuda:v2.8 pytorch-cuda:v2.9       what an update brings
  imgcheck diff registry.example/team/train:prod oci:build/image   what a deployment changes
  imgcheck diff -f json A.tar B.tar | jq '.findings.new[].rule'

The exit code is 1 when B has a finding at or above --fail-on that A does not have.";

/// Of `imgcheck serve`.
#[cfg(feature = "gate")]
pub const SERVE: &str = "\
Examples:
  imgcheck serve --tls-cert tls.crt --tls-key tls.key --config imgcheck.yaml
  imgcheck serve --insecure-http --listen 127.0.0.1:8080 --state state --tokens tokens
  curl -H 'Authorization: Bearer …' -d '{\"reference\": \"pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime\"}' http://127.0.0.1:8080/v1/check

The section `gate` of the configuration file says how the server answers. SIGHUP reloads the configuration.";

/// Of `imgcheck sweep`.
pub const SWEEP: &str = "\
Examples:
  imgcheck sweep plan registry:registry.example/team -o plan
  imgcheck sweep run plan --store file:///shared/facts
  imgcheck sweep judge plan --store file:///shared/facts -o html=fleet.html --gpu h100 --driver 570.124.06";

/// Of `imgcheck sweep plan`.
pub const SWEEP_PLAN: &str = "\
Examples:
  imgcheck sweep plan registry:registry.example/team --tag 'v2.*' -o plan
  GITLAB_TOKEN=… imgcheck sweep plan gitlab:gitlab.example/team -o plan
  imgcheck sweep plan cluster: --store s3://bucket/facts -o plan
  kubectl get pods -A -o json | imgcheck sweep plan pods:- -o plan

The exit code is 3 if a list is incomplete (run it again with --resume plan), if a listed image is missing, and if there is no image.";

/// Of `imgcheck sweep run`.
pub const SWEEP_RUN: &str = "\
Examples:
  imgcheck sweep run plan --store file:///shared/facts
  imgcheck sweep run plan --store s3://bucket/facts --store-key key --shard 2/8
  imgcheck sweep manifests --engine github --shards 8 --store s3://bucket/facts

Shards may overlap, die and be repeated. The exit code is 3 if an image could not be read; the run reads the others anyway.";

/// Of `imgcheck sweep judge`.
pub const SWEEP_JUDGE: &str = "\
Examples:
  imgcheck sweep judge plan --store s3://bucket/facts -o html=fleet.html -o jsonl=fleet.jsonl
  imgcheck sweep judge plan --store s3://bucket/facts --nodes nodes.json
  imgcheck sweep judge plan --store s3://bucket/facts --driver 535.183.06 --against driver=580.65.06

The exit code is 3 if an image could not be listed, read or judged, otherwise 1 if one fails, otherwise 0.";

/// Of `imgcheck sweep manifests`.
pub const SWEEP_MANIFESTS: &str = "\
Examples:
  imgcheck sweep manifests --engine kubernetes --shards 8 --store s3://bucket/facts --image registry.example/tools/imgcheck:0.1.0 > job.yaml
  imgcheck sweep manifests --engine slurm --shards 8 --store file:///shared/facts > sweep.sbatch
  imgcheck sweep manifests --engine github --shards 8 --store s3://bucket/facts > .github/workflows/sweep.yml";

/// Of `imgcheck attest`.
pub const ATTEST: &str = "\
Examples:
  imgcheck attest registry.example/team/train:v1 --key key.pem
  imgcheck attest registry.example/team/train:v1 --sign-with 'openssl dgst -sha256 -sign key.pem' --key key.pub
  imgcheck attest oci:build/image --as registry.example/team/train:v1 --key key.pem --output bundles.jsonl

Make a key pair:
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem
  openssl pkey -in key.pem -pubout -out key.pub

The exit code is that of `imgcheck check`. imgcheck attests a failing verdict, too.";

/// Of `imgcheck verify`.
pub const VERIFY: &str = "\
Examples:
  imgcheck verify registry.example/team/train:v1 --key key.pub
  imgcheck verify registry.example/team/train:v1 --key key.pub --max-age 30 --gpu h100 --driver 570.124.06
  imgcheck verify registry.example/team/train:v1 --key key.pub --sample 2

Exit codes:
  0  a signature is valid, and the image passes today's rules
  1  a signature is invalid, or the image fails
  2  the command line, the configuration or a rule file is wrong
  3  the image has no attestation, the attestation could not be read, or not everything could be judged";

/// Of `imgcheck tree`.
pub const TREE: &str = "\
Examples:
  imgcheck tree image.tar                                 everything the image's process loads
  imgcheck tree image.tar libcudnn                        why this cuDNN, and which other copies exist
  imgcheck tree -f dot image.tar | dot -Tsvg > loader.svg";

/// Of `imgcheck size`.
pub const SIZE: &str = "\
Examples:
  imgcheck size image.tar
  imgcheck size --gpu h100 pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime   and GPU code that it cannot select
  imgcheck size -f json image.tar | jq '.images[].causes[] | {cause, bytes}'";

/// Of `imgcheck requirements`.
pub const REQUIREMENTS: &str = "\
Examples:
  imgcheck requirements image.tar
  imgcheck requirements -f kubernetes registry.example/team/train:v3      the node affinity of its Pods";

/// Of `imgcheck explain`.
pub const EXPLAIN: &str = "\
Examples:
  imgcheck explain claim-torch-version
  imgcheck explain launch-not-understood                  the code of a gap";

/// Of `imgcheck init`.
pub const INIT: &str = "\
Examples:
  imgcheck init
  imgcheck init --ci github                               in a repository without .github
  imgcheck init --stdout                                  show what it would write";

/// Of `imgcheck rules`.
pub const RULES: &str = "\
Examples:
  imgcheck rules list
  imgcheck rules list --rules ci/rules
  imgcheck rules show torch-cudnn-runtime
  imgcheck rules new team-python --directory ci/rules
  imgcheck rules test ci/rules                            run the tests of your own rules";

/// Of `imgcheck cache`.
pub const CACHE: &str = "\
Examples:
  imgcheck cache info
  imgcheck cache clean";

/// Of `imgcheck knowledge`.
pub const KNOWLEDGE: &str = "\
Examples:
  imgcheck knowledge status
  imgcheck knowledge status -f json";

/// Of `imgcheck completions`.
pub const COMPLETIONS: &str = "\
Examples:
  imgcheck completions bash > /etc/bash_completion.d/imgcheck
  imgcheck completions zsh > ~/.zfunc/_imgcheck
  imgcheck completions fish > ~/.config/fish/completions/imgcheck.fish";

/// Of `imgcheck -h`, which does not list the options of a check.
pub const PROGRAM_SHORT: &str = "\
Examples:
  imgcheck pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime
  imgcheck --gpu h100,rtx4090 --driver 535.183.06 image.tar
  imgcheck check -h                                       options of a check";

/// Of `imgcheck check -h`.
pub const CHECK_SHORT: &str = "\
Examples:
  imgcheck pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime
  imgcheck --gpu h100,rtx4090 --driver 535.183.06 image.tar";

/// Of `imgcheck` and `imgcheck check`.
pub const CHECK: &str = "\
Examples:
  imgcheck pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime
  docker save pytorch-cuda:v2.9 | imgcheck -
  imgcheck --expect 'torch==2.8.*' --expect 'cudnn>=9.7' --fail-on warning image.tar
  imgcheck --gpu h100,rtx4090 --driver 535.183.06 pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime
  imgcheck --as registry.example/pytorch-cuda:v2.9 oci:build/image
  imgcheck claims pytorch/pytorch:2.8.0-cuda11.8
  imgcheck tree image.tar libcudnn
  imgcheck diff pytorch-cuda:v2.8 pytorch-cuda:v2.9";

/// Of `imgcheck lint`.
pub const LINT: &str = "\
Examples:
  imgcheck lint Dockerfile
  imgcheck lint Dockerfile requirements.txt environment.yml pyproject.toml
  imgcheck lint .
  imgcheck lint --kind dockerfile - < build/gpu.template
  imgcheck lint -f json --fail-on warning docker/";

/// What the exit codes of `imgcheck lint` mean.
pub const LINT_EXIT_CODES: &str = "\
Exit codes:
  0  nothing at or above --fail-on
  1  a finding at or above --fail-on
  2  the command line, the configuration or a rule file is wrong, or a file does not exist or cannot be parsed
  3  a file could not be read";

/// Of `imgcheck preflight`.
pub const PREFLIGHT: &str = "\
Examples:
  imgcheck preflight deploy.yaml
  helm template train ./chart | imgcheck preflight -
  kubectl kustomize overlays/prod | imgcheck preflight --cluster prod -
  kubectl get nodes -o json > nodes.json; imgcheck preflight --nodes nodes.json deploy.yaml
  imgcheck preflight --images built.yaml -f sarif -o preflight.sarif deploy/";

/// What the exit codes of `imgcheck preflight` mean.
pub const PREFLIGHT_EXIT_CODES: &str = "\
Exit codes:
  0  nothing at or above --fail-on
  1  a finding at or above --fail-on, such as a GPU container that runs on no node it can land on
  2  the command line, the configuration or a file is wrong
  3  an image could not be read or judged, which is never a pass";
