//! Compressed layers that become large, and frames that ask for memory.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use super::attack::{Attack, Outcome};
use super::documents::layout;
use super::links::{inner, inner_file};
use super::tars::{Layer, config, ended, endless, header, image, member, whole};
use tar::EntryType;
use testkit::{Compression, compress, descriptor};

const MIB: usize = 1 << 20;

/// Attacks by compression.
pub fn attacks() -> Vec<Attack> {
    [gzip(), zstd(), types()].into_iter().flatten().collect()
}

/// A layer that begins as an honest one whose file is very long, and goes on with as many frames of zeros.
fn bomb(compression: Compression, frames: usize) -> Layer {
    let mut header = header(b"zeros", EntryType::Regular);
    header.set_size(8 << 30);
    let begin = compress(&member(header, b""), compression);
    let zeros = smallest(&vec![0; 16 * MIB], compression);
    endless([begin, zeros.repeat(frames)].concat())
}

/// As small as the compression makes them.
fn smallest(bytes: &[u8], compression: Compression) -> Vec<u8> {
    if compression == Compression::Zstd {
        return zstd::encode_all(bytes, 19).unwrap();
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn limited(scratch: &Path, layer: Layer, limit: &str) -> Vec<String> {
    let mut arguments = image(scratch, &[layer]);
    arguments.push(format!("--limit={limit}"));
    arguments
}

fn gzip() -> Vec<Attack> {
    vec![
        Attack {
            name: "gzip-bomb",
            holds: "10 GiB of zeros as 10 MB of gzip in 640 members, with a limit of 256 MiB",
            outcome: Outcome::Refused("the limit layer-bytes"),
            make: |scratch| limited(scratch, bomb(Compression::Gzip, 640), "layer-bytes=256MiB"),
        },
        Attack {
            name: "gzip-in-gzip",
            holds: "a layer that was compressed twice",
            outcome: Outcome::Refused("the archive is truncated"),
            make: |scratch| {
                let once = compress(&ended(&[inner_file(b"etc/os-release")]), Compression::Gzip);
                image(scratch, &[whole(once, Compression::Gzip)])
            },
        },
        Attack {
            name: "gzip-of-empty-members",
            holds: "200,000 empty gzip members before a layer",
            outcome: Outcome::Read("read: an empty member costs little", inner),
            make: |scratch| {
                in_front(
                    scratch,
                    &compress(b"", Compression::Gzip).repeat(200_000),
                    Compression::Gzip,
                )
            },
        },
        Attack {
            name: "gzip-with-trailing-archive",
            holds: "a gzip layer followed by a second archive",
            outcome: Outcome::Refused("bytes that are not gzip follow its end"),
            make: |scratch| {
                let plain = ended(&[inner_file(b"etc/os-release")]);
                let honest = whole(plain.clone(), Compression::Gzip);
                let stored = [honest.stored, plain].concat();
                image(scratch, &[Layer { stored, ..honest }])
            },
        },
        Attack {
            name: "gzip-cut-off",
            holds: "a gzip layer without its last 20 bytes",
            outcome: Outcome::Refused("truncated"),
            make: |scratch| cut(scratch, Compression::Gzip),
        },
    ]
}

/// A layer with other compressed bytes in front.
fn in_front(scratch: &Path, front: &[u8], compression: Compression) -> Vec<String> {
    let honest = whole(ended(&[inner_file(b"etc/os-release")]), compression);
    let stored = [front, &honest.stored].concat();
    image(scratch, &[Layer { stored, ..honest }])
}

fn cut(scratch: &Path, compression: Compression) -> Vec<String> {
    let mut layer = whole(ended(&[inner_file(b"etc/os-release")]), compression);
    layer.stored.truncate(layer.stored.len() - 20);
    image(scratch, &[layer])
}

/// A zstd frame that asks for a window of `2^log` bytes and has an empty block (RFC 8878, "Window Descriptor").
fn window(log: u8) -> Vec<u8> {
    vec![0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3, 1, 0, 0]
}

/// A skippable zstd frame of this many bytes (RFC 8878, "Skippable Frames").
fn skippable(length: usize) -> Vec<u8> {
    let mut frame = vec![0x50, 0x2a, 0x4d, 0x18];
    frame.extend((length as u32).to_le_bytes());
    frame.resize(frame.len() + length, 7);
    frame
}

fn zstd() -> Vec<Attack> {
    vec![
        Attack {
            name: "zstd-bomb",
            holds: "10 GiB of zeros as 400 KB of zstd, with a limit of 256 MiB",
            outcome: Outcome::Refused("the limit layer-bytes"),
            make: |scratch| limited(scratch, bomb(Compression::Zstd, 640), "layer-bytes=256MiB"),
        },
        Attack {
            name: "zstd-ratio",
            holds: "5 GiB of zeros as 200 KB of zstd",
            outcome: Outcome::Refused("the limit ratio"),
            make: |scratch| image(scratch, &[bomb(Compression::Zstd, 320)]),
        },
        Attack {
            name: "zstd-window",
            holds: "a zstd frame with a window of 2 GiB",
            outcome: Outcome::Refused("the limit zstd-window"),
            make: |scratch| in_front(scratch, &window(31), Compression::Zstd),
        },
        Attack {
            name: "zstd-of-empty-frames",
            holds: "200,000 empty zstd frames with windows of 64 MiB before a layer",
            outcome: Outcome::Read("read: an empty frame costs little", inner),
            make: |scratch| in_front(scratch, &window(26).repeat(200_000), Compression::Zstd),
        },
        Attack {
            name: "zstd-of-skippable-frames",
            holds: "64 MiB of skippable frames, small and large, before a layer",
            outcome: Outcome::Read("read: they are skipped", inner),
            make: |scratch| {
                let frames = [skippable(0).repeat(100_000), skippable(64 * MIB)].concat();
                in_front(scratch, &frames, Compression::Zstd)
            },
        },
        Attack {
            name: "zstd-cut-off",
            holds: "a zstd layer without its last 20 bytes",
            outcome: Outcome::Refused("truncated"),
            make: |scratch| cut(scratch, Compression::Zstd),
        },
        Attack {
            name: "zstd-cut-off-in-a-skippable-frame",
            holds: "a zstd layer followed by an incomplete skippable frame",
            outcome: Outcome::Refused("truncated"),
            make: |scratch| {
                let honest = whole(ended(&[inner_file(b"etc/os-release")]), Compression::Zstd);
                let mut stored = [honest.stored, skippable(1000)].concat();
                stored.truncate(stored.len() - 500);
                image(scratch, &[Layer { stored, ..honest }])
            },
        },
    ]
}

fn types() -> Vec<Attack> {
    vec![Attack {
        name: "wrong-media-type",
        holds: "an OCI layout with a zstd layer whose media type says gzip",
        outcome: Outcome::Read("read: the content decides, as in container engines", inner),
        make: |scratch| {
            let gzip = "application/vnd.oci.image.layer.v1.tar+gzip";
            let plain = ended(&[inner_file(b"etc/os-release")]);
            let layer = whole(plain, Compression::Zstd);
            let config = config(vec![layer.diff_id]).to_string().into_bytes();
            let manifest = json!({
                "schemaVersion": 2,
                "config": descriptor("application/vnd.oci.image.config.v1+json", &config),
                "layers": [descriptor(gzip, &layer.stored)],
            });
            layout(scratch, &manifest, vec![config, layer.stored])
        },
    }]
}
