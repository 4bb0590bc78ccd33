//! From the store to verdicts, as a stream: nothing grows with the number of images but the plan.

use super::Sweep;
use super::plan::{PlannedImage, PlannedReference, SweepPlan};
use super::ticker::Ticker;
use super::worker::{check_store, no_store};
use imgcheck_base::error::{Error, ErrorCode, Result};
use imgcheck_base::parallel;
use imgcheck_checker::{Checker, ImageFacts, ImageRequest, Reports, SharedLayers, UnreadReason};
use imgcheck_report::fleet::{FleetLayer, FleetRecord, FleetStatus, FleetTotals};

/// Images that share decoded layers and models. More of them share more and take more memory.
const BATCH: usize = 16;

/// What is written about each reference of a plan.
pub type EachRecord<'e> = dyn FnMut(&FleetRecord) -> Result<()> + 'e;

impl Sweep<'_> {
    /// Judges every reference of a plan from the store, by the rules, targets and policy of this checker, and hands over one record for
    /// each: listed = judged + failed + skipped. `against` judges the same images by other rules or targets.
    ///
    /// # Errors
    /// The checker has no store, the plan has no image, `each` fails, or the run was cancelled. What cannot be judged is a record.
    pub fn judge(
        &self,
        plan: &SweepPlan,
        against: Option<&Checker>,
        settings: &ImageRequest,
        each: &mut EachRecord,
    ) -> Result<FleetTotals> {
        let store = self.checker.store().objects().ok_or_else(no_store)?;
        plan.check_listed()?;
        let end = settings.own_cancellation();
        let progress = settings.own_progress();
        let ticker = Ticker::new(&*progress, "images judged", plan.images.len());
        let judging = Judging {
            checker: self.checker,
            against,
            plan,
            settings,
            ticker: &ticker,
        };
        let references = plan.references_by_image();
        let mut totals = FleetTotals {
            complete: plan.is_complete(),
            unread: plan
                .unlisted
                .iter()
                .map(|it| format!("{}: {}", it.source, it.message))
                .collect(),
            ..FleetTotals::default()
        };
        let mut put = |record: &FleetRecord| {
            totals.listed += 1;
            *match record.status {
                FleetStatus::Judged => &mut totals.judged,
                FleetStatus::Failed => &mut totals.failed,
                FleetStatus::Skipped => &mut totals.skipped,
            } += 1;
            each(record)
        };
        let images: Vec<usize> = (0..plan.images.len()).collect();
        for chunk in images.chunks(BATCH * parallel::cores()) {
            let batches: Vec<&[usize]> = chunk.chunks(BATCH).collect();
            let records = parallel::map(parallel::cores(), batches.len(), |at| {
                end.check()?;
                Ok::<_, Error>(judging.batch(batches[at], &references))
            })?;
            end.check()?;
            let broken = check_store(self.checker.store(), store).err();
            for mut record in records.into_iter().flatten() {
                // What was not found in a store that fails may well be there.
                if let (Some(error), FleetStatus::Failed) = (&broken, record.status) {
                    let (code, message) = (error.code(), error.message());
                    record = FleetRecord {
                        reference: record.reference,
                        ..failed(UnreadReason { code, message })
                    };
                }
                put(&record)?;
            }
        }
        for it in &plan.skipped {
            put(&FleetRecord::skipped(
                &it.reference,
                &it.source,
                &it.code,
                &it.message,
            ))?;
        }
        Ok(totals)
    }
}

struct Judging<'j> {
    checker: &'j Checker,
    against: Option<&'j Checker>,
    plan: &'j SweepPlan,
    settings: &'j ImageRequest,
    ticker: &'j Ticker<'j>,
}

impl Judging<'_> {
    /// The records of some images, which share decoded layers.
    fn batch(&self, images: &[usize], references: &[Vec<&PlannedReference>]) -> Vec<FleetRecord> {
        let (shared, mut reports) = (SharedLayers::default(), Reports::new(self.checker));
        let mut records = Vec::new();
        for at in images {
            let image = &self.plan.images[*at];
            let facts = self.facts(image, &shared);
            for reference in &references[*at] {
                let record = match &facts {
                    Ok(facts) => self.judge(image, reference, facts, &mut reports),
                    Err(reason) => failed(reason.clone()),
                };
                records.push(FleetRecord {
                    reference: reference.reference.clone(),
                    source: image.source.clone(),
                    digest: image.digest.clone(),
                    platform: image.platform.clone(),
                    pods: reference.pods,
                    pulls: reference.pulls,
                    layers: self.layers(image),
                    ..record
                });
            }
            self.ticker.tick();
        }
        records
    }

    /// The facts of an image, or why there are none.
    fn facts(
        &self,
        image: &PlannedImage,
        shared: &SharedLayers,
    ) -> std::result::Result<ImageFacts, UnreadReason> {
        let (code, message) = match self.checker.kept_image(&image.name, shared) {
            Ok(Some(facts)) => return Ok(facts),
            Ok(None) => match self.checker.kept_reason(&image.name) {
                Some(reason) => return Err(reason),
                None => {
                    let message = "no worker of this version of imgcheck has read it: run `imgcheck sweep run`";
                    (ErrorCode::NotFound, message.to_owned())
                }
            },
            Err(error) => (error.code(), error.message()),
        };
        Err(UnreadReason { code, message })
    }

    fn judge(
        &self,
        image: &PlannedImage,
        reference: &PlannedReference,
        facts: &ImageFacts,
        reports: &mut Reports,
    ) -> FleetRecord {
        let subject = self
            .settings
            .subject_of(&reference.reference, image.digest.as_deref());
        let mut judge = || -> Result<FleetRecord> {
            let mut record = FleetRecord::of(&reports.of(self.checker, facts, &subject)?);
            if let Some(against) = self.against {
                record.compare(&reports.of(against, facts, &subject)?);
            }
            Ok(record)
        };
        judge().unwrap_or_else(|error| {
            failed(UnreadReason {
                code: error.code(),
                message: error.message(),
            })
        })
    }

    fn layers(&self, image: &PlannedImage) -> Vec<FleetLayer> {
        let layers = image.layers.iter().filter_map(|at| self.plan.layer(*at));
        let layer = |layer: &super::plan::PlannedLayer| FleetLayer {
            diff_id: layer.diff_id.clone(),
            digest: layer.digest.clone(),
            size: layer.size,
        };
        layers.map(layer).collect()
    }
}

/// The record of an image without a verdict.
fn failed(UnreadReason { code, message }: UnreadReason) -> FleetRecord {
    FleetRecord {
        status: FleetStatus::Failed,
        code: Some(code.as_str().to_owned()),
        message: Some(message),
        ..FleetRecord::default()
    }
}
