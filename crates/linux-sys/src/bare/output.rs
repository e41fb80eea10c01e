//! Words for whoever called.

use super::call;

/// Writes to a descriptor as much as it takes. Standard error being gone is no reason to end differently.
pub fn write_all(descriptor: i32, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match call::write(descriptor, bytes) {
            Ok(count) if count > 0 => bytes = &bytes[count..],
            _ => return,
        }
    }
}
