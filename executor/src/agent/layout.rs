//! The memory of a test's messages: place, data of the sender, data found by the receiver.

use std::ops::Range;

use corpus::Traffic;

use crate::verbs::Mr;

/// Messages start at multiples of this, so that words of the pattern are whole.
const WORD: usize = 8;

/// Bytes that are copied from and to registered memory at once.
const CHUNK: usize = 4096;

/// Layout of the messages: one after the other, connection by connection. The same at both hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    connections: u32,
    messages: u32,
    size: usize,
    seed: u64,
}

/// Contents of a message's memory, compared with those at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Content {
    /// Bytes that changed, with those behind it that belong to no message.
    pub(super) bytes: u64,
    /// True if each of these bytes is the sender's.
    pub(super) intact: bool,
}

impl Layout {
    pub(super) const fn of(traffic: &Traffic) -> Self {
        Self {
            connections: traffic.load.connections(),
            messages: traffic.num_msgs_per_qp,
            size: traffic.message_size as usize,
            seed: traffic.seed,
        }
    }

    const fn stride(&self) -> usize {
        self.size.next_multiple_of(WORD)
    }

    /// Bytes of all messages; a test within corpus's bounds has fewer than 2^35.
    pub(super) const fn bytes(&self) -> u64 {
        (self.stride() as u64).saturating_mul(self.messages as u64).saturating_mul(self.connections as u64)
    }

    /// First byte of the messages of a connection (from 0).
    pub(super) const fn connection(&self, connection: u32) -> usize {
        connection as usize * self.messages as usize * self.stride()
    }

    /// Offset of a message (both from 0), counted from the beginning of its connection.
    pub(super) const fn within_connection(&self, message: u32) -> usize {
        message as usize * self.stride()
    }

    /// Offset of a message (both from 0).
    pub(super) const fn message(&self, connection: u32, message: u32) -> Range<usize> {
        let start = self.connection(connection) + self.within_connection(message);
        start..start + self.size
    }

    /// Writes the sender's data of a message.
    pub(super) fn fill_sender(&self, memory: &mut Mr, connection: u32, message: u32) {
        self.fill(memory, connection, message, 0);
    }

    /// Writes the receiver's memory of a message before it arrives: the complement of the message, so that
    /// every byte tells if it was written.
    pub(super) fn fill_receiver(&self, memory: &mut Mr, connection: u32, message: u32) {
        self.fill(memory, connection, message, u64::MAX);
    }

    /// Fills a message, and the bytes between it and the next one.
    fn fill(&self, memory: &mut Mr, connection: u32, message: u32, flip: u64) {
        let (start, pattern) =
            (self.message(connection, message).start, Pattern::new(self.seed, connection, message));
        let range = start..start + self.stride();
        let mut chunk = [0; CHUNK];
        for start in range.clone().step_by(CHUNK) {
            let bytes = &mut chunk[..CHUNK.min(range.end - start)];
            pattern.write((start - range.start) / WORD, flip, bytes);
            memory.write(start, bytes);
        }
    }

    /// Returns true if the last byte of the receiver's memory of a message is not what it was before.
    pub(super) fn is_last_changed(&self, memory: &Mr, connection: u32, message: u32) -> bool {
        let range = self.message(connection, message);
        let Some(last) = range.len().checked_sub(1) else { return false };
        let (mut untouched, mut found) = ([0; WORD], [0]);
        let word = last / WORD;
        Pattern::new(self.seed, connection, message).write(word, u64::MAX, &mut untouched);
        memory.read(range.start + last, &mut found);
        found[0] != untouched[last % WORD]
    }

    /// Compares the receiver's memory of a message with its former contents, and with the sender's data.
    pub(super) fn verify(&self, memory: &Mr, connection: u32, message: u32) -> Content {
        let (range, pattern) =
            (self.message(connection, message), Pattern::new(self.seed, connection, message));
        let (mut expected, mut found) = ([0; CHUNK], [0; CHUNK]);
        let mut content = Content { bytes: 0, intact: true };
        for start in range.clone().step_by(CHUNK) {
            let length = CHUNK.min(range.end - start);
            let (expected, found) = (&mut expected[..length], &mut found[..length]);
            pattern.write((start - range.start) / WORD, 0, expected);
            memory.read(start, found);
            content.add(expected, found);
        }
        let behind = self.size % WORD;
        if behind > 0 {
            let (mut untouched, mut found) = ([0; WORD], [0; WORD]);
            pattern.write(self.size / WORD, u64::MAX, &mut untouched);
            memory.read(range.end - behind, &mut found);
            content.add_foreign(&untouched[behind..], &found[behind..]);
        }
        content
    }
}

