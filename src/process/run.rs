//! A process as it is played: what was opened on whose behalf, and what failed.

use crate::loader::{Failure, Fault, Mode, Object, ObjectId, Process};

/// For which package, and when, something happens in a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cause {
    /// The package; empty where a program starts.
    pub package: String,
    /// `start`, `import` or `use`.
    pub when: &'static str,
    /// The program goes on if it fails.
    pub optional: bool,
    /// As [`super::facts::Place::without`].
    pub without: String,
}

/// A library of the host's driver that an object opens at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// For which package, and when.
    pub cause: Cause,
    /// The object that opens.
    pub opener: ObjectId,
    /// The name that is asked for.
    pub library: String,
}

/// One failure.
#[derive(Debug)]
pub struct Fall<'s> {
    /// For which package, and when.
    pub cause: Cause,
    /// Path of the object that opens; empty where Python or a program starts it.
    pub opener: String,
    /// The program goes on.
    pub optional: bool,
    /// What the program shows in place of the loader's message.
    pub shown: String,
    /// As [`super::facts::Place::without`].
    pub without: String,
    /// Names that were tried before the one of this failure.
    pub alternatives: Vec<String>,
    /// Asked for by the program at run time, not as a DT_NEEDED entry: the first fault's own name.
    pub request: String,
    /// What the loader says, and what it had loaded.
    pub failure: Failure<'s>,
}

/// A process as far as it was played.
pub struct Run<'s> {
    /// `None` if the program does not even start.
    pub process: Option<Process<'s>>,
    /// Why each object was loaded, in the order of objects.
    pub causes: Vec<Cause>,
    /// What failed, in order.
    pub falls: Vec<Fall<'s>>,
    /// The libraries of the driver that are opened at run time.
    pub driver: Vec<Asked>,
}

/// What a program asks of dlopen.
#[derive(Debug, Clone, Default)]
pub(super) struct Request<'a> {
    pub name: &'a str,
    /// The object that opens.
    pub caller: ObjectId,
    pub mode: Mode,
}

impl<'s> Run<'s> {
    /// Starts a program.
    pub(super) fn start(program: Result<Process<'s>, Failure<'s>>) -> Self {
        let cause = Cause {
            when: "start",
            ..Cause::default()
        };
        let mut run = Run {
            process: None,
            causes: Vec::new(),
            falls: Vec::new(),
            driver: Vec::new(),
        };
        match program {
            Ok(process) => {
                run.process = Some(process);
                run.note(&cause);
            }
            Err(failure) => run.falls.push(Fall {
                cause,
                opener: String::new(),
                optional: false,
                shown: String::new(),
                without: String::new(),
                alternatives: Vec::new(),
                request: String::new(),
                failure,
            }),
        }
        run
    }

    /// Everything loaded, in order.
    pub fn objects(&self) -> &[Object<'s>] {
        self.process.as_ref().map_or(&[], Process::objects)
    }

    /// Opens something for a cause; what is new belongs to it.
    pub(super) fn open(
        &mut self,
        request: &Request,
        cause: &Cause,
    ) -> Result<ObjectId, Failure<'s>> {
        let Some(process) = &mut self.process else {
            return Ok(0);
        };
        let opened = process.open(request.name, request.caller, request.mode);
        self.note(cause);
        opened
    }

    /// Whether a failure only repeats one that is noted: the same library is missing, or the same symbol in the same object.
    pub(super) fn has_failed(&self, failure: &Failure) -> bool {
        let Some(first) = failure.faults.first() else {
            return false;
        };
        self.falls.iter().any(|fall| match first {
            Fault::Missing { name, .. } => {
                fall.request == *name || fall.alternatives.contains(name)
            }
            first => fall.failure.faults.contains(first),
        })
    }

    fn note(&mut self, cause: &Cause) {
        let count = self.objects().len();
        self.causes.resize(count, cause.clone());
    }
}

/// Whether the first thing that failed is that nothing answers to the requested name itself.
pub(super) fn is_not_found(failure: &Failure) -> bool {
    matches!(
        failure.faults.first(),
        Some(Fault::Missing {
            needed_by: None,
            ..
        })
    )
}
