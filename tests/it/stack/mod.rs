//! The stack of small images, one of each kind.

mod amd;
mod builder;
mod hostile;
mod libraries;
mod network;
mod python;
mod records;
mod system;
mod tools;
mod torch;
mod unknown_gpu_code;
mod weights;
