#![no_main]

use aizuchi_fuzz::Target;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| (Target::named("export_lines").run)(bytes));
