//! Time from a capture to its verdicts: `cargo bench -p tests --bench verdicts`.
//!
//! The same capture as in `read`: mapped, read, checked for integrity and analysed, on one core.

mod common;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use dumper::capture::{self, ReadOptions};
use dumper::{Observation, integrity};

fn capture_to_verdicts(criterion: &mut Criterion) {
    let packets = common::packets();
    let file = common::capture_file(packets);
    let mut group = criterion.benchmark_group("verdicts");
    group.throughput(Throughput::Elements(packets as u64));
    group.sampling_mode(SamplingMode::Flat).sample_size(10).warm_up_time(Duration::from_millis(500));
    group.bench_function("capture-to-verdicts", |bencher| {
        bencher.iter_with_large_drop(|| {
            let captured = capture::read(&[&file], ReadOptions::default(), &mut |_| ())
                .expect("the generated capture is there");
            let observation = Observation::of_trace(captured.traced.trace, captured.connections);
            let integrity = integrity::check(&observation.trace, None);
            let analysis = scoring::analyze(&observation, scoring::Options::default());
            assert!(!integrity.is_invalid() && analysis.anomalies.is_empty());
            black_box((observation, analysis))
        });
    });
    group.finish();
}

criterion_group!(benches, capture_to_verdicts);
criterion_main!(benches);
