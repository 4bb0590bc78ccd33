//! What the targets mean for an image: which code each GPU gets, and whether the driver suffices.

use std::collections::{BTreeMap, HashMap};

use super::code::{everywhere, is_specific, oldest, support};
use super::driver::{self, DriverVersion};
use super::facts::{DriverFacts, GpuFacts, How, LibraryCode, PackageCode, Support, TargetFacts};
use super::gpu::Gpu;
use super::{Misread, Target};
use crate::elf::Depth;
use crate::elf::facts::GpuCode;
use crate::process::LoaderFacts;
use crate::process::facts::{ObjectFacts, ProcessFacts};
use crate::stack::{self, Component, Coverage, DriverFloor, LibraryCoverage};
use crate::version::newer;

/// The directory of PyTorch's package.
const TORCH: &str = "torch";

/// What of an image decides.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'i> {
    /// How much of each file was read.
    pub depth: Depth,
    /// The GPU code of its files.
    pub gpu: &'i stack::Gpu,
    /// What its processes load.
    pub loader: Option<&'i LoaderFacts>,
    /// Its stack.
    pub stack: &'i [Component],
    /// The driver that it needs.
    pub driver: Option<&'i DriverFloor>,
}

/// Judges an image by each target.
///
/// # Errors
/// A target names a GPU or a driver that is none.
pub fn judge(targets: &[Target], image: &Evidence) -> Result<Vec<TargetFacts>, Misread> {
    if targets.is_empty() {
        return Ok(Vec::new());
    }
    let process = MainProcess::of(image);
    targets
        .iter()
        .map(|target| target.judge(image, &process))
        .collect()
}

impl Target {
    fn judge(&self, image: &Evidence, process: &MainProcess) -> Result<TargetFacts, Misread> {
        let gpus = self
            .gpus
            .iter()
            .map(|gpu| Gpu::parse(gpu))
            .collect::<Result<Vec<Gpu>, _>>()?;
        let driver = self
            .driver
            .as_deref()
            .map(DriverVersion::parse)
            .transpose()?;
        let driver = driver.map(|version| DriverFacts {
            target: self.name.clone(),
            ..driver::judge(&version, &gpus, image.driver, image.stack)
        });
        Ok(TargetFacts {
            name: self.name.clone(),
            gpus: gpus
                .iter()
                .map(|gpu| GpuFacts {
                    target: self.name.clone(),
                    ..process.on(gpu, driver.as_ref())
                })
                .collect(),
            driver,
        })
    }
}

/// The GPU code that the process of the image maps.
struct MainProcess<'i> {
    /// Of PyTorch's kernels: what all of them have.
    torch: Option<Torch>,
    libraries: Vec<Library<'i>>,
}

struct Torch {
    code: GpuCode,
    /// The architectures that it was built for. Where other libraries are linked into it, of which some containers are for other
    /// architectures, not all of these are in every container.
    listed: GpuCode,
    /// The CUDA that made its PTX, where its instruction set was not read.
    cuda: Option<String>,
    /// It may promise more than all kernels keep.
    sampled: bool,
}

struct Library<'i> {
    object: &'i ObjectFacts,
    code: &'i GpuCode,
    /// The package, unless it is a library of CUDA itself or of PyTorch.
    package: Option<String>,
    /// All of its code was looked at.
    whole: bool,
}

impl<'i> MainProcess<'i> {
    fn of(image: &Evidence<'i>) -> Self {
        let files = image
            .gpu
            .libraries
            .iter()
            .map(|file| (file.path.as_str(), file));
        let files: HashMap<&str, &'i LibraryCoverage> = files.collect();
        let processes = image
            .loader
            .into_iter()
            .flat_map(|loader| &loader.processes);
        let mapped = processes
            .filter(|process| process.main)
            .flat_map(|process| process.objects.iter().map(move |object| (process, object)));
        let libraries: Vec<Library> = mapped
            .filter_map(|(process, object)| {
                let code = &files.get(object.path.as_str())?.code;
                let package = package(process, object);
                // Libraries of CUDA keep code where only the deep reading looks.
                let searched =
                    package.is_some() || object.directory == TORCH || image.depth == Depth::Deep;
                Some(Library {
                    object,
                    code,
                    package,
                    whole: searched && !code.sampled && !code.damaged,
                })
            })
            .collect();
        MainProcess {
            torch: Torch::of(image, &libraries),
            libraries,
        }
    }

