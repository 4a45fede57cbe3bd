//! Records with an encoding of fixed size.

use jiff::Timestamp;

/// A record that can be stored in a file with others of its type.
pub trait Fixed: Copy {
    /// The size of the encoding.
    const BYTES: usize;

    /// Encodes the record into [`Self::BYTES`] bytes.
    fn write(self, bytes: &mut [u8]);

    /// Decodes a record. All zeros must be a valid encoding.
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! fixed_numbers {
    ($($number:ty),*) => {
        $(impl Fixed for $number {
            const BYTES: usize = size_of::<$number>();

            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Self {
                let mut number = [0; size_of::<$number>()];
                number.copy_from_slice(bytes);
                Self::from_le_bytes(number)
            }
        })*
    };
}

fixed_numbers!(u8, u32, u64, i32, i64, f64);

impl<A: Fixed, B: Fixed> Fixed for (A, B) {
    const BYTES: usize = A::BYTES + B::BYTES;

    fn write(self, bytes: &mut [u8]) {
        let (one, other) = bytes.split_at_mut(A::BYTES);
        self.0.write(one);
        self.1.write(other);
    }

    fn read(bytes: &[u8]) -> Self {
        let (one, other) = bytes.split_at(A::BYTES);
        (A::read(one), B::read(other))
    }
}

/// Encoded to the nanosecond.
impl Fixed for Timestamp {
    const BYTES: usize = <(i64, i32)>::BYTES;

    fn write(self, bytes: &mut [u8]) {
        (self.as_second(), self.subsec_nanosecond()).write(bytes);
    }

    fn read(bytes: &[u8]) -> Self {
        let (second, nanosecond) = <(i64, i32)>::read(bytes);
        Self::new(second, nanosecond).unwrap_or(Self::UNIX_EPOCH)
    }
}
