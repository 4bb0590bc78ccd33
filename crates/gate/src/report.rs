//! The report on an image whose facts are known.

use chrono::Utc;

use super::queue::Job;
use super::state::{Gate, LONGEST_JUDGEMENT};
use imgcheck_base::cancellation::Cancellation;
use imgcheck_base::error::{Error, ErrorCode, Result};
use imgcheck_checker::{Checker, Report};
use imgcheck_launch::Overlay;

impl Gate {
    /// Judges an image as this reference, if its facts are known; `None` if it was not read yet. It blocks on the cache.
    ///
    /// # Errors
    /// The image could not be read lately, has no such platform, or judging it took too long.
    pub(crate) fn judged(
        &self,
        checker: &Checker,
        job: &Job,
        reference: &str,
        overlay: Overlay,
    ) -> Result<Option<Report>> {
        let deadline = std::time::Instant::now() + LONGEST_JUDGEMENT / 2;
        let cancellation = Cancellation::default().with_deadline(deadline);
        let (facts, subject) = match self.0.facts.get(checker, job, &[&overlay], &cancellation) {
            Ok(image) => image,
            Err(error) if error.is_interrupted() || error.code() == ErrorCode::NotFound => {
                return Err(error);
            }
            Err(_) => match self.queue().failure(&job.key) {
                Some(failure) => {
                    return Err(Error::new(failure.code, job.reference(), failure.problem));
                }
                None => return Ok(None),
            },
        };
        let subject = subject.of_container(reference, Utc::now().date_naive(), &cancellation);
        Ok(Some(
            checker.check_facts(&[(facts, subject.launched_with(overlay))]),
        ))
    }
}
