//! One way to write a closed list of words: the enum, its stable names, and nothing else.

/// Defines an enum whose variants each have one stable name, which is what is written and read.
macro_rules! codes {
    ($($(#[$meta:meta])* pub enum $enum:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ })+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $enum { $($(#[$doc])* $variant,)+ }

        impl $enum {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The stable name: what stands in the record, in headers and in filters.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.name() == name)
            }
        }

        impl serde::Serialize for $enum {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    )+};
}

pub(crate) use codes;
