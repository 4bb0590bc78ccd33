//! `imgcheck serve` as a cluster and other programs meet it: the program itself, over TLS, with registries on loopback.

mod admission;
mod attested;
mod browser;
mod chart;
mod events;
mod exceptions;
mod hanging;
mod harbor;
mod images;
mod imports;
mod match_conditions;
mod mutation;
mod operations;
mod page;
mod queue;
mod refused;
mod rest;
mod server;
mod store;
#[cfg(feature = "otel")]
mod traces;
