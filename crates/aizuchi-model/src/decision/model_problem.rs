//! Why a model does not answer, as far as an operator can do something about it.

named_enum! {
    /// The problem with a model. It persists until a call succeeds.
    pub enum ModelProblem {
        /// Nothing listens at its address.
        Unreachable,
        TimedOut,
        KeyRefused,
        /// The model does not exist, or its address is wrong.
        UnknownModel,
        /// The account has no funds.
        NoFunds,
        /// The rate limit is exceeded, or the service is overloaded.
        Overloaded,
        /// The server has an error of its own.
        ServerFailed,
        /// The model rejects requests made with these settings.
        RequestRejected,
        /// The response cannot be parsed.
        Garbled,
    }
}
