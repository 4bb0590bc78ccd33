//! Image references: registry, repository, tag and digest.
