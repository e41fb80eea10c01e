//! Which settings a container was made with, as a short text that can be compared: the label of a container that was
//! made before the authority was changed, or by another version, is another one.

use sha2::{Digest, Sha256};

/// Of the authority that the container trusts, of its way out, and of this version's walls.
pub fn of(authorities: &str, way: &str) -> String {
    let mut digest = Sha256::new();
    for part in [env!("CARGO_PKG_VERSION"), crate::plan::WALLS_VERSION, way, authorities] {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}
