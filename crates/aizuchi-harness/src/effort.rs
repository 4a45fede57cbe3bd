//! How many generated cases a test run has. Ordinary counts suffice to make a broken test fail; `AIZUCHI_THOROUGH=1`
//! runs the counts that the documentation states.

/// Returns `thorough` in a thorough run, otherwise `ordinary`.
pub fn cases<T>(ordinary: T, thorough: T) -> T {
    match is_thorough() {
        true => thorough,
        false => ordinary,
    }
}

pub fn is_thorough() -> bool {
    std::env::var_os("AIZUCHI_THOROUGH").is_some_and(|value| value == "1")
}
