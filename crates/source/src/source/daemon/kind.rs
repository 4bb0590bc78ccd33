//! The supported container engines.

/// A container engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// `docker-daemon:`
    Docker,
    /// `podman:`
    Podman,
}

impl EngineKind {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Docker => "Docker",
            EngineKind::Podman => "Podman",
        }
    }

    /// The command of its client.
    pub fn command(self) -> &'static str {
        match self {
            EngineKind::Docker => "docker",
            EngineKind::Podman => "podman",
        }
    }
}
