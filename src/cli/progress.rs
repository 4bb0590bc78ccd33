//! Progress on standard error: a bar for each image on a terminal, a line every ten seconds elsewhere.

use std::io::{IsTerminal, stderr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::{self, one_line};
use imgcheck::Progress;

/// Time between two lines where there is no terminal.
const INTERVAL: Duration = Duration::from_secs(10);

/// Shows the progress of images that are read at the same time.
pub struct Display {
    bars: MultiProgress,
    /// Whether lines are printed instead of bars.
    lines: bool,
    is_hidden: bool,
}

/// Shows the progress of one request: of one image after the other.
struct Report {
    bar: ProgressBar,
    lines: bool,
    is_hidden: bool,
    state: Mutex<State>,
}

struct State {
    image: String,
    layers: usize,
    done: usize,
    /// When a line was printed last.
    printed: Instant,
}

/// Progress as standard error can show it.
pub fn display(hidden: bool) -> Display {
    let target = if hidden {
        ProgressDrawTarget::hidden()
    } else {
        // Draws nothing if it is not a terminal, but counts.
        ProgressDrawTarget::stderr()
    };
    Display {
        bars: MultiProgress::with_draw_target(target),
        lines: !hidden && !stderr().is_terminal(),
        is_hidden: hidden,
    }
}

impl Display {
    /// Shows the progress of one more request.
    pub fn request(&self) -> Arc<dyn Progress> {
        Arc::new(Report {
            bar: self.bars.add(ProgressBar::no_length()),
            lines: self.lines,
            is_hidden: self.is_hidden,
            state: Mutex::new(State {
                image: String::new(),
                layers: 0,
                done: 0,
                printed: Instant::now(),
            }),
        })
    }

    /// The bars, so that another thread can remove them.
    pub fn bars(&self) -> MultiProgress {
        self.bars.clone()
    }
}

impl Report {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, state: &State) {
        self.bar
            .set_message(format!("{}, {}", state.image, state.of_layers()));
    }

    fn print_line(&self, state: &mut State) {
        state.printed = Instant::now();
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
    /// The number of layers of a streamed archive is unknown in advance.
    fn of_layers(&self) -> String {
        match self.layers {
            0 => format!("{} layers", self.done),
            layers => format!("{} of {layers} layers", self.done),
        }
    }
}

/// The bar for this many bytes; 0 if unknown.
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
            printed: Instant::now(),
        };
        self.bar.reset();
        self.bar.set_style(style(bytes));
        self.bar.set_length(bytes);
        self.show(&state);
        // The tick starts a thread.
        if !self.bar.is_hidden() {
            self.bar.enable_steady_tick(Duration::from_millis(200));
        }
    }

    fn advance(&self, bytes: u64) {
        self.bar.inc(bytes);
        if self.lines {
            let mut state = self.state();
            if state.printed.elapsed() >= INTERVAL {
                self.print_line(&mut state);
            }
        }
    }

    fn layer(&self) {
        let mut state = self.state();
        state.done += 1;
        self.show(&state);
    }

    fn note(&self, text: &str) {
        if self.is_hidden {
            return;
        }
        let text = format!("note: {}\n", one_line(text));
        self.bar.suspend(|| output::remark(&text));
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
