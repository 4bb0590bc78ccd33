//! What bills of materials beside an image claim of its stack.

use super::analyze::Analysis;
use super::read::source_request;
use super::request::ImageRequest;
use super::state::Checker;
use super::subject::Subject;
use imgcheck_base::error::Result;
use imgcheck_base::gap::{Gap, GapCode};
use imgcheck_base::version::requirement::normalized;
use imgcheck_model::claims::Claim;
use imgcheck_model::stack::{Catalogue, EvidenceKind};
use imgcheck_source::attest::sbom::{Package, Sbom};
use imgcheck_source::source::SourceKind;
use imgcheck_source::source::attached::Attachments;

/// The rule that compares them with the image; if it is off, nothing is read.
const RULE: &str = "claim-sbom";
/// The components whose versions are compared, and the subjects of their claims.
const SUBJECTS: [(&str, &str); 4] = [
    ("torch", "torch"),
    ("cuda-runtime", "cuda"),
    ("cudnn", "cudnn"),
    ("nccl", "nccl"),
];
/// Claims of one document; there are as many as copies of the components.
const MOST: usize = 40;

impl Checker {
    /// Reads the bills of materials beside an image with a GPU stack, and adds what they claim. What cannot be read is a gap.
    ///
    /// # Errors
    /// The request was cancelled.
    pub(crate) fn read_sboms(
        &self,
        request: &ImageRequest,
        subject: &Subject,
        analysis: &mut Analysis,
    ) -> Result<()> {
        let origin = &subject.origin;
        let Some(digest) = origin.digest.as_deref() else {
            return Ok(());
        };
        let is_compared = |name: &str| SUBJECTS.iter().any(|(component, _)| *component == name);
        let stack = &analysis.inspection.stack;
        if !stack.iter().any(|it| is_compared(&it.name))
            || self.rules.get(RULE).is_none()
            || self.policy.disables(RULE)
            || request.cached_only
        {
            return Ok(());
        }
        let reference = request.target.typed();
        let attachments = Attachments {
            named: &request.target,
            reference: Some(&*reference).filter(|_| origin.source == SourceKind::Registry),
            kind: origin.source,
            digest,
            attestations: &origin.attestations,
        };
        let attached = attachments.sboms(&source_request(self, request))?;
        let mut problems = attached.problems;
        let claims = &mut analysis.inspection.claims;
        for (document, bytes) in attached.documents {
            match Sbom::parse(&bytes, digest) {
                Ok(Some(sbom)) => claims.extend(self.claims_of(&sbom, &document)),
                Ok(None) => {}
                Err(problem) => {
                    problems.push(format!("the SBOM {document} cannot be read: {problem}"));
                }
            }
        }
        let gap = |message| Gap {
            code: GapCode::SbomUnread,
            message,
            path: None,
            layer: None,
        };
        let gaps = problems.into_iter().map(gap);
        analysis.inspection.gaps.extend(gaps);
        Ok(())
    }

    /// The claims of a bill of materials, each once.
    fn claims_of(&self, sbom: &Sbom, digest: &str) -> Vec<Claim> {
        let document = format!("{}, {digest}", sbom.title);
        let mut claims: Vec<Claim> = Vec::new();
        for package in &sbom.packages {
            let catalogue = &self.knowledge.catalogue;
            let subject = component(catalogue, package)
                .and_then(|component| SUBJECTS.iter().find(|(it, _)| *it == component));
            let Some((_, subject)) = subject else {
                continue;
            };
            let is_known = |it: &Claim| it.subject == *subject && it.version == package.version;
            if claims.len() < MOST && !claims.iter().any(is_known) {
                claims.push(Claim {
                    subject: (*subject).to_owned(),
                    version: package.version.clone(),
                    origin: "sbom".to_owned(),
                    text: package.url.clone(),
                    document: Some(document.clone()),
                });
            }
        }
        claims
    }
}

/// The component that a package contains.
fn component<'c>(catalogue: &'c Catalogue, package: &Package) -> Option<&'c str> {
    let name = &package.name;
    match package.kind.as_str() {
        "pypi" => catalogue.component_of(EvidenceKind::PythonMetadata, &normalized(name)),
        // NVIDIA's packages for RPM have the names of those for Debian.
        "deb" | "rpm" => catalogue.component_of(EvidenceKind::Dpkg, name),
        "conda" => catalogue.component_of(EvidenceKind::Conda, name),
        _ => None,
    }
}
