//! Builds the program again when a rule or table is added or removed: the compiler itself only watches those it knew.

fn main() {
    println!("cargo::rerun-if-changed=rules");
}
