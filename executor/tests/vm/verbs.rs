//! Traffic without events.

use crate::pair::run;

#[test]
fn writes_pass() {
    run("rdma-verb = \"write\"\nnum-msgs-per-qp = 10\nmessage-size = 10240", "")
        .whole()
        .completes()
        .conforms();
}

#[test]
fn sends_pass() {
    run("rdma-verb = \"send\"\nnum-msgs-per-qp = 10\nmessage-size = 10240", "")
        .whole()
        .completes()
        .conforms();
}

#[test]
fn reads_pass() {
    run("rdma-verb = \"read\"\nnum-msgs-per-qp = 10\nmessage-size = 10240", "")
        .whole()
        .completes()
        .conforms();
}

#[test]
fn many_connections_of_one_byte_pass() {
    run(
        "rdma-verb = \"write\"\nnum-connections = 16\nnum-msgs-per-qp = 4\nmessage-size = 1\ntx-depth = 4",
        "",
    )
    .whole()
    .completes()
    .conforms();
}

#[test]
fn psns_wrap() {
    run("rdma-verb = \"send\"\ninitial-psn = 16777213\nnum-msgs-per-qp = 3\nmessage-size = 3000", "")
        .whole()
        .completes()
        .conforms();
}
