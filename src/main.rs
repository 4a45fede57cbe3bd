//! The `aizuchi` program. Everything is in the library.

fn main() -> std::process::ExitCode {
    aizuchi::cli::main()
}
