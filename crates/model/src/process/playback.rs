//! A simulated process: why each object was loaded, and what failed.

use super::cause::{When, Without};
use super::facts::Tried;
use imgcheck_base::error::Result;
use imgcheck_loader::{Failure, Fault, Object, ObjectId, OpenMode, Process};

/// For which package, and when, a process loads something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cause {
    /// The package; empty at program start.
    pub package: String,
    /// When.
    pub when: When,
    /// The program continues if loading fails.
    pub optional: bool,
    /// Same as [`super::facts::FaultContext::without`].
    pub without: Without,
}

/// A library of the host's driver that an object opens at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverRequest {
    /// For which package, and when.
    pub cause: Cause,
    /// The object that calls dlopen.
    pub opener: ObjectId,
    /// The requested name.
    pub library: String,
}

/// Something that could not be loaded.
#[derive(Debug)]
pub struct LoadFailure<'s> {
    /// For which package, and when.
    pub cause: Cause,
    /// Path of the object that calls dlopen; empty if Python does, and at program start.
    pub opener: String,
    /// The program continues.
    pub optional: bool,
    /// What the program prints instead of the loader's message.
    pub shown: String,
    /// Same as [`super::facts::FaultContext::without`].
    pub without: Without,
    /// Same as [`super::facts::FaultContext::breaks`].
    pub breaks: String,
    /// Names that the program tried as well.
    pub alternatives: Vec<String>,
    /// Same as [`super::facts::FaultContext::tried`].
    pub tried: Vec<Tried>,
    /// What Python reports about a module that is not there; empty if the loader reports the failure.
    pub report: String,
    /// The name that the program requested from dlopen; empty at program start.
    pub request: String,
    /// What the loader reports, and what it had mapped.
    pub failure: Failure<'s>,
}

impl<'s> LoadFailure<'s> {
    /// A failure about which nothing but its cause is known.
    pub(super) fn new(cause: Cause, request: &str, failure: Failure<'s>) -> Self {
        LoadFailure {
            optional: cause.optional,
            without: cause.without,
            cause,
            opener: String::new(),
            shown: String::new(),
            breaks: String::new(),
            alternatives: Vec::new(),
            tried: Vec::new(),
            report: String::new(),
            request: request.to_owned(),
            failure,
        }
    }

    /// The failure of an import that finds no file; `report` is what Python says.
    pub(super) fn absent(cause: Cause, module: &str, report: String) -> Self {
        let fault = Fault::Missing {
            name: module.to_owned(),
            needed_by: None,
            searched: Vec::new(),
        };
        let failure = Failure {
            faults: vec![fault],
            discarded: Vec::new(),
            first_discarded: 0,
        };
        LoadFailure {
            report,
            ..LoadFailure::new(cause, module, failure)
        }
    }
}

/// The state of a simulated process.
pub struct Playback<'s> {
    /// `None` if the program does not start.
    pub process: Option<Process<'s>>,
    /// Why each object was loaded, in load order.
    pub causes: Vec<Cause>,
    /// What failed, in order.
    pub failures: Vec<LoadFailure<'s>>,
    /// Same as [`super::facts::LoaderFacts::missing_on_gpus`].
    pub gpu_failures: Vec<LoadFailure<'s>>,
    /// Libraries of the host's driver that are opened at run time.
    pub driver: Vec<DriverRequest>,
    /// Undefined functions that are only bound when they are called.
    pub undefined_calls: Vec<Fault>,
}

/// The arguments of a dlopen.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenRequest<'a> {
    pub name: &'a str,
    /// The object that calls dlopen.
    pub caller: ObjectId,
    pub mode: OpenMode,
}

impl<'s> Playback<'s> {
    /// A program that was started.
    pub(super) fn new(started: Result<Process<'s>, Failure<'s>>) -> Self {
        let cause = Cause {
            when: When::Start,
            ..Cause::default()
        };
        let mut playback = Playback {
            process: None,
            causes: Vec::new(),
            failures: Vec::new(),
            gpu_failures: Vec::new(),
            driver: Vec::new(),
            undefined_calls: Vec::new(),
        };
        match started {
            Ok(process) => {
                playback.process = Some(process);
                playback.note(&cause);
            }
            Err(failure) => playback.failures.push(LoadFailure::new(cause, "", failure)),
        }
        playback
    }

    /// The mapped objects in load order.
    pub fn objects(&self) -> &[Object<'s>] {
        self.process.as_ref().map_or(&[], Process::objects)
    }

    /// Calls dlopen; the cause is noted for each object that is new.
    pub(super) fn open(
        &mut self,
        request: &OpenRequest,
        cause: &Cause,
    ) -> Result<Result<ObjectId, Failure<'s>>> {
        let Some(process) = &mut self.process else {
            return Ok(Ok(0));
        };
        let opened = process.open(request.name, request.caller, request.mode)?;
        self.note(cause);
        Ok(opened)
    }

    /// Whether a failure repeats an earlier one: the same library is missing, or the same symbol in the same object.
    pub(super) fn has_failed(&self, failure: &Failure) -> bool {
        let Some(first) = failure.faults.first() else {
            return false;
        };
        self.failures.iter().any(|known| match first {
            Fault::Missing { name, .. } => {
                known.request == *name || known.alternatives.contains(name)
            }
            first => known.failure.faults.contains(first),
        })
    }

    fn note(&mut self, cause: &Cause) {
        let count = self.objects().len();
        self.causes.resize(count, cause.clone());
    }
}

/// Whether dlopen failed because no file answers to the requested name itself.
pub(super) fn is_not_found(failure: &Failure) -> bool {
    matches!(
        failure.faults.first(),
        Some(Fault::Missing {
            needed_by: None,
            ..
        })
    )
}
