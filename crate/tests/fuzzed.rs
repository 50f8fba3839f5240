//! The tests that use the fuzzer's code, as one program: that code is compiled once for them.

mod allocations;
mod corpus;
#[path = "common/each_run.rs"]
#[allow(dead_code)]
mod each_run;
#[path = "../fuzz/src/lib.rs"]
#[allow(dead_code)]
mod fuzz;
#[path = "common/random.rs"]
#[allow(dead_code)]
mod random;
#[path = "common/scope.rs"]
mod scope;
