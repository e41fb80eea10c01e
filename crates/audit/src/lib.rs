//! The record: every decision, written before what it decides is let go, in a chain of hashes.
