//! The local room's API on the real program: requests, errors, and recovery after a kill.

mod answers;
mod users_and_channels;
mod messages;
mod decisions;
mod refusals;
mod stream;
mod readiness;
mod stops;
