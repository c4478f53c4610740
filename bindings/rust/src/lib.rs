//! The messages and clients of devtool, generated from its protos.

connectrpc::include_generated!();

pub mod converse;
