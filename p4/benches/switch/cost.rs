//! Processor time of a packet.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::packets;
use crate::rig::{Kind, Rig};

/// Time of a measurement.
const TIME: Duration = Duration::from_secs(4);

/// Packets that are on their way at most, so that none are lost.
const WINDOW: u64 = 2_048;

/// Packets that are sent, again and again.
const PACKETS: u32 = 100 * 1_000;

/// Sends from one host to the other as fast as the switch takes packets.
pub(crate) fn measure(kind: Kind, entries: u32) {
    let mut rig = Rig::start(kind);
    rig.program(&packets::tables(entries));
    let packets: Vec<_> = (0..PACKETS).map(|number| packets::frame(1, number)).collect();
    let (arrived, ended) = (AtomicU64::new(0), AtomicBool::new(false));
    let [before_used, before_softirq] = [rig.used(), softirq()];
    let begun = Instant::now();
    let hosts = std::mem::replace(&mut rig.hosts, [crate::rig::Host::at("a"), crate::rig::Host::at("b")]);
    let [mut sender, mut receiver] = hosts;
    let sent = thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                // It does not wait: the switch would have to wake it for each packet.
                let (frames, dropped) = receiver.into.receive(0);
                if frames == 0 {
                    thread::yield_now();
                }
                arrived.fetch_add(frames as u64 + dropped, Ordering::Relaxed);
            }
        });
        let mut sent = 0;
        for batch in packets.chunks(64).cycle() {
            while sent - arrived.load(Ordering::Relaxed) > WINDOW {
                thread::yield_now();
                assert!(
                    begun.elapsed() < 4 * TIME,
                    "{}: {} of {sent} packets arrive",
                    kind.name(),
                    arrived.load(Ordering::Relaxed)
                );
            }
            sender.out.send(batch);
            sent += batch.len() as u64;
            if begun.elapsed() > TIME {
                break;
            }
        }
        ended.store(true, Ordering::Relaxed);
        sent
    });
    // The sender's own port shows what is sent there.
    let _ = sender.into.receive(0);
    let took = begun.elapsed();
    let used = rig.used() - before_used;
    let softirq = softirq() - before_softirq;
    let arrived = arrived.load(Ordering::Relaxed);
    let per = |time: Duration| arrived as f64 / time.as_secs_f64();
    println!(
        "  {:<14} {entries:>6} entries: {:>9.0} (of the process alone {:>9.0}); {:>9.0} a second; {sent} sent, {arrived} arrived",
        kind.name(),
        per(used + softirq),
        per(used),
        per(took),
    );
}

/// Time that the first processor has spent in softirqs.
fn softirq() -> Duration {
    let stat = std::fs::read_to_string("/proc/stat").unwrap();
    // The seventh number of proc(5), in hundredths of a second.
    let first = stat.lines().find(|line| line.starts_with("cpu0 ")).unwrap();
    let ticks: u64 = first.split_whitespace().nth(7).unwrap().parse().unwrap();
    Duration::from_millis(10 * ticks)
}
