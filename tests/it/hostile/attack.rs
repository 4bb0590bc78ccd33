//! One hostile image, and its expected result.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A run that takes longer counts as endless.
const NEVER: Duration = Duration::from_secs(300);
/// Maximum memory for any image, in KiB; the book lists the use of the release build.
const MEMORY: u64 = 600 << 10;

/// A hostile image.
pub struct Attack {
    /// Its name in the table: words with dashes.
    pub name: &'static str,
    /// The image, as a phrase for the table.
    pub holds: &'static str,
    /// The expected result.
    pub outcome: Outcome,
    /// Builds the image in an empty directory and returns the arguments of the program. The directory is also the working directory.
    pub make: fn(&Path) -> Vec<String>,
}

/// The result for an image.
pub enum Outcome {
    /// Exit code 3, and standard error has these words.
    Refused(&'static str),
    /// Exit code 2, and standard error has these words: files that the user wrote.
    Misuse(&'static str),
    /// The image is read: exit code 0, 1, or 3 because not all of it was judged, and the JSON report, which [`Attack::make`] must
    /// request, passes the check. The text is for the table.
    Read(&'static str, fn(&Value)),
    /// The image is read, and the output passes the check. The text is for the table.
    Printed(&'static str, fn(&str)),
}

/// The result of a run.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub output: String,
    pub error: String,
    pub elapsed: Duration,
    /// User and system time of all threads.
    pub processor: Duration,
    /// Peak memory in KiB.
    pub memory: u64,
}

impl Outcome {
    /// The text in the table.
    pub fn words(&self) -> String {
        match self {
            Outcome::Refused(words) => format!("exit 3: {words}"),
            Outcome::Misuse(words) => format!("exit 2: {words}"),
            Outcome::Read(words, _) | Outcome::Printed(words, _) => (*words).to_owned(),
        }
    }
}

/// Runs attacks, and fails with a list of all faults.
pub fn try_all(attacks: &[Attack]) {
    let wrong: Vec<String> = attacks
        .iter()
        .filter_map(|attack| attack.attempt().err())
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

impl Attack {
    fn attempt(&self) -> Result<(), String> {
        let scratch = tempfile::tempdir().unwrap();
        let arguments = (self.make)(scratch.path());
        let before = files(scratch.path());
        let run = imgcheck(scratch.path(), &arguments);
        let mut verdict = std::panic::catch_unwind(|| self.check(&run))
            .unwrap_or_else(|_| Err("see above".to_owned()));
        if files(scratch.path()) != before {
            verdict = Err("something was written".to_owned());
        }
        super::table::note(self, &run);
        verdict.map_err(|problem| {
            format!(
                "{}: {problem}\n{}\n{}",
                self.name,
                run.error,
                first(&run.output)
            )
        })
    }

    fn check(&self, run: &Run) -> Result<(), String> {
        let says = |words: &str| match run.error.contains(words) {
            true => Ok(()),
            false => Err(format!("no word of `{words}`")),
        };
        if run.error.contains("panicked") {
            return Err("a panic".to_owned());
        }
        if run.error.chars().any(moves_the_terminal) {
            return Err(format!("a control character in {:?}", run.error));
        }
        if run.memory > MEMORY {
            return Err(format!("{} KiB of memory", run.memory));
        }
        match (&self.outcome, run.code) {
            (Outcome::Refused(words), Some(3)) | (Outcome::Misuse(words), Some(2)) => says(words),
            (Outcome::Read(_, check), Some(code @ (0 | 1 | 3))) => {
                let report: Value =
                    serde_json::from_str(&run.output).map_err(|error| error.to_string())?;
                let is_incomplete = report["images"][0]["verdict"] == "incomplete";
                if is_incomplete != (code == 3) {
                    return Err(format!("exit code {code}"));
                }
                check(&report);
                Ok(())
            }
            (Outcome::Printed(_, check), Some(0 | 1)) => {
                check(&run.output);
                Ok(())
            }
            (_, code) => Err(format!("exit code {code:?}")),
        }
    }
}

/// Whether a terminal interprets a character instead of showing it (Unicode Standard Annex 9, "Directional Formatting Characters").
fn moves_the_terminal(character: char) -> bool {
    let directs = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    directs || character.is_control() && character != '\n'
}

/// The files below a directory, with their lengths.
fn files(directory: &Path) -> Vec<(PathBuf, u64)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let mut files = Vec::new();
    for entry in entries {
        let metadata = entry.metadata().unwrap();
        match metadata.is_dir() {
            true => files.extend(self::files(&entry.path())),
            false => files.push((entry.path(), metadata.len())),
        }
    }
    files.sort();
    files
}

fn first(text: &str) -> String {
    text.chars().take(2000).collect()
}

/// Runs the program in a directory, whose subdirectory `cache` is its cache if arguments name it.
pub fn imgcheck(directory: &Path, arguments: &[String]) -> Run {
    let started = Instant::now();
    let mut child = command(directory).args(arguments).spawn().unwrap();
    let output = drain(child.stdout.take().unwrap());
    let error = drain(child.stderr.take().unwrap());
    let (code, used) = wait(&mut child, started);
    Run {
        code,
        output: output.join().unwrap(),
        error: error.join().unwrap(),
        elapsed: started.elapsed(),
        processor: used.processor,
        memory: used.memory,
    }
}

/// The program, without what the tests' own environment would tell it.
pub fn command(directory: &Path) -> Command {
    let program = std::env::var_os("IMGCHECK_PROGRAM").map_or_else(
        || PathBuf::from(env!("CARGO_BIN_EXE_imgcheck")),
        PathBuf::from,
    );
    let mut command = Command::new(program);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("IMGCHECK_")) {
        command.env_remove(name);
    }
    command
        .env("IMGCHECK_NO_CACHE", "true")
        .env("IMGCHECK_NO_CONFIG", "true")
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn drain(mut stream: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// What a process used up to some moment.
#[derive(Clone, Copy, Default)]
struct Used {
    processor: Duration,
    /// KiB.
    memory: u64,
}

/// Waits, and watches what is used: the kernel keeps the sum and the peak, so that only what comes after the last look is missed.
fn wait(child: &mut Child, started: Instant) -> (Option<i32>, Used) {
    let mut used = Used::default();
    loop {
        used.memory = used.memory.max(peak(child.id()));
        used.processor = used.processor.max(processor(child.id()));
        if let Some(status) = child.try_wait().unwrap() {
            return (status.code(), used);
        }
        if started.elapsed() > NEVER {
            child.kill().unwrap();
            child.wait().unwrap();
            return (None, used);
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// `VmHWM` of a process in KiB (`proc_pid_status(5)`).
fn peak(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok())
        .unwrap_or(0)
}

/// `utime` and `stime` of a process (`proc_pid_stat(5)`), in ticks of 10 ms, counted behind its name, which may have blanks.
fn processor(process: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let times = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = times.map(|it| it.parse::<u64>().unwrap()).sum();
    Duration::from_millis(10 * ticks)
}
