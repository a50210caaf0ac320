//! Messages and services of P4Runtime and of the capture, generated from `proto/`.

#![allow(missing_docs, unreachable_pub, unused_qualifications, clippy::all, clippy::pedantic)]

mod generated {
    include!(concat!(env!("OUT_DIR"), "/protocols.rs"));
}

pub use generated::google::protobuf::Any;
pub use generated::google::rpc;
pub use generated::lumina::capture::v1 as capture;
pub use generated::p4::config::v1 as config;
pub use generated::p4::v1 as runtime;