impl Content {
    /// Compares bytes of the receiver's memory with the sender's. The former contents are the complement.
    fn add(&mut self, expected: &[u8], found: &[u8]) {
        if expected == found {
            self.bytes += found.len() as u64;
            return;
        }
        for (expected, found) in expected.iter().zip(found) {
            if *found != !expected {
                self.bytes += 1;
                self.intact &= found == expected;
            }
        }
    }

    /// Compares bytes that no message is written to with their former values.
    fn add_foreign(&mut self, untouched: &[u8], found: &[u8]) {
        let written = untouched.iter().zip(found).filter(|(untouched, found)| untouched != found).count();
        self.bytes += written as u64;
        self.intact &= written == 0;
    }
}

/// The bytes of one message, a function of seed, connection, message and place alone.
#[derive(Clone, Copy)]
struct Pattern(u64);

impl Pattern {
    const fn new(seed: u64, connection: u32, message: u32) -> Self {
        Self(mix(mix(seed) ^ ((connection as u64) << 32 | message as u64)))
    }

    /// The bytes from a word on, each bit of them flipped where `flip` has one.
    fn write(self, word: usize, flip: u64, bytes: &mut [u8]) {
        for (word, bytes) in (word as u64..).zip(bytes.chunks_mut(WORD)) {
            let word = mix(self.0.wrapping_add(word)) ^ flip;
            bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        }
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): neighbouring numbers become unrelated ones.
pub(super) const fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use corpus::{Load, Verb};
    use proptest::prelude::*;

    use super::*;

    fn layout(connections: u32, messages: u32, size: u32) -> Layout {
        Layout::of(&Traffic {
            load: Load::Same { verb: Verb::Write, connections },
            num_msgs_per_qp: messages,
            message_size: size,
            ..Traffic::default()
        })
    }

    fn pattern(connection: u32, message: u32, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        Pattern::new(1, connection, message).write(0, 0, &mut bytes);
        bytes
    }

    #[test]
    fn splitmix_is_the_published_one() {
        // The first outputs of the reference implementation with seed 1234567.
        let gamma = 0x9e37_79b9_7f4a_7c15_u64;
        assert_eq!(mix(1_234_567), 6_457_827_717_110_365_317);
        assert_eq!(mix(1_234_567_u64.wrapping_add(gamma)), 3_203_168_211_198_807_973);
    }

    #[test]
    fn every_byte_tells_whether_it_was_written_and_by_whom() {
        let sent = pattern(0, 0, 100);
        let untouched: Vec<u8> = sent.iter().map(|byte| !byte).collect();
        let content = |found: &[u8]| {
            let mut content = Content { bytes: 0, intact: true };
            content.add(&sent, found);
            (content.bytes, content.intact)
        };
        assert_eq!(content(&untouched), (0, true));
        assert_eq!(content(&sent), (100, true));
        let mut half = untouched.clone();
        half[..50].copy_from_slice(&sent[..50]);
        assert_eq!(content(&half), (50, true));
        half[10] ^= 1;
        assert_eq!(content(&half), (50, false));
        // Bytes behind the message.
        let behind = |found: &[u8]| {
            let mut content = Content { bytes: 100, intact: true };
            content.add_foreign(&untouched[..4], found);
            (content.bytes, content.intact)
        };
        assert_eq!(behind(&untouched[..4]), (100, true));
        assert_eq!(behind(&[0, untouched[1], 0, untouched[3]]), (102, false));
        // Another message's bytes, and another connection's.
        assert!(!content(&pattern(0, 1, 100)).1);
        assert!(!content(&pattern(1, 0, 100)).1);
    }

    #[test]
    fn a_pattern_may_be_written_in_pieces() {
        let whole = pattern(3, 4, 64);
        let mut pieces = vec![0; 64];
        Pattern::new(1, 3, 4).write(0, 0, &mut pieces[..24]);
        Pattern::new(1, 3, 4).write(3, 0, &mut pieces[24..]);
        assert_eq!(whole, pieces);
    }

    proptest! {
        #[test]
        fn messages_follow_each_other(connections in 1..5_u32, messages in 1..6_u32, size in 0..70_u32) {
            let layout = layout(connections, messages, size);
            let mut end = 0;
            for connection in 0..connections {
                for message in 0..messages {
                    let range = layout.message(connection, message);
                    prop_assert!(range.start >= end && range.start - end < WORD);
                    prop_assert_eq!(range.len(), size as usize);
                    prop_assert_eq!(
                        range.start,
                        layout.connection(connection) + layout.within_connection(message)
                    );
                    end = range.end;
                }
            }
            prop_assert!(layout.bytes() >= end as u64 && layout.bytes() - (end as u64) < WORD as u64);
        }
    }
}
