//! The wasm of the `workers` engine, with the memory of one instance: coordinators, which open, read and convert images, and pool
//! workers, which run jobs.
mod executor;
mod exports;
mod map;
mod open_spec;
mod output_spec;
mod part_workers;
mod runner;
mod sources;
mod targets;
mod writable;
