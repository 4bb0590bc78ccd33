//! Measures a sweep of a simulated registry, by the program itself:
//!
//! ```text
//! cargo build --profile dist --features gate,kube,object-storage,otel,parquet
//! cargo bench --bench sweep -- target/dist/imgcheck 1000 10000 40000
//! cargo bench --bench sweep -- target/dist/imgcheck shards 10000
//! ```
//!
//! Each cell has seconds, seconds of processor time, and peak memory. For each number of images: 2.5 tags an image, 1.5 layers an image. A
//! tenth of the layers are bases, of which an image has eight; its other layers are its own or shared with one other image. Every image has
//! PyTorch as the sample image has it. How real registries share layers is an assumption.
//!
//! `shards` reads one plan by 1, 2, 4 and 8 workers at once, each time into an empty store, and adds up what all of them do.
#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fmt, fs, thread};

use serde_json::{Value, json};
use testkit::registry::{Answer, Seen, Server, error, respond, with};
use testkit::{descriptor, file, sha256, tar};

const SAMPLE: &str = "testdata/sample/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar";
const REPOSITORIES: usize = 200;
/// Layers of a base, beside those of the sample.
const BASE: usize = 8;
const PAGE: usize = 1000;

/// A registry of images that are made of their number.
struct Simulated {
    blobs: HashMap<String, Vec<u8>>,
    /// Digests of blobs that are layers.
    layers: HashSet<String>,
    repositories: BTreeMap<String, BTreeMap<String, String>>,
}

impl Simulated {
    fn new(images: usize) -> Self {
        let sample = sample_layers();
        let bases = (images * 3 / 20).div_ceil(BASE).max(1);
        let mut all = Simulated {
            blobs: HashMap::new(),
            layers: HashSet::new(),
            repositories: BTreeMap::new(),
        };
        for image in 0..images {
            let base = image % bases;
            let lower = (0..BASE).map(|at| small(&format!("base {base} {at}")));
            let own = [
                small(&format!("own {image}")),
                small(&format!("pair {}", image / 2)),
            ];
            let upper = own.into_iter().take(1 + usize::from(image % 20 < 14));
            let layers: Vec<Vec<u8>> = sample.iter().cloned().chain(lower).chain(upper).collect();
            let manifest = all.add(image, layers);
            let repository = format!("team-{}/train", image % REPOSITORIES);
            let tags = all.repositories.entry(repository).or_default();
            for tag in 0..2 + image % 2 {
                tags.insert(
                    format!("2.{}.0-cuda12.8-cudnn9-{image}-{tag}", 8 + tag % 2),
                    manifest.clone(),
                );
            }
        }
        all
    }

    fn add(&mut self, image: usize, layers: Vec<Vec<u8>>) -> String {
        let diff_ids: Vec<String> = layers.iter().map(|it| sha256(it)).collect();
        // They are not compressed.
        self.layers.extend(diff_ids.iter().cloned());
        let config = json!({"architecture": "amd64", "os": "linux", "created": "2026-11-01T00:00:00Z",
            "config": {"Env": [format!("IMAGE={image}")], "Cmd": ["python3"]},
            "rootfs": {"type": "layers", "diff_ids": diff_ids}});
        let config = config.to_string().into_bytes();
        let kind = |kind: &str| format!("application/vnd.oci.image.{kind}");
        let blobs: Vec<Value> = layers
            .iter()
            .map(|it| descriptor(&kind("layer.v1.tar"), it))
            .collect();
        let manifest = json!({"schemaVersion": 2, "mediaType": kind("manifest.v1+json"),
            "config": descriptor(&kind("config.v1+json"), &config), "layers": blobs});
        let manifest = manifest.to_string().into_bytes();
        let digest = sha256(&manifest);
        for blob in layers.into_iter().chain([config, manifest]) {
            self.blobs.insert(sha256(&blob), blob);
        }
        digest
    }

