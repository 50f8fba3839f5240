//! The scope of a test run: `DECANT_TESTS` in the environment is `short`, `full` or `long`.
//!
//! Tests for `full` and `long` are in modules `full`, tests for `long` in modules `long`: `scripts/tests/rust.mjs`
//! leaves out the modules of larger scopes.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Short,
    Full,
    Long,
}

pub fn scope() -> Scope {
    match std::env::var("DECANT_TESTS").as_deref() {
        Err(_) | Ok("short") => Scope::Short,
        Ok("full") => Scope::Full,
        Ok("long") => Scope::Long,
        Ok(other) => panic!("DECANT_TESTS is '{other}', not one of short, full, long"),
    }
}

/// Returns the value for this scope.
pub fn by_scope<T>(short: T, full: T, long: T) -> T {
    match scope() {
        Scope::Short => short,
        Scope::Full => full,
        Scope::Long => long,
    }
}