    /// What it has for one GPU.
    fn on(&self, gpu: &Gpu, driver: Option<&DriverFacts>) -> GpuFacts {
        let on_gpu = |code: &GpuCode, cuda: Option<&str>| {
            compiled(support(gpu.capability, code), cuda, driver)
        };
        let torch = self.torch.as_ref().map(|torch| {
            let mut support = on_gpu(&torch.code, torch.cuda.as_deref());
            if support.how == How::None {
                support = Support {
                    whole: false,
                    ..on_gpu(&torch.listed, torch.cuda.as_deref())
                };
            }
            // What is in no container of a sample is in few of all at best.
            let certain = !torch.sampled || support.how == How::None;
            if certain { support } else { Support::default() }
        });
        let libraries: Vec<LibraryCode> = self
            .libraries
            .iter()
            .map(|library| {
                let support = on_gpu(library.code, None);
                let certain = library.whole || support.how == How::Sass;
                LibraryCode {
                    path: library.object.path.clone(),
                    library: library.object.library.clone(),
                    package: library.package.clone().unwrap_or_default(),
                    support: if certain { support } else { Support::default() },
                }
            })
            .collect();
        GpuFacts {
            target: String::new(),
            name: gpu.name.clone(),
            sm: gpu.capability.sm(),
            capability: gpu.capability.to_string(),
            segment: gpu.segment,
            torch,
            packages: self.packages(&libraries),
            libraries,
        }
    }

    /// The best that the libraries of each package have: a package brings libraries for certain GPUs alone, and picks one
    /// when it runs.
    fn packages(&self, libraries: &[LibraryCode]) -> Vec<PackageCode> {
        let mut packages: BTreeMap<&str, PackageCode> = BTreeMap::new();
        for (library, code) in self.libraries.iter().zip(libraries) {
            let Some(name) = library.package.as_deref() else {
                continue;
            };
            let package = packages.entry(name).or_insert_with(|| PackageCode {
                name: name.to_owned(),
                path: code.path.clone(),
                from: String::new(),
                specific: true,
                support: Support {
                    how: How::None,
                    ..Support::default()
                },
            });
            package.specific &= is_specific(library.code);
            let oldest = oldest(library.code).map(|oldest| oldest.to_string());
            if let Some(oldest) = oldest
                && (package.from.is_empty() || newer(&package.from, &oldest) == Some(true))
            {
                package.from = oldest;
            }
            if code.support.how > package.support.how {
                package.support = code.support.clone();
            }
        }
        packages.into_values().collect()
    }
}

impl Torch {
    fn of(image: &Evidence, libraries: &[Library]) -> Option<Self> {
        let coverage = image.gpu.torch.as_ref()?;
        let own = libraries
            .iter()
            .find(|library| library.object.library == "torch-cuda");
        let code = |coverage: &Coverage| GpuCode {
            ptx_isa: own.map(|own| own.code.ptx_isa.clone()).unwrap_or_default(),
            ..everywhere(coverage)
        };
        let mut components = image.stack.iter();
        let torch = components.find(|it| it.name == "torch" && it.loaded);
        let listed = torch.and_then(|torch| torch.details.get("arch-list"));
        let words = |prefix: &str| {
            let words = listed.map_or("", String::as_str).split([' ', ',', ';']);
            let words = words.filter(|word| word.starts_with(prefix));
            words.map(str::to_owned).collect()
        };
        Some(Torch {
            code: code(coverage),
            listed: code(&Coverage {
                sass: words("sm_"),
                ptx: words("compute_"),
            }),
            cuda: torch.and_then(|torch| torch.details.get("cuda").cloned()),
            sampled: own.map_or(image.gpu.sampled, |own| own.code.sampled),
        })
    }
}

/// The package that a file belongs to. `None` for PyTorch's own libraries and for those of CUDA, which auditwheel also copies into
/// a directory `NAME.libs`: of them only the kernels that are called matter, and they have code for certain GPUs alone on purpose
/// (cuSPARSELt from 8.0 on, NVSHMEM from 9.0 on).
fn package(process: &ProcessFacts, object: &ObjectFacts) -> Option<String> {
    let directory = object.directory.as_str();
    let is_cuda = !object.library.is_empty()
        || !object.cuda.is_empty()
        || directory.starts_with("nvidia/")
        || directory.starts_with("tensorrt")
        || object.path.contains(".libs/")
        || object.path.contains("/usr/local/cuda");
    if is_cuda || directory == TORCH {
        return None;
    }
    if !directory.is_empty() {
        return Some(directory.to_owned());
    }
    let in_site = ["/site-packages/", "/dist-packages/"]
        .iter()
        .any(|site| object.path.contains(site));
    match in_site && !object.package.is_empty() {
        true => Some(object.package.clone()),
        // What lies elsewhere belongs to a program as a whole; of a Python that is anything.
        false => process
            .environment
            .is_empty()
            .then(|| process.executable.clone()),
    }
}