    fn answer(&self, seen: &Seen) -> Answer {
        let path = seen.path.trim_start_matches("/v2/");
        if path == "_catalog" {
            return page("repositories", self.repositories.keys(), seen);
        }
        let Some((name, rest)) = path.split_once("/train/") else {
            return respond(200, "{}");
        };
        let tags = &self.repositories[&format!("{name}/train")];
        let last = rest.rsplit('/').next().unwrap();
        if rest == "tags/list" {
            return page("tags", tags.keys(), seen);
        }
        let digest = tags.get(last).map_or(last, String::as_str);
        match self.blobs.get(digest) {
            Some(bytes) => with(respond(200, bytes.clone()), "docker-content-digest", digest),
            None => error(404, "MANIFEST_UNKNOWN", "unknown"),
        }
    }
}

fn page<'n>(what: &str, names: impl Iterator<Item = &'n String>, seen: &Seen) -> Answer {
    let last = seen
        .query
        .split('&')
        .find_map(|it| it.strip_prefix("last="))
        .unwrap_or_default();
    let page: Vec<&String> = names
        .filter(|name| name.as_str() > last)
        .take(PAGE)
        .collect();
    let answer = respond(200, json!({what: page}).to_string());
    match page.len() == PAGE {
        true => with(
            answer,
            "link",
            &format!(
                "<{}?n={PAGE}&last={}>; rel=\"next\"",
                seen.path,
                page[PAGE - 1]
            ),
        ),
        false => answer,
    }
}

fn small(content: &str) -> Vec<u8> {
    let files: Vec<_> = (0..20)
        .map(|at| file(&format!("opt/{content}/{at}"), content.as_bytes()))
        .collect();
    tar(&files)
}

fn sample_layers() -> Vec<Vec<u8>> {
    let mut archive = tar::Archive::new(fs::File::open(SAMPLE).unwrap());
    let mut files = HashMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        files.insert(entry.path().unwrap().display().to_string(), bytes);
    }
    let manifest: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
    let layers = manifest[0]["Layers"].as_array().unwrap().iter();
    layers
        .map(|it| files[it.as_str().unwrap()].clone())
        .collect()
}

/// Clock ticks a second of `/proc/PID/stat` (`proc_pid_stat(5)`), as Linux has them on all machines.
const TICKS: f64 = 100.0;

/// What a command took.
struct Measured {
    seconds: f64,
    /// Of a processor.
    processor: f64,
    /// In MB.
    peak: f64,
}

impl fmt::Display for Measured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, processor, peak) = (self.seconds, self.processor, self.peak);
        write!(formatter, "{seconds:.1} s, {processor:.1} s, {peak:.0} MB")
    }
}

/// Runs one part of a sweep.
fn measure(program: &str, directory: &Path, arguments: &[&str]) -> Measured {
    let start = Instant::now();
    let mut child = Command::new(program)
        .current_dir(directory)
        .arg("sweep")
        .args(arguments)
        .args(["--no-progress"])
        .env("IMGCHECK_NO_CONFIG", "true")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let process = Path::new("/proc").join(child.id().to_string());
    let (mut peak, mut processor) = (0.0_f64, 0.0_f64);
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(process.join("status")).unwrap_or_default();
        let times = fs::read_to_string(process.join("stat")).unwrap_or_default();
        let times = times.rsplit(") ").next().unwrap_or_default().split(' ');
        let times = times
            .skip(11)
            .take(2)
            .filter_map(|it| it.parse::<f64>().ok());
        processor = processor.max(times.sum::<f64>() / TICKS);
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|it| it.trim().trim_end_matches(" kB").parse::<f64>().ok());
        peak = peak.max(kilobytes.unwrap_or_default() / 1000.0);
        thread::sleep(Duration::from_millis(20));
    }
    Measured {
        seconds: start.elapsed().as_secs_f64(),
        processor,
        peak,
    }
}

