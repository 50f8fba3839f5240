//! Structures of files: fields at fixed offsets, declared by [`structure!`].

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    /// The lowest byte first.
    Little,
    /// The highest byte first.
    Big,
}

/// A type of fields.
pub(crate) trait FieldType: Sized {
    /// Reads the value at the start of `bytes`, which must be long enough.
    fn read(bytes: &[u8], order: ByteOrder) -> Self;

    /// Writes the value to the start of `bytes`, which must be long enough.
    fn write(&self, bytes: &mut [u8], order: ByteOrder);
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(
            impl FieldType for $number {
                fn read(bytes: &[u8], order: ByteOrder) -> Self {
                    let bytes = *bytes.first_chunk().expect("the caller has checked the length");
                    match order {
                        ByteOrder::Little => Self::from_le_bytes(bytes),
                        ByteOrder::Big => Self::from_be_bytes(bytes),
                    }
                }

                fn write(&self, bytes: &mut [u8], order: ByteOrder) {
                    let value = match order {
                        ByteOrder::Little => self.to_le_bytes(),
                        ByteOrder::Big => self.to_be_bytes(),
                    };
                    bytes[..value.len()].copy_from_slice(&value);
                }
            }
        )*
    };
}
numbers!(u8 u16 u32 u64);

impl<const LEN: usize> FieldType for [u8; LEN] {
    fn read(bytes: &[u8], _: ByteOrder) -> Self {
        *bytes.first_chunk().expect("the caller has checked the length")
    }

    fn write(&self, bytes: &mut [u8], _: ByteOrder) {
        bytes[..LEN].copy_from_slice(self);
    }
}

/// Declares a structure of a file: its byte order, and each field's name in the specification, type and offset in
/// bytes. For a structure `Header` with the field `size`, `header.size` is the value, and `Header::size` is the offset.
/// `Header::LEN` is the end of the last field.
macro_rules! structure {
    (
        $(#[$doc:meta])*
        $visibility:vis struct $name:ident: $order:ident {
            $($(#[$field_doc:meta])* $field:ident: $type:ty = $at:literal,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        $visibility struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        #[allow(dead_code, non_upper_case_globals, reason = "a use needs only some of them; offsets are named as fields")]
        impl $name {
            $(pub const $field: u64 = $at;)*

            pub const LEN: usize = {
                let (mut len, ends) = (0, [$($at + size_of::<$type>(),)*]);
                let mut number = 0;
                while number < ends.len() {
                    len = if ends[number] > len { ends[number] } else { len };
                    number += 1;
                }
                len
            };

            /// The structure whose fields are all zero.
            pub fn zero() -> Self {
                Self::parse(&[0; Self::LEN])
            }

            /// Parses the structure at the start of `bytes`, which must have at least `LEN` bytes.
            pub fn parse(bytes: &[u8]) -> Self {
                use $crate::structure::{ByteOrder, FieldType};
                Self { $($field: FieldType::read(&bytes[$at..], ByteOrder::$order),)* }
            }

            /// Parses as much of the structure as `bytes` have. The rest is zero.
            pub fn parse_start(bytes: &[u8]) -> Self {
                let mut whole = [0; Self::LEN];
                let len = bytes.len().min(Self::LEN);
                whole[..len].copy_from_slice(&bytes[..len]);
                Self::parse(&whole)
            }

            /// Returns the bytes of the structure. Bytes between the fields are zero.
            pub fn to_bytes(self) -> [u8; Self::LEN] {
                use $crate::structure::{ByteOrder, FieldType};
                let mut bytes = [0; Self::LEN];
                $(self.$field.write(&mut bytes[$at..], ByteOrder::$order);)*
                bytes
            }
        }
    };
}
pub(crate) use structure;

#[cfg(test)]
mod tests {
    structure! {
        struct Little: Little {
            first: u16 = 0,
            text: [u8; 3] = 2,
            last: u32 = 8,
        }
    }

    structure! {
        struct Big: Big {
            last: u64 = 4,
            first: u8 = 1,
        }
    }

    #[test]
    fn structures_are_read_and_written() {
        let bytes: Vec<u8> = (1..=14).collect();
        let little = Little::parse(&bytes);
        assert_eq!((little.first, little.text, little.last), (0x0201, [3, 4, 5], 0x0c0b_0a09));
        assert_eq!((Little::first, Little::text, Little::last, Little::LEN), (0, 2, 8, 12));
        assert_eq!(little.to_bytes(), [1, 2, 3, 4, 5, 0, 0, 0, 9, 10, 11, 12]);
        let start = Little::parse_start(&bytes[..9]);
        assert_eq!((start.first, start.text, start.last), (0x0201, [3, 4, 5], 9));
        assert_eq!(Little::zero().to_bytes(), [0; 12]);
        let big = Big::parse(&bytes);
        assert_eq!((big.first, big.last, Big::LEN), (2, 0x0506_0708_090a_0b0c, 12));
        assert_eq!(big.to_bytes(), [0, 2, 0, 0, 5, 6, 7, 8, 9, 10, 11, 12]);
    }
}
