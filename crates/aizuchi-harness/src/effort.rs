//! How many generated cases a test run has. The ordinary numbers let every test fail; `AIZUCHI_THOROUGH=1` runs those
//! that the documentation counts.

/// The second number in a thorough run.
pub fn cases<T>(ordinary: T, thorough: T) -> T {
    match is_thorough() {
        true => thorough,
        false => ordinary,
    }
}

pub fn is_thorough() -> bool {
    std::env::var_os("AIZUCHI_THOROUGH").is_some_and(|value| value == "1")
}
