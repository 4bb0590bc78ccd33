//! Tests that run in this process, or run the program, and need no container engine.
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs)]

mod ambiguous_images;
mod api;
mod attest;
mod cache;
mod chunked;
mod claims;
mod cli;
mod contributing;
mod diff;
mod documentation;
mod driver_rules;
mod elf_disassembly;
mod elf_fat_binary;
mod elf_object;
mod elf_refusal;
mod explain;
mod fleet;
mod formats;
mod gaps;
#[cfg(feature = "gate")]
mod gate;
mod hostile;
mod html;
mod image;
mod imports;
mod imports_beside_text;
mod imports_left_out;
mod imports_native;
mod imports_of_command;
mod imports_real;
mod imports_shadowed;
mod init;
mod injection;
mod integrations;
mod interrupt;
mod launch;
mod layer;
mod layout_directory;
mod limits;
mod linked_files;
mod lint;
mod lint_refused;
mod loader_cache;
mod loader_chroot;
mod loader_glibc;
mod loader_hostile;
mod loader_rules;
mod names;
mod policy;
mod preflight;
mod process;
mod python_path;
mod questions;
mod requests;
mod requirements;
mod rules;
mod sample;
mod sboms;
mod schemas;
mod settings;
mod shadowed_packages;
mod size;
mod small_images;
mod source;
mod stack;
mod startup_code;
mod sweep;
mod targets;
mod threat_model;
mod usage;
mod views;

#[path = "../support/browser.rs"]
mod browser;
#[path = "../support/documents.rs"]
mod documents;
#[path = "../support/formats.rs"]
mod format_support;
#[path = "../support/layers.rs"]
mod layers;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/reports.rs"]
mod reports;
#[cfg(feature = "object-storage")]
#[path = "../support/s3.rs"]
mod s3;
#[path = "../support/sample_image.rs"]
mod sample_image;
#[path = "../support/samples.rs"]
mod samples;
#[path = "../support/sweep_case.rs"]
mod sweep_case;
