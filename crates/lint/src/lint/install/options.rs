//! Options of the programs that are read.

/// Options of pip and uv with a value.
pub const PIP_VALUES: &[&str] = &[
    "--abi",
    "--build-constraint",
    "--build-option",
    "--cache-dir",
    "--cert",
    "--client-cert",
    "--config-setting",
    "--config-settings",
    "--exclude-newer",
    "--exclude-newer-package",
    "--exists-action",
    "--extra",
    "--global-option",
    "--group",
    "--implementation",
    "--install-option",
    "--keyring-provider",
    "--link-mode",
    "--log",
    "--no-binary",
    "--no-build-isolation-package",
    "--only-binary",
    "--override",
    "--platform",
    "--prerelease",
    "--progress-bar",
    "--proxy",
    "--python-platform",
    "--python-version",
    "--refresh-package",
    "--reinstall-package",
    "--report",
    "--resolution",
    "--retries",
    "--src",
    "--timeout",
    "--trusted-host",
    "--upgrade-package",
    "--upgrade-strategy",
    "--uploaded-prior-to",
    "--use-feature",
    "-C",
    "-P",
    "-e",
    "--editable",
    "--overrides",
];

/// Options of pip and uv whose value is for the build.
pub const BUILD_OPTIONS: &[&str] = &[
    "--build-option",
    "--config-setting",
    "--config-settings",
    "--global-option",
    "--install-option",
    "-C",
];

/// Options that set the place of installation.
pub const PLACES: &[&str] = &["--prefix", "--python", "--root", "--target", "-p", "-t"];

/// Options of pip and uv that replace installed packages.
pub const UPGRADES: &[&str] = &[
    "--force-reinstall",
    "--ignore-installed",
    "--reinstall",
    "--upgrade",
    "-I",
    "-U",
];

/// Options of conda with a value.
pub const CONDA_VALUES: &[&str] = &[
    "--solver",
    "--experimental-solver",
    "--revision",
    "--repodata-fn",
    "-k",
    "--freeze",
];

/// Options of conda that name an environment.
pub const ENVIRONMENTS: &[&str] = &["--name", "--prefix", "-n", "-p"];

/// Options of `conda run` and `micromamba run` with a value.
pub const RUN_VALUES: &[&str] = &[
    "--name",
    "--prefix",
    "-n",
    "-p",
    "--attach",
    "--cwd",
    "--env",
    "--label",
    "--root-prefix",
    "-a",
    "-e",
    "-r",
];
