//! The tests as one program, which is linked once. Those that count what is allocated, and what fuzzing
//! shares, are programs of their own.

mod begun;
mod chains;
mod common;
mod containers;
mod deflate;
mod encode;
mod encryption;
mod expected;
mod fields;
mod generated;
mod gzip;
mod hostile;
mod inflate;
mod matrix;
mod pairs;
mod parts;
mod profile;
mod qed;
mod reads;
mod salvage;
mod shown;
mod tar;
mod vdi;
mod vmdk;
mod vmdk_damage;
mod writers;
mod zstd;
