//! Reads each image once, and models it once for each thing that containers make of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;

use super::super::analyze::Analysis;
use super::super::facts::ImageFacts;
use super::super::model::Models;
use super::super::report::Unread;
use super::super::subject::Subject;
use super::hidden;
use super::judging::{Judging, Place};
use super::kubelet;
use imgcheck_base::error::{Error, ErrorCode, Result};
use imgcheck_base::parallel;
use imgcheck_launch::Overlay;
use imgcheck_lint::workload::{Container, ExecFailure, RefusedUser};

/// Images that are read at once.
const IMAGES: usize = 4;

/// An image on one platform, as one container starts it.
#[derive(Debug)]
pub(super) struct OnPlatform {
    /// `amd64`, `arm64`; empty for a root directory.
    pub architecture: String,
    pub analysis: Analysis,
    /// The image without what the container replaces; `None` if it replaces nothing, or findings are not located.
    pub alone: Option<Analysis>,
    /// The GPU frameworks that the image loads without what the container replaces; `None` if it replaces nothing.
    pub image_frameworks: Option<Vec<String>>,
    /// Programs of probes and of the lifecycle that do not start.
    pub exec_failures: Vec<ExecFailure>,
    /// Why the kubelet does not start the container as its user.
    pub refused_user: Option<RefusedUser>,
}

/// All images, for all containers.
#[derive(Debug, Default)]
pub(super) struct Analyzed {
    containers: HashMap<Place, Vec<OnPlatform>>,
    errors: Vec<Unread>,
    /// What is wrong with each image that could not be read.
    messages: HashMap<String, String>,
}

impl Analyzed {
    /// The platforms of a container's image that could be read, the preferred one first.
    pub fn of(&self, place: Place) -> &[OnPlatform] {
        self.containers.get(&place).map_or(&[], Vec::as_slice)
    }

    /// Why an image could not be read.
    pub fn problem(&self, image: &str) -> Option<&str> {
        self.messages.get(image).map(String::as_str)
    }

    pub fn into_errors(self) -> Vec<Unread> {
        self.errors
    }
}

/// What became of one image.
struct ReadImage {
    containers: Vec<(Place, Vec<OnPlatform>)>,
    errors: Vec<Error>,
}

impl Judging<'_> {
    /// Reads the images of all containers.
    pub fn analyze(&self) -> Analyzed {
        let mut places: BTreeMap<&str, Vec<Place>> = BTreeMap::new();
        for (at, workload) in self.workloads.iter().enumerate() {
            for (index, container) in workload.containers.iter().enumerate() {
                if !container.image.is_empty() {
                    places
                        .entry(&container.image)
                        .or_default()
                        .push((at, index));
                }
            }
        }
        let images: Vec<_> = places.into_iter().collect();
        let read = |at: usize| {
            let (image, places) = &images[at];
            Ok::<_, Infallible>(self.read_for(image, places))
        };
        let Ok(results) = parallel::map(IMAGES, images.len(), read);
        let mut analyzed = Analyzed::default();
        for ((image, _), read) in images.iter().zip(results) {
            analyzed.containers.extend(read.containers);
            for error in read.errors {
                analyzed
                    .messages
                    .insert((*image).to_owned(), error.quoted());
                analyzed
                    .errors
                    .push(Unread::unjudged((*image).to_owned(), error));
            }
        }
        analyzed
    }

    /// Reads an image for the platforms of the nodes that its containers may run on.
    fn read_for(&self, image: &str, places: &[Place]) -> ReadImage {
        let mut read = ReadImage {
            containers: places.iter().map(|it| (*it, Vec::new())).collect(),
            errors: Vec::new(),
        };
        let mut wanted: BTreeMap<String, BTreeSet<Place>> = BTreeMap::new();
        for place in places {
            for architecture in self.architectures(*place) {
                wanted.entry(architecture).or_default().insert(*place);
            }
        }
        let (mut models, mut lacking, mut last) = (Models::default(), Vec::new(), None);
        for (architecture, places) in wanted {
            match (self.read)(image, &architecture) {
                Ok(facts) => self.model(&facts, &places, &mut models, &mut read),
                // Perhaps the image exists for other platforms.
                Err(error) if error.code() == ErrorCode::NotFound && !architecture.is_empty() => {
                    lacking.extend(places);
                    last = Some(error);
                }
                Err(error) => read.errors.push(error),
            }
        }
        let is_unread = |place: &Place| {
            let mut containers = read.containers.iter();
            containers.any(|(it, platforms)| it == place && platforms.is_empty())
        };
        let unread: BTreeSet<Place> = lacking.into_iter().filter(is_unread).collect();
        if !unread.is_empty() && read.errors.is_empty() {
            match (self.read)(image, "") {
                Ok(facts) => self.model(&facts, &unread, &mut models, &mut read),
                Err(error) => read.errors.push(last.unwrap_or(error)),
            }
        }
        read
    }

    /// The architectures of the nodes that a container may run on; one that is empty stands for the default.
    fn architectures(&self, place: Place) -> Vec<String> {
        let container = self.container(place);
        let schedule = self.schedule(place).into_iter();
        let classes = schedule.flat_map(|it| &it.reachable);
        let mut found: Vec<String> = Vec::new();
        for class in classes {
            if !class.architecture.is_empty() && !found.contains(&class.architecture) {
                found.push(class.architecture.clone());
            }
        }
        if found.is_empty() {
            let named = container.placement.architectures().into_iter();
            found = named.map(str::to_owned).collect();
        }
        match found.is_empty() {
            true => vec![String::new()],
            false => found,
        }
    }

    fn model(
        &self,
        (facts, subject): &(ImageFacts, Subject),
        places: &BTreeSet<Place>,
        models: &mut Models,
        read: &mut ReadImage,
    ) {
        for (place, platforms) in &mut read.containers {
            if !places.contains(place) {
                continue;
            }
            match self.analyze_one(facts, subject, self.container(*place), models) {
                Ok(it) => platforms.push(it),
                Err(error) => return read.errors.push(error),
            }
        }
    }

    fn analyze_one(
        &self,
        facts: &ImageFacts,
        subject: &Subject,
        container: &Container,
        models: &mut Models,
    ) -> Result<OnPlatform> {
        let overlay = container.overlay.clone();
        let replaces = overlay != Overlay::default();
        let launched = subject.clone().launched_with(overlay);
        let mut analysis = Analysis::of(self.checker, models, facts, &launched)?;
        let unknown = hidden::gaps(container, &analysis.model, &self.checker.knowledge.launch);
        analysis.inspection.gaps.extend(unknown);
        hidden::drop_import_failures(container, &mut analysis);
        let own_frameworks = &subject.own_frameworks;
        let mut alone = None;
        if replaces && (self.locates || own_frameworks.get().is_none()) {
            let own = Analysis::of(self.checker, models, facts, subject)?;
            own_frameworks.get_or_init(|| own.model.frameworks());
            alone = Some(own).filter(|_| self.locates);
        }
        let platform = facts.platform();
        let launch = &self.checker.knowledge.launch;
        let refused_user = kubelet::refused_user(&facts.config, container);
        Ok(OnPlatform {
            architecture: platform.split('/').nth(1).unwrap_or_default().to_owned(),
            exec_failures: kubelet::exec_failures(facts, container, launch, &analysis.bounds)?,
            refused_user: refused_user.filter(|_| !platform.is_empty()),
            analysis,
            alone,
            image_frameworks: own_frameworks.get().filter(|_| replaces).cloned(),
        })
    }
}
