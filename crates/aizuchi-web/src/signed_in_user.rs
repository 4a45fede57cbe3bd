//! A visitor who signed in.

use std::sync::Arc;

use aizuchi_config::http::AccessRole;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedInUser {
    pub name: Arc<str>,
    pub role: AccessRole,
}
