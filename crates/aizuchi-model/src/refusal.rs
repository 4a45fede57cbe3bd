//! How reasons to refuse something are declared: each once, with its kind, a name for programs, and a sentence in the
//! reader's language.

/// Declares an enum of reasons: each with its data, its kind and name, and its sentence.
#[macro_export]
macro_rules! refusals {
    (@kind $kinds:ident = $kind:expr) => { $kind };
    (@kind $kinds:ident $kind:ident $id:expr) => { ($kinds::$kind, $id) };
    ($(#[$outer:meta])* $enum:ident: $kinds:ident |$language:ident| $(
        $(#[$doc:meta])*
        $name:ident $({ $($field:ident: $type:ty),* })? $(($inner:ident: $wrapped:ty))?
        [$($kind:tt)*] $sentence:expr;
    )*) => {
        $(#[$outer])*
        #[derive(Debug, strum::VariantNames)]
        pub enum $enum {
            $($(#[$doc])* $name $({ $($field: $type),* })? $(($wrapped))?,)*
        }

        impl $enum {
            /// Returns its kind, and its name for programs, which never changes.
            #[allow(unused_variables)]
            pub fn kind(&self) -> ($kinds, &'static str) {
                match self {
                    $($enum::$name $({ $($field),* })? $(($inner))? => {
                        $crate::refusals!(@kind $kinds $($kind)*)
                    })*
                }
            }

            /// Returns the sentence for the reader.
            pub fn describe(&self, $language: $crate::persona::Language) -> String {
                match self {
                    $($enum::$name $({ $($field),* })? $(($inner))? => {
                        String::from($sentence)
                    })*
                }
            }
        }
    };
}

/// What a refusal has to do with the one who asks, and with what they ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// They may not do it.
    Forbidden,
    /// It does not exist.
    Unknown,
    /// They ask for something that is not valid.
    Invalid,
    /// Its current state does not allow it.
    Conflict,
    /// It is larger than is accepted.
    TooLarge,
    /// It is of a kind that is not accepted.
    Unsupported,
    /// They ask for too much at once.
    TooMany,
    /// There is no space left.
    Full,
    /// It cannot be done now.
    Unavailable,
}
