//! A bar on the terminal for work that takes long; nothing where there is no terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::pipeline::Progress;

/// A bar for the bytes of the layers of one image after the other.
pub struct Bar(ProgressBar);

/// The bar, hidden when it is not wanted; indicatif hides it itself where the standard error stream is no terminal.
pub fn bar(hidden: bool) -> Bar {
    let target = if hidden {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(None, target);
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {bytes}/{total_bytes} {eta}") {
        bar.set_style(style);
    }
    Bar(bar)
}

impl Progress for Bar {
    fn image(&self, name: &str, bytes: u64) {
        self.0.reset();
        self.0.set_length(bytes);
        self.0.set_message(crate::report::printable(name));
        self.0.enable_steady_tick(Duration::from_millis(200));
    }

    fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    fn finish(&self) {
        self.0.finish_and_clear();
    }
}
