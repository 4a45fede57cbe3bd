//! Declares an enum whose values have names for programs, the same in the database, in JSON and in schemas.

/// Declares an enum whose values have names: the variants' in snake case.
#[macro_export]
macro_rules! named_enum {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(
            Clone,
            Copy,
            Debug,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            serde::Serialize,
            serde::Deserialize,
            schemars::JsonSchema,
            strum::IntoStaticStr,
        )]
        #[serde(rename_all = "snake_case")]
        #[strum(serialize_all = "snake_case")]
        pub enum $name {
            $($(#[$variant_meta])* $variant),+
        }

        impl $name {
            /// Its name for programs: in the database, in JSON, in metrics or in the config.
            pub fn name(self) -> &'static str {
                self.into()
            }
        }
    };
}
