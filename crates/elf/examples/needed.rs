//! Prints what an ELF file asks the dynamic loader for, and the GPUs that it has code for:
//!
//!     cargo run -p imgcheck-elf --example needed -- /bin/ls

use std::error::Error;

use imgcheck_elf::{Depth, Recipes};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    // A table of libraries, by which exports each is known and where its version is. This one is empty.
    let recipes = Recipes::parse("no libraries", "libraries: []")?;
    let facts = imgcheck_elf::read(&std::fs::read(&path)?, &recipes, Depth::Default)?;
    let mut lines = vec![format!("{path}: machine {}", facts.machine)];
    lines.extend(facts.interpreter.map(|it| format!("  loader {it}")));
    lines.extend(facts.needed.iter().map(|it| format!("  needs {it}")));
    for need in &facts.version_needs {
        let versions = need.versions.iter().map(|(version, _)| version.as_str());
        let versions: Vec<&str> = versions.collect();
        lines.push(format!("  of {}: {}", need.file, versions.join(", ")));
    }
    lines.extend(facts.gpu.map(|it| format!("  GPU code: {it:?}")));
    #[allow(clippy::print_stdout)]
    {
        println!("{}", lines.join("\n"));
    }
    Ok(())
}
