//! Builds the rivals that are written in C and C++.
//!
//! Criterion cannot be built without a C compiler either. A missing C++ compiler is no error: `has_cpp` is not set then,
//! and the benches name whom they leave out.

use std::env;
use std::process::Command;

fn main() {
    let rustc = env::var_os("RUSTC").expect("cargo says which");
    let version = Command::new(rustc).arg("-V").output().expect("the compiler that builds this").stdout;
    println!("cargo::rustc-env=RUSTC_VERSION={}", String::from_utf8_lossy(&version).trim());

    println!("cargo::rerun-if-changed=rivals");
    let mut c = cc::Build::new();
    c.file("rivals/sscanf.c").opt_level(3).debug(false).warnings(true).compile("kfd_smi_sscanf");

    println!("cargo::rustc-check-cfg=cfg(has_cpp)");
    let mut cpp = cc::Build::new();
    // from_chars came with C++17.
    cpp.cpp(true).std("c++17").file("rivals/from_chars.cpp").opt_level(3).debug(false).warnings(true);
    match cpp.try_compile("kfd_smi_from_chars") {
        Ok(()) => println!("cargo::rustc-cfg=has_cpp"),
        Err(error) => println!("cargo::warning=the benches do without from_chars: {error}"),
    }
}
