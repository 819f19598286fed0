//! Macro for enums with names, each written once.

/// Defines the names of an enum's variants. A missing variant doesn't compile.
macro_rules! names {
    ($enum:ident: $($variant:ident = $name:literal,)*) => {
        impl $enum {
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

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
