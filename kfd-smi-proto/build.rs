//! Chooses between the two ways to read a line: see `src/fast.rs`.
//!
//! The fast one needs 64-bit arithmetic and four times the code, so builds for small machines and for small size
//! have the grammar alone. What a line means is the same.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(fast_path)");
    let has_64_bits = env::var("CARGO_CFG_TARGET_POINTER_WIDTH").is_ok_and(|width| width == "64");
    let is_for_size = env::var("OPT_LEVEL").is_ok_and(|level| matches!(&*level, "s" | "z"));
    if has_64_bits && !is_for_size {
        println!("cargo::rustc-cfg=fast_path");
    }
}
