//! What long work tells while it goes on: a bar on a terminal, now and then a line elsewhere, nothing where it is not wanted.

use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output;
use imgcheck::internals::checker::Progress;
use imgcheck::internals::report::one_line;

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
        self.bar
            .set_message(format!("{}, {}", state.image, state.of_layers()));
    }

    fn tell(&self, state: &mut State) {
        state.told = Instant::now();
        let total = self.bar.length().filter(|bytes| *bytes > 0);
        output::remark(&format!(
            "{}: {}{}, {}\n",
            state.image,
            HumanBytes(self.bar.position()),
            total.map_or_else(String::new, |bytes| format!(" of {}", HumanBytes(bytes))),
            state.of_layers()
        ));
    }
}

impl State {
    /// Of what goes by it is not known how many there will be.
    fn of_layers(&self) -> String {
        match self.layers {
            0 => format!("{} layers", self.done),
            layers => format!("{} of {layers} layers", self.done),
        }
    }
}

/// The bar for so many bytes; 0 are unknown.
fn style(bytes: u64) -> ProgressStyle {
    let template = match bytes {
        0 => "{msg} {spinner} {bytes}",
        _ => "{msg} {bar:30} {bytes}/{total_bytes} {eta}",
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Progress for Report {
    fn image(&self, name: &str, layers: usize, bytes: u64) {
        let mut state = self.state();
        *state = State {
            image: one_line(name),
            layers,
            done: 0,
            told: Instant::now(),
        };
        self.bar.reset();
        self.bar.set_style(style(bytes));
        self.bar.set_length(bytes);
        self.show(&state);
        // The tick is a thread of its own.
        if !self.bar.is_hidden() {
            self.bar.enable_steady_tick(Duration::from_millis(200));
        }
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

    fn note(&self, text: &str) {
        let text = format!("note: {}\n", one_line(text));
        self.bar.suspend(|| output::remark(&text));
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
