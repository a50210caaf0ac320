//! Limits on a host's report about the messages of a test: the agent is another program on another machine.

use corpus::Traffic;

/// Lists in which a message may stand once: completions, outstanding requests, deliveries.
const LISTS: u64 = 3;

/// Events that name no message, and more.
const OTHERS: u64 = 16;

/// The messages that there are, and how many more may be named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    connections: u32,
    /// Of each connection.
    messages: u32,
    left: u64,
}

impl Bounds {
    /// Of a test's traffic.
    pub(super) fn of(traffic: &Traffic) -> Self {
        let (connections, messages) = (traffic.load.connections(), traffic.num_msgs_per_qp);
        let all = u64::from(connections) * u64::from(messages);
        Self { connections, messages, left: LISTS * all + OTHERS }
    }

    /// Takes a list of messages, each by its connection and its number on it, both from 1.
    ///
    /// # Errors
    /// Description of the error: the test has no such message, or not as many.
    pub(super) fn take(&mut self, named: impl ExactSizeIterator<Item = (u32, u32)>) -> Result<(), String> {
        let cost = (named.len() as u64).max(1);
        self.left = self.left.checked_sub(cost).ok_or("more than there are messages")?;
        for (connection, message) in named {
            if !(1..=self.connections).contains(&connection) || !(1..=self.messages).contains(&message) {
                return Err(format!("message {message} of connection {connection}, which the test has not"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds() -> Bounds {
        let text = "[traffic]\nnum-connections = 2\nnum-msgs-per-qp = 3\n";
        Bounds::of(&corpus::from_toml("test.toml", text).unwrap().traffic)
    }

    #[test]
    fn only_messages_of_the_test_are_taken() {
        for (named, is_taken) in [
            ((1, 1), true),
            ((2, 3), true),
            ((0, 1), false),
            ((1, 0), false),
            ((3, 1), false),
            ((1, 4), false),
        ] {
            assert_eq!(bounds().take([named].into_iter()).is_ok(), is_taken, "{named:?}");
        }
    }

    #[test]
    fn there_is_an_end_of_them_and_of_empty_lists() {
        let mut all = bounds();
        for _ in 0..LISTS {
            let messages = (1..=2).flat_map(|connection| (1..=3).map(move |message| (connection, message)));
            all.take(messages.collect::<Vec<_>>().into_iter()).unwrap();
        }
        let others = std::iter::repeat_with(|| all.take([].into_iter())).take_while(Result::is_ok).count();
        assert_eq!(others as u64, OTHERS);
    }
}
