//! The names of an enum's variants, each written once.

/// Gives an enum its names. A missing variant doesn't compile.
macro_rules! names {
    ($enum:ident: $($variant:ident = $name:literal,)*) => {
        impl $enum {
            /// Every variant, in the order of docs/interface.md.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// The name on the wire, in logs and in labels.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}
pub(crate) use names;
