//! Compiles the .proto files in Rust, so that no protoc is needed.

const FILES: [&str; 3] =
    ["p4/config/v1/p4info.proto", "p4/v1/p4runtime.proto", "lumina/capture/v1/capture.proto"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let files = protox::compile(FILES, ["proto"])?;
    tonic_prost_build::configure()
        // google.protobuf.Any is the only one: one message, for which no further library is needed.
        .compile_well_known_types(true)
        // Frames are shared with the capture, not copied.
        .bytes(".lumina.capture")
        .include_file("protocols.rs")
        .compile_fds(files)?;
    Ok(())
}
