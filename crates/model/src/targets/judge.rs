//! Judges an image on targets: which code each GPU gets, and whether the driver suffices.

use std::collections::{BTreeMap, HashMap};

use super::code::{everywhere, is_specific, oldest, support};
use super::driver;
use super::driver_table::DriverTable;
use super::driver_version::DriverVersion;
use super::facts::{
    CodeKind, DriverFacts, GpuFacts, LibraryCode, PackageCode, Support, TargetFacts,
};
use super::gpu::Gpu;
use super::input::TargetInput;
use super::tables::Tables;
use super::target::Target;
use crate::process::facts::{ObjectFacts, ProcessFacts};
use crate::stack::{Coverage, LibraryCoverage};
use imgcheck_base::lexical::name_of;
use imgcheck_base::spelling::InvalidInput;
use imgcheck_base::version::newer;
use imgcheck_elf::Depth;
use imgcheck_elf::facts::GpuCode;

/// Directory of the PyTorch package.
const TORCH: &str = "torch";

/// Judges an image on each target.
///
/// # Errors
/// A target names an unknown GPU or an invalid driver version.
pub fn judge(
    targets: &[Target],
    image: &TargetInput,
    tables: &Tables,
) -> Result<Vec<TargetFacts>, InvalidInput> {
    if targets.is_empty() {
        return Ok(Vec::new());
    }
    let process = MainProcess::of(image);
    targets
        .iter()
        .map(|target| target.judge(image, &process, tables))
        .collect()
}

impl Target {
    fn judge(
        &self,
        image: &TargetInput,
        process: &MainProcess,
        tables: &Tables,
    ) -> Result<TargetFacts, InvalidInput> {
        let gpus = self
            .gpus
            .iter()
            .map(|gpu| tables.gpus.parse(gpu))
            .collect::<Result<Vec<Gpu>, _>>()?;
        let driver = self
            .driver
            .as_deref()
            .map(DriverVersion::parse)
            .transpose()?;
        let driver = driver.map(|version| DriverFacts {
            target: self.name.clone(),
            ..driver::judge(&version, &gpus, image, tables)
        });
        Ok(TargetFacts {
            name: self.name.clone(),
            gpus: gpus
                .iter()
                .map(|gpu| GpuFacts {
                    target: self.name.clone(),
                    ..process.on(gpu, driver.as_ref(), tables)
                })
                .collect(),
            driver,
            architecture: self.architecture.clone(),
        })
    }
}

/// GPU code that the main process maps.
struct MainProcess<'i> {
    /// Code that all PyTorch kernels have.
    torch: Option<Torch>,
    libraries: Vec<Library<'i>>,
}

struct Torch {
    code: GpuCode,
    /// The architectures that it was built for. If other libraries are linked into it, not every container has all of them.
    listed: GpuCode,
    /// The CUDA release of its PTX, if the PTX ISA version was not read.
    cuda: Option<String>,
    /// Only a sample was read, so not all kernels may have this code.
    sampled: bool,
}

struct Library<'i> {
    object: &'i ObjectFacts,
    code: &'i GpuCode,
    /// The package; `None` for libraries of CUDA and PyTorch.
    package: Option<String>,
    /// All of its code was read.
    whole: bool,
    only_installed: bool,
}

impl<'i> MainProcess<'i> {
    fn of(image: &TargetInput<'i>) -> Self {
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
        let others = image.loader.into_iter().flat_map(|it| &it.other_gpu_code);
        let others = others
            .filter(|object| !is_of_cuda(object))
            .filter_map(|object| {
                let code = &files.get(object.path.as_str())?.code;
                Some(Library {
                    object,
                    code,
                    package: Some(object.directory.clone()),
                    whole: !code.sampled && !code.damaged,
                    only_installed: true,
                })
            });
        let libraries: Vec<Library> = mapped
            .filter_map(|(process, object)| {
                let code = &files.get(object.path.as_str())?.code;
                let package = package(process, object);
                // CUDA libraries keep code that only a deep read finds.
                let searched =
                    package.is_some() || object.directory == TORCH || image.depth == Depth::Deep;
                Some(Library {
                    object,
                    code,
                    package,
                    whole: searched && !code.sampled && !code.damaged,
                    only_installed: false,
                })
            })
            .chain(others)
            .collect();
        MainProcess {
            torch: Torch::of(image, &libraries),
            libraries,
        }
    }

