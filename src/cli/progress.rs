//! What long work tells while it goes on: a bar on a terminal, now and then a line elsewhere, nothing where it is not wanted.

use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output;
use crate::pipeline::Progress;

/// Where there is no terminal: how long nothing is said, at first and between two lines.
const QUIET: Duration = Duration::from_secs(10);

/// Progress of one image after the other, on the standard error stream.
pub struct Report {
    bar: ProgressBar,
    /// Whether lines are written in place of a bar.
    lines: bool,
    state: Mutex<State>,
}

struct State {
    image: String,
    layers: usize,
    done: usize,
    /// When something was told last.
    told: Instant,
}

/// Progress as the standard error stream can show it.
pub fn report(hidden: bool) -> Report {
    let target = if hidden {
        ProgressDrawTarget::hidden()
    } else {
        // It draws nothing where the stream is no terminal, and counts all the same.
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(None, target);
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {bytes}/{total_bytes} {eta}") {
        bar.set_style(style);
    }
    Report {
        bar,
        lines: !hidden && !stderr().is_terminal(),
        state: Mutex::new(State {
            image: String::new(),
            layers: 0,
            done: 0,
            told: Instant::now(),
        }),
    }
}

impl Report {
    /// The bar itself, to be taken away from elsewhere.
    pub fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, state: &State) {
        self.bar.set_message(format!(
            "{}, {} of {} layers",
            state.image, state.done, state.layers
        ));
    }

    fn tell(&self, state: &mut State) {
        state.told = Instant::now();
        output::remark(&format!(
            "{}: {} of {}, {} of {} layers\n",
            state.image,
            HumanBytes(self.bar.position()),
            HumanBytes(self.bar.length().unwrap_or_default()),
            state.done,
            state.layers
        ));
    }
}

impl Progress for Report {
    fn image(&self, name: &str, layers: usize, bytes: u64) {
        let mut state = self.state();
        *state = State {
            image: crate::report::printable(name),
            layers,
            done: 0,
            told: Instant::now(),
        };
        self.bar.reset();
        self.bar.set_length(bytes);
        self.show(&state);
        self.bar.enable_steady_tick(Duration::from_millis(200));
    }

    fn advance(&self, bytes: u64) {
        self.bar.inc(bytes);
        if self.lines {
            let mut state = self.state();
            if state.told.elapsed() >= QUIET {
                self.tell(&mut state);
            }
        }
    }

    fn layer(&self) {
        let mut state = self.state();
        state.done += 1;
        self.show(&state);
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
