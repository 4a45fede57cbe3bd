//! What was said while nobody heard it.