    /// The code for one GPU.
    fn on(&self, gpu: &Gpu, driver: Option<&DriverFacts>, tables: &Tables) -> GpuFacts {
        let on_gpu = |code: &GpuCode, cuda: Option<&str>| {
            let support = support(gpu.capability, code, &tables.gpus);
            compiled(support, cuda, driver, &tables.drivers)
        };
        let torch = self.torch.as_ref().map(|torch| {
            let mut support = on_gpu(&torch.code, torch.cuda.as_deref());
            if support.how == CodeKind::None {
                support = Support {
                    whole: false,
                    ..on_gpu(&torch.listed, torch.cuda.as_deref())
                };
            }
            // Code that no container of the sample has is rare at best.
            let certain = !torch.sampled || support.how == CodeKind::None;
            if certain { support } else { Support::default() }
        });
        let libraries: Vec<LibraryCode> = self
            .libraries
            .iter()
            .map(|library| {
                let support = on_gpu(library.code, None);
                let certain = library.whole || support.how == CodeKind::Sass;
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
            arm64_only: gpu.arm64_only,
            unlisted: !gpu.is_listed,
            torch,
            packages: self.packages(&libraries),
            libraries,
        }
    }

    /// The best code of each package: packages contain libraries for certain GPUs, and choose one at run time.
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
                only_installed: true,
                support: Support {
                    how: CodeKind::None,
                    ..Support::default()
                },
            });
            package.specific &= is_specific(library.code);
            package.only_installed &= library.only_installed;
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
    fn of(image: &TargetInput, libraries: &[Library]) -> Option<Self> {
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

/// Whether a file is one of CUDA's libraries, which auditwheel also copies to `NAME.libs` directories: only the kernels that are called
/// matter, and some support certain GPUs on purpose (cuSPARSELt from 8.0 on, NVSHMEM from 9.0 on).
fn is_of_cuda(object: &ObjectFacts) -> bool {
    const NAMES: [&str; 3] = ["libcu", "libnv", "libnpp"];
    let file = name_of(&object.path);
    let is_copy = object.path.contains(".libs/") && NAMES.iter().any(|name| file.starts_with(name));
    !object.library.is_empty() && object.part != "static"
        || !object.cuda.is_empty()
        || object.directory.starts_with("nvidia/")
        || object.directory.starts_with("tensorrt")
        || is_copy
        || object.path.contains("/usr/local/cuda")
}

/// The package that a file belongs to. `None` for PyTorch's own libraries and for those of CUDA.
fn package(process: &ProcessFacts, object: &ObjectFacts) -> Option<String> {
    let directory = object.directory.as_str();
    if is_of_cuda(object) || directory == TORCH {
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
        // Other files belong to a program as a whole; with Python that could be anything.
        false => process
            .environment
            .is_empty()
            .then(|| process.executable.clone()),
    }
}

/// Adds to PTX the CUDA release that compiles it, and whether the driver does.
fn compiled(
    support: Support,
    cuda: Option<&str>,
    driver: Option<&DriverFacts>,
    table: &DriverTable,
) -> Support {
    if support.how != CodeKind::Ptx {
        return support;
    }
    let needs = support
        .isa
        .as_deref()
        .and_then(|isa| table.cuda_of_isa(isa))
        .or(cuda);
    Support {
        needs_cuda: needs.map(str::to_owned),
        compiles: needs
            .zip(driver)
            .and_then(|(needs, driver)| driver::compiles(driver, needs)),
        ..support
    }
}
