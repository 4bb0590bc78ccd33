//! Tests that run in this process, or run the program, and need no container engine.
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs)]

mod api;
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
mod formats;
mod hostile;
mod html;
mod image;
mod injection;
mod integrations;
mod interrupt;
mod layer;
mod layout_directory;
mod limits;
mod lint;
mod lint_refused;
mod loader_cache;
mod loader_glibc;
mod loader_hostile;
mod loader_rules;
mod policy;
mod requests;
mod rules;
mod schemas;
mod small_images;
mod source;
mod stack;
mod targets;
mod threat_model;

#[path = "../support/documents.rs"]
mod documents;
#[path = "../support/layers.rs"]
mod layers;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/reports.rs"]
mod reports;
