//! Time from a capture to its trace: `cargo bench -p tests --bench read`.
//!
//! The capture is mirrored Write traffic, trimmed to 128 bytes a packet; `LUMINA_BENCH_PACKETS` says how much.

mod common;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use dumper::capture::{self, ReadOptions};

fn capture_to_trace(criterion: &mut Criterion) {
    let packets = common::packets();
    let file = common::capture_file(packets);
    let mut group = criterion.benchmark_group("read");
    group.throughput(Throughput::Elements(packets as u64));
    group.sampling_mode(SamplingMode::Flat).sample_size(10).warm_up_time(Duration::from_millis(500));
    group.bench_function("capture-to-trace", |bencher| {
        bencher.iter_with_large_drop(|| {
            let captured = capture::read(&[&file], ReadOptions::default(), &mut |_| ())
                .expect("the generated capture is there");
            assert_eq!(captured.traced.trace.records().len(), packets);
            black_box(captured)
        });
    });
    group.finish();
}

criterion_group!(benches, capture_to_trace);
criterion_main!(benches);
