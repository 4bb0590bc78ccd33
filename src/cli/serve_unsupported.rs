//! `imgcheck serve` of a program that was built without the feature `gate`.

use std::process::ExitCode;

use clap::Args;
use imgcheck::Error;

use super::interrupt::Stop;

/// What its help says.
pub const ABSENT: &str = "This imgcheck was built without `serve`";

/// How to get it.
pub const HELP: &str = match cfg!(unix) {
    true => {
        "build it with `cargo install --locked --profile dist --features gate,kube,object-storage,otel,parquet --path .`"
    }
    false => "run it on Linux or macOS: it needs Unix",
};

/// Arguments of `imgcheck serve`, whatever they are.
#[derive(Debug, Clone, Args)]
pub struct ServeArguments {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Says how to get it.
pub fn run(_: &ServeArguments) -> Result<ExitCode, Stop> {
    let error = Error::usage("this imgcheck was built without `serve`");
    Err(error.with_help(HELP).into())
}
