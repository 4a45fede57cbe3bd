//! The `aizuchi` program; everything is in the library.

fn main() -> std::process::ExitCode {
    aizuchi::cli::main()
}
