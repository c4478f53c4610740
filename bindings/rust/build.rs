//! Generates the messages and clients from `devtool.binpb`, the protos in one file.

use buffa::Message;
use buffa_descriptor::generated::descriptor::FileDescriptorSet;
use std::path::{Path, PathBuf};

/// Where the protos are: beside this file, or where a clone builds them.
const PLACES: [&str; 2] = ["devtool.binpb", "../../packages/schema/dist/devtool.binpb"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let protos = PLACES.map(PathBuf::from).into_iter().find(|path| path.exists());
    let protos = protos.ok_or("devtool.binpb is missing: copy it from the package @devtool/schema")?;
    connectrpc_build::Config::new()
        .descriptor_set(&protos)
        .files(&names_in(&protos)?)
        .include_file("_connectrpc.rs")
        .compile()?;
    println!("cargo:rerun-if-changed={}", protos.display());
    Ok(())
}

/// The files in a descriptor set that a client needs.
fn names_in(protos: &Path) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let set = FileDescriptorSet::decode_from_slice(&std::fs::read(protos)?)?;
    let names = set.file.iter().filter_map(|file| file.name.clone());
    Ok(names.filter(|name| is_for_clients(name)).collect())
}

/// Leaves out the annotations and the protobuf library's own, the dialect of Gemini CLI's server, and what of the
/// conformance kit is for its runner alone.
fn is_for_clients(name: &str) -> bool {
    let is_kit = name.starts_with("devtool/conformance/") && !name.ends_with("/program.proto");
    !is_kit && !name.starts_with("google/") && !name.starts_with("devtool/coder_agent/")
}
