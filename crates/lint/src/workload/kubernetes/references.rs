//! Objects that others refer to by name, such as templates and tasks.

use super::objects::Objects;
use imgcheck_base::document::Node;

/// A reference to an object that is not in the input.
pub(super) struct MissingObject {
    /// `WorkflowTemplate train`.
    pub title: String,
    /// The reference.
    pub reference: Node,
}

/// Finds what an object refers to, and notes what is not in the input.
pub(super) struct References<'o> {
    /// The namespace of the object.
    pub namespace: &'o str,
    pub objects: &'o Objects,
    pub missing: Vec<MissingObject>,
}

impl<'o> References<'o> {
    pub fn of(namespace: &'o str, objects: &'o Objects) -> Self {
        References {
            namespace,
            objects,
            missing: Vec::new(),
        }
    }

    /// The specification of an object of the same namespace, or of one that has none.
    pub fn specification(
        &mut self,
        kind: &str,
        has_namespace: bool,
        reference: &Node,
    ) -> Option<&'o Node> {
        let name = reference.text_of("name")?;
        let namespace = if has_namespace { self.namespace } else { "" };
        let found = self.objects.runtime(kind, namespace, name);
        let spec = found.and_then(|it| it.get("spec"));
        if spec.is_none() {
            self.miss(format!("{kind} {name}"), reference);
        }
        spec
    }

    pub fn miss(&mut self, title: String, reference: &Node) {
        if self.missing.iter().all(|it| it.title != title) {
            let reference = reference.clone();
            self.missing.push(MissingObject { title, reference });
        }
    }
}
