//! Leaves out the C library and its start code.

fn main() {
    for argument in ["-nostdlib", "-nostartfiles", "-static"] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}
