//! Secret values: a type that cannot be printed, where its value comes from, and how it is taken out of
//! whatever is about to be shown.

pub mod redaction;
