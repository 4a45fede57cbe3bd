//! Measures a mind against labeled cases: how often it joins in where it should. Nothing here is stored or posted.

pub mod case;
pub mod answers;
pub mod calls;
pub mod decide;
pub mod prompts;
