//! Failures as numbers.

/// A failure of a module. It travels as a negative number.
pub trait Failure: Copy {
    /// Memory ran out.
    const OUT_OF_MEMORY: Self;

    /// Its number.
    fn number(self) -> i32;

    /// The failure with this number, if there is one.
    fn with_number(number: i32) -> Option<Self>;
}

/// Declares an enumeration of failures with their numbers. One of them is `OutOfMemory`.
#[macro_export]
macro_rules! failures {
    ($(#[$attribute:meta])* pub enum $Name:ident { $($(#[$of_variant:meta])* $Variant:ident = $number:literal,)+ }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Name {
            $($(#[$of_variant])* $Variant = $number,)+
        }

        impl $crate::Failure for $Name {
            const OUT_OF_MEMORY: Self = Self::OutOfMemory;

            fn number(self) -> i32 {
                self as i32
            }

            fn with_number(number: i32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$Variant),)+
                    _ => None,
                }
            }
        }
    };
}
