//! `imgcheck rules`: list, show and test the rules.
