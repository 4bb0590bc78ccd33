//! What requests to a repository may do.

/// What requests may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read.
    Pull,
    /// Read and write.
    Push,
    /// List the repositories of a registry.
    Catalog,
}

impl Access {
    /// The scope of a token (distribution project, "Token Scope Documentation").
    pub(super) fn scope(self, repository: &str) -> String {
        match self {
            Access::Pull => format!("repository:{repository}:pull"),
            Access::Push => format!("repository:{repository}:pull,push"),
            Access::Catalog => "registry:catalog:*".to_owned(),
        }
    }
}
