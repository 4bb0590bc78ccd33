//! Manifests, indexes and configurations: a docker archive or an OCI layout with fuzzed documents. The archive and the directory
//! contain the same images, and each image has as many layers as diff ids, all of which are digests.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock};

use imgcheck_base::digest::hexadecimal;
use imgcheck_base::error::Result;
use imgcheck_base::reference::transport::ImageReference;
use imgcheck_fuzz::documents::{Document, archive, documents};
use imgcheck_fuzz::file;
use imgcheck_image::configuration::build_steps;
use imgcheck_image::configuration::{environment, labels};
use imgcheck_source::source::{self, Image, Request};

/// A directory of this process, empty between two runs.
static DIRECTORY: LazyLock<PathBuf> = LazyLock::new(|| {
    let name = format!("imgcheck-fuzz-{}", std::process::id());
    std::env::temp_dir().join(name)
});

pub fn fuzz(text: &str) {
    let documents = documents(text);
    let file = file(&archive(&documents));
    let path = PathBuf::from(format!("/proc/self/fd/{}", Arc::as_ref(&file).as_raw_fd()));
    for all_platforms in [false, true] {
        let request = Request {
            all_platforms,
            ..Request::default()
        };
        let images = open(&ImageReference::Path(path.clone()), &request);
        check(images.as_deref().unwrap_or_default());
        let archived = open(&ImageReference::OciArchive(path.clone(), None), &request);
        check(archived.as_deref().unwrap_or_default());
        if written(&documents) {
            let unpacked = open(&ImageReference::Oci(DIRECTORY.clone(), None), &request);
            let docker = documents
                .iter()
                .any(|document| document.name == "manifest.json");
            same(&archived, &unpacked, docker);
        }
        let _ = fs::remove_dir_all(&*DIRECTORY);
    }
    let first = documents.first().map(|document| document.name.clone());
    let _ = open(
        &ImageReference::DockerArchive(path, first),
        &Request::default(),
    );
}

fn open(target: &ImageReference, request: &Request) -> Result<Vec<Image>> {
    source::open(target, request)
}

fn check(images: &[Image]) {
    for image in images {
        let diff_ids = image.config.rootfs().diff_ids();
        assert_eq!(diff_ids.len(), image.layers.len());
        assert!(diff_ids.iter().all(|id| hexadecimal(id).is_some()));
        let layers = image.layers.iter().map(|layer| &layer.diff_id);
        assert!(layers.eq(diff_ids));
        assert_eq!(
            build_steps(&image.config, image.layers.len()).len(),
            image.layers.len()
        );
        let _ = (environment(&image.config), labels(&image.config));
    }
}

/// Writes the files below the directory. Not if a file system keeps them in another way than an archive, which may have a file
/// and another below it, and two of one name.
fn written(documents: &[Document]) -> bool {
    let write = |document: &Document| {
        let path = Path::new(&document.name);
        let plain = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let fits = document.name.len() <= 100 && !document.name.contains(['\0', '\\']);
        if !plain || !fits || document.name.ends_with('/') || document.name.contains("//") {
            return None;
        }
        let path = DIRECTORY.join(path);
        fs::create_dir_all(path.parent()?).ok()?;
        let mut file = fs::File::create_new(path).ok()?;
        std::io::Write::write_all(&mut file, &document.bytes).ok()
    };
    documents.iter().all(|document| write(document).is_some())
}

/// An archive that Docker reads too is refused where `manifest.json` has another image; a directory is read by its index alone.
fn same(archived: &Result<Vec<Image>>, unpacked: &Result<Vec<Image>>, docker: bool) {
    match (archived, unpacked) {
        (Ok(archived), Ok(unpacked)) => {
            let facts = |image: &Image| {
                let layers: Vec<String> = image.layers.iter().map(|it| it.name()).collect();
                let digests = (image.digest.clone(), image.config_digest.clone());
                (
                    image.reference.clone(),
                    image.platform.clone(),
                    digests,
                    layers,
                )
            };
            let (archived, unpacked) = (archived.iter().map(facts), unpacked.iter().map(facts));
            assert!(
                archived.eq(unpacked),
                "an archive holds other images than a directory"
            );
        }
        (Err(_), Err(_)) => {}
        (Err(_), Ok(_)) if docker => {}
        (Ok(_), Err(error)) => panic!("the directory cannot be read: {error}"),
        (Err(error), Ok(_)) => panic!("the archive cannot be read: {error}"),
    }
}
