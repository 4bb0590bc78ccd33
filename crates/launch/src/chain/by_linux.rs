//! What Linux does with the file of a program that is no script (`load_elf_binary` in `fs/binfmt_elf.c`).

use std::rc::Rc;

use super::Chain;
use crate::failure::StartFailure;
use crate::value::Cause;
use imgcheck_elf::Refusal;
use imgcheck_image::{Content, Node};

/// What is said of ENOEXEC (`execve(2)`).
pub(super) const EXEC_FORMAT: &str = "exec format error";

impl Chain<'_, '_> {
    /// Whether a program certainly does not run: it is empty or cut off, or its dynamic loader is not in the image.
    pub(super) fn is_refused_by_linux(
        &mut self,
        path: &str,
        node: Node,
        cause: &Rc<Cause>,
    ) -> bool {
        let damaged = damage(node).map(|message| ("damaged", "", message));
        let loader = self.absent_loader(node);
        let loader = loader.map(|it| ("loader", it, "no such file or directory"));
        let Some((kind, subject, message)) = damaged.or(loader) else {
            return false;
        };
        let failure = self.gaps.is_empty().then(|| StartFailure {
            subject: subject.to_owned(),
            ..StartFailure::of_file(kind, node, path, message)
        });
        self.note_start(
            cause,
            failure,
            &format!("starts {path}, which cannot be executed"),
        );
        true
    }

    /// The dynamic loader that a program names, if nothing brings it. In an image without any C library, the program fails for want of that,
    /// too, which the model of the loader says.
    fn absent_loader<'n>(&self, node: Node<'n>) -> Option<&'n str> {
        let loader = node.elf()?.interpreter.as_deref()?;
        let is_libc = |name: &str| name == "libc.so.6" || name.starts_with("ld-musl-");
        let is_absent = loader.starts_with('/') && !self.may_exist(loader, loader);
        let is_certain = is_absent && self.root.walk_tree().any(|it| is_libc(it.name()));
        is_certain.then_some(loader)
    }
}

/// How the execution of a file ends that is empty or cut off.
fn damage(node: Node) -> Option<&'static str> {
    let refusal = match node.content() {
        Some(Content::Elf(elf)) => elf.refusal?,
        Some(Content::BrokenElf { refusal, .. }) => (*refusal)?,
        _ if node.size() == 0 => Refusal::TooShort,
        _ => return None,
    };
    match refusal {
        Refusal::TooShort | Refusal::ProgramHeaders => Some(EXEC_FORMAT),
        // The process dies when it first touches what is missing: its data, which are at the end of the file.
        Refusal::Truncated => Some("segmentation fault"),
        _ => None,
    }
}