fn main() {
    let arguments: Vec<String> = env::args()
        .skip(1)
        .filter(|it| !it.starts_with("--"))
        .collect();
    let Some((program, sizes)) = arguments.split_first() else {
        println!("name the program and numbers of images");
        return;
    };
    let program = fs::canonicalize(program).unwrap().display().to_string();
    match sizes.split_first() {
        Some((word, sizes)) if word == "shards" => by_shards(&program, sizes),
        _ => by_size(&program, sizes),
    }
}

/// Sweeps registries of these sizes.
fn by_size(program: &str, sizes: &[String]) {
    println!("| images | tags | plan | run | judge |");
    println!("|---:|---:|---:|---:|---:|");
    for images in sizes {
        let images: usize = images.parse().unwrap();
        let simulated = Arc::new(Simulated::new(images));
        let tags: usize = simulated.repositories.values().map(BTreeMap::len).sum();
        let answers = Arc::clone(&simulated);
        let server = Server::new(move |seen| answers.answer(seen));
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("store")).unwrap();
        let store = format!("file://{}/store", scratch.path().display());
        let source = format!("registry:{}", server.address);
        let sweep = |words: &[&str]| {
            let arguments = [words, &["--store", &store]].concat();
            measure(program, scratch.path(), &arguments)
        };
        let plan = sweep(&["plan", &source, "-o", "plan"]);
        let run = sweep(&["run", "plan"]);
        let judge = sweep(&[
            "judge",
            "plan",
            "-o",
            "jsonl=fleet.jsonl",
            "-o",
            "html=fleet.html",
        ]);
        println!("| {images} | {tags} | {plan} | {run} | {judge} |");
    }
}

/// Reads one plan by several workers at once.
fn by_shards(program: &str, sizes: &[String]) {
    println!(
        "| images | shards | time | processor time of all | requests | layers read | reads of a layer |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|");
    for images in sizes {
        let simulated = Arc::new(Simulated::new(images.parse().unwrap()));
        let answers = Arc::clone(&simulated);
        let server = Server::new(move |seen| answers.answer(seen));
        let scratch = tempfile::tempdir().unwrap();
        let source = format!("registry:{}", server.address);
        measure(program, scratch.path(), &["plan", &source, "-o", "plan"]);
        for shards in [1, 2, 4, 8] {
            let store = scratch.path().join(format!("store-{shards}"));
            fs::create_dir(&store).unwrap();
            let store = format!("file://{}", store.display());
            let before = server.seen().len();
            let start = Instant::now();
            let processor: f64 = thread::scope(|scope| {
                let worker = |shard: usize| {
                    let (store, directory) = (&store, scratch.path());
                    let shard = format!("{shard}/{shards}");
                    let words = move || {
                        let words = ["run", "plan", "--shard", &shard, "--store", store];
                        measure(program, directory, &words).processor
                    };
                    scope.spawn(words)
                };
                let workers: Vec<_> = (1..=shards).map(worker).collect();
                workers.into_iter().map(|it| it.join().unwrap()).sum()
            });
            let seconds = start.elapsed().as_secs_f64();
            let seen = server.seen().split_off(before);
            let reads = reads_of_layers(&simulated, &seen);
            let most = reads.values().max().unwrap();
            println!(
                "| {images} | {shards} | {seconds:.1} s | {processor:.1} s | {} | {} | {most} |",
                seen.len(),
                reads.len()
            );
        }
    }
}

/// How often each layer was asked for, in whichever repository.
fn reads_of_layers<'s>(simulated: &Simulated, seen: &'s [Seen]) -> HashMap<&'s str, usize> {
    let mut reads = HashMap::new();
    for it in seen {
        let digest = it.path.rsplit('/').next().unwrap();
        if simulated.layers.contains(digest) {
            *reads.entry(digest).or_default() += 1;
        }
    }
    reads
}