/// Adds to PTX which CUDA compiles it, and whether the driver does.
fn compiled(support: Support, cuda: Option<&str>, driver: Option<&DriverFacts>) -> Support {
    if support.how != How::Ptx {
        return support;
    }
    let needs = support
        .isa
        .as_deref()
        .and_then(driver::cuda_of_isa)
        .or(cuda);
    Support {
        needs_cuda: needs.map(str::to_owned),
        compiles: needs
            .zip(driver)
            .and_then(|(needs, driver)| driver::compiles(driver, needs)),
        ..support
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn counted(names: &[&str]) -> Vec<(String, u32)> {
        names.iter().map(|name| ((*name).to_owned(), 2)).collect()
    }

    /// An image whose process maps files: path, package directory, identity, SASS, PTX.
    struct Image {
        gpu: stack::Gpu,
        loader: LoaderFacts,
    }

    impl Image {
        fn new(files: &[(&str, &str, &str, &[&str], &[&str])]) -> Self {
            let mut gpu = stack::Gpu::default();
            let mut objects = Vec::new();
            for (path, directory, library, sass, ptx) in files {
                gpu.libraries.push(LibraryCoverage {
                    path: (*path).to_owned(),
                    code: GpuCode {
                        containers: 2,
                        sass: counted(sass),
                        ptx: counted(ptx),
                        ptx_isa: ptx
                            .iter()
                            .map(|name| ((*name).to_owned(), "8.7".to_owned()))
                            .collect(),
                        ..GpuCode::default()
                    },
                    ..LibraryCoverage::default()
                });
                objects.push(ObjectFacts {
                    path: (*path).to_owned(),
                    directory: (*directory).to_owned(),
                    library: (*library).to_owned(),
                    package: "flash-attn".to_owned(),
                    ..ObjectFacts::default()
                });
            }
            let process = ProcessFacts {
                main: true,
                objects,
                ..ProcessFacts::default()
            };
            Image {
                gpu,
                loader: LoaderFacts {
                    processes: vec![process],
                    ..LoaderFacts::default()
                },
            }
        }

        fn torch(mut self, sass: &[&str]) -> Self {
            self.gpu.torch = Some(Coverage {
                sass: sass.iter().map(|name| (*name).to_owned()).collect(),
                ptx: Vec::new(),
            });
            self
        }

        fn on(&self, gpu: &str, driver: Option<&str>) -> GpuFacts {
            let target = Target {
                gpus: vec![gpu.to_owned()],
                driver: driver.map(str::to_owned),
                ..Target::default()
            };
            let evidence = Evidence {
                depth: Depth::Default,
                gpu: &self.gpu,
                loader: Some(&self.loader),
                stack: &[],
                driver: None,
            };
            judge(&[target], &evidence)
                .unwrap()
                .remove(0)
                .gpus
                .remove(0)
        }
    }

    #[test]
    fn a_package_has_what_the_best_of_its_libraries_has() {
        let image = Image::new(&[
            (
                "/s/site-packages/vllm/_flashmla.so",
                "vllm",
                "",
                &["sm_90a"],
                &[],
            ),
            (
                "/s/site-packages/vllm/_C.so",
                "vllm",
                "",
                &["sm_80", "sm_90a"],
                &[],
            ),
            (
                "/s/site-packages/flash_attn_2_cuda.so",
                "",
                "",
                &["sm_80", "sm_90"],
                &[],
            ),
            (
                "/s/site-packages/deep_gemm/x.so",
                "deep_gemm",
                "",
                &["sm_90a"],
                &[],
            ),
        ]);
        let on = image.on("RTX 5090", None);
        let packages: Vec<_> = on
            .packages
            .iter()
            .map(|it| (it.name.as_str(), it.support.how, it.specific))
            .collect();
        assert_eq!(
            packages,
            [
                ("deep_gemm", How::None, true),
                ("flash-attn", How::None, false),
                ("vllm", How::None, false)
            ]
        );
        let on = image.on("A100", None);
        assert_eq!(on.packages[2].support.by, "sm_80");
    }

    #[test]
    fn a_package_says_with_which_gpus_it_begins() {
        let image = Image::new(&[(
            "/s/site-packages/flash_attn_2_cuda.so",
            "",
            "",
            &["sm_100", "sm_80", "sm_90"],
            &["compute_120"],
        )]);
        assert_eq!(image.on("T4", None).packages[0].from, "8.0");
    }

    /// NCCL linked into it has no sm_75, so that sm_75 is not in every container.
    #[test]
    fn pytorch_with_other_libraries_in_it_is_judged_by_what_it_was_built_for_too() {
        let image = Image::new(&[]).torch(&["sm_80"]);
        let torch = Component {
            name: "torch".to_owned(),
            loaded: true,
            details: [("arch-list".to_owned(), "sm_75 sm_80".to_owned())].into(),
            ..Component::default()
        };
        let evidence = Evidence {
            depth: Depth::Default,
            gpu: &image.gpu,
            loader: None,
            stack: &[torch],
            driver: None,
        };
        let target = |gpu: &str| Target {
            gpus: vec![gpu.to_owned()],
            ..Target::default()
        };
        let facts = judge(&[target("T4"), target("A100"), target("H100")], &evidence).unwrap();
        let torch = |index: usize| facts[index].gpus[0].torch.clone().unwrap();
        assert_eq!((torch(0).by.as_str(), torch(0).whole), ("sm_75", false));
        assert_eq!((torch(1).by.as_str(), torch(1).whole), ("sm_80", true));
        assert_eq!(torch(2).how, How::None);
    }

    #[test]
    fn pytorch_is_judged_by_what_all_its_kernels_have() {
        let files: &[(&str, &str, &str, &[&str], &[&str])] = &[(
            "/t/libtorch_cuda.so",
            "torch",
            "torch-cuda",
            &["sm_80", "sm_90", "sm_120"],
            &[],
        )];
        let image = Image::new(files).torch(&["sm_80", "sm_90"]);
        assert_eq!(image.on("RTX 5090", None).torch.unwrap().how, How::None);
        assert_eq!(image.on("L4", None).torch.unwrap().by, "sm_80");
        assert!(image.on("L4", None).packages.is_empty());
        let mut sampled = Image::new(files).torch(&["sm_80", "sm_90"]);
        sampled.gpu.libraries[0].code.sampled = true;
        assert_eq!(sampled.on("L4", None).torch.unwrap().how, How::Unknown);
        assert_eq!(sampled.on("V100", None).torch.unwrap().how, How::None);
    }

    #[test]
    fn libraries_of_cuda_are_no_packages_and_not_known_to_have_nothing() {
        let image = Image::new(&[
            (
                "/n/libcublasLt.so.12",
                "nvidia/cublas",
                "cublaslt",
                &["sm_80"],
                &["compute_90"],
            ),
            (
                "/n/libcusparseLt.so.0",
                "nvidia/cusparselt",
                "cusparselt",
                &["sm_80"],
                &[],
            ),
        ]);
        let on = image.on("V100", None);
        assert!(on.packages.is_empty());
        assert!(
            on.libraries
                .iter()
                .all(|library| library.support.how == How::Unknown)
        );
        assert_eq!(
            image.on("B200", None).libraries[0].support.how,
            How::Unknown
        );
        assert_eq!(image.on("A10", None).libraries[1].support.how, How::Sass);
    }

    #[test]
    fn ptx_needs_a_driver_that_compiles_it() {
        let image = Image::new(&[("/o/libx.so", "ort", "", &["sm_80"], &["compute_90"])]);
        let support = image.on("B200", None).packages.remove(0).support;
        assert_eq!(
            (support.how, support.needs_cuda.as_deref(), support.compiles),
            (How::Ptx, Some("12.8"), None)
        );
        let old = image
            .on("B200", Some("550.54.14"))
            .packages
            .remove(0)
            .support;
        assert_eq!(old.compiles, Some(false));
        let new = image
            .on("B200", Some("580.65.06"))
            .packages
            .remove(0)
            .support;
        assert_eq!(new.compiles, Some(true));
    }

    #[test]
    fn a_target_that_is_none_is_an_error() {
        let image = Image::new(&[]);
        let evidence = Evidence {
            depth: Depth::Default,
            gpu: &image.gpu,
            loader: None,
            stack: &[],
            driver: None,
        };
        let target = |gpu: &str, driver: &str| Target {
            name: String::new(),
            gpus: vec![gpu.to_owned()],
            driver: Some(driver.to_owned()),
        };
        assert!(judge(&[target("H100", "535.183.06")], &evidence).is_ok());
        assert!(judge(&[target("H1000", "535.183.06")], &evidence).is_err());
        assert!(judge(&[target("H100", "new")], &evidence).is_err());
        assert!(target("H100", "535").check().is_err());
    }
}
