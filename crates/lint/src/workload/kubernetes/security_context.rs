//! The security contexts of a container and of its Pod.

use imgcheck_base::document::Node;

/// What `securityContext` of a container says, and that of its Pod.
pub(super) struct SecurityContext<'p> {
    container: Option<&'p Node>,
    pod: Option<&'p Node>,
}

impl<'p> SecurityContext<'p> {
    pub fn of(pod: &'p Node, container: &'p Node) -> Self {
        let [container, pod] = [container, pod].map(|it| it.get("securityContext"));
        SecurityContext { container, pod }
    }

    /// Whether a field that only containers have is true: `privileged`, `readOnlyRootFilesystem`.
    pub fn is_set(&self, field: &str) -> bool {
        self.container.and_then(|it| it.text_of(field)) == Some("true")
    }

    /// `runAsUser` and `runAsGroup`.
    pub fn user(&self) -> Option<String> {
        let of = |field: &str| self.value(field).and_then(Node::text);
        let user = of("runAsUser")?;
        Some(match of("runAsGroup") {
            Some(group) => format!("{user}:{group}"),
            None => user.to_owned(),
        })
    }

    /// The value of `runAsNonRoot`, if it is true.
    pub fn run_as_non_root(&self) -> Option<&'p Node> {
        let value = self.value("runAsNonRoot")?;
        (value.text() == Some("true")).then_some(value)
    }

    /// Whether the containers run in more groups than those of their user.
    pub fn has_other_groups(&self) -> bool {
        let groups = ["fsGroup", "supplementalGroups"];
        self.pod
            .is_some_and(|it| groups.iter().any(|name| it.get(name).is_some()))
    }

    /// A field of the container, or else of the Pod.
    fn value(&self, field: &str) -> Option<&'p Node> {
        let mut contexts = [self.container, self.pod].into_iter().flatten();
        contexts.find_map(|it| it.get(field))
    }
}
