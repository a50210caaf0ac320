//! Messages in a stream of bytes, each behind its length: four bytes, the lowest first.

use prost::Message;

/// Bytes of a length.
const LENGTH: usize = 4;

/// Longest message: a test in a file has no more.
const LONGEST: usize = 64 << 20;

/// A message with its length.
pub(crate) fn framed(message: &impl Message) -> Vec<u8> {
    let mut bytes = (message.encoded_len() as u32).to_le_bytes().to_vec();
    bytes.extend(message.encode_to_vec());
    bytes
}

/// Bytes that have come in, until they are whole messages.
#[derive(Debug, Default)]
pub(crate) struct Frames(Vec<u8>);

impl Frames {
    /// Adds what has come in.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next message, once it is whole.
    ///
    /// # Errors
    /// It is none, in words.
    pub(crate) fn next<M: Message + Default>(&mut self) -> Result<Option<M>, String> {
        let Some((length, rest)) = self.0.split_first_chunk::<LENGTH>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > LONGEST {
            return Err(format!("a message of {length} bytes, of which {LONGEST} are allowed"));
        }
        let Some(message) = rest.get(..length) else { return Ok(None) };
        let message = M::decode(message).map_err(|error| error.to_string())?;
        self.0.drain(..LENGTH + length);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::proto::{Ended, Finish};

    #[test]
    fn messages_come_out_as_they_went_in_however_they_are_cut() {
        let ended = Ended { code: 3, reason: "no".into() };
        let bytes = [framed(&ended), framed(&Finish {}), framed(&ended)].concat();
        for cut in 1..bytes.len() {
            let mut frames = Frames::default();
            frames.add(&bytes[..cut]);
            let first = frames.next::<Ended>().unwrap();
            assert_eq!(first.is_some(), cut >= framed(&ended).len());
            frames.add(&bytes[cut..]);
            assert_eq!(first.or_else(|| frames.next().unwrap()), Some(ended.clone()));
            assert_eq!(frames.next().unwrap(), Some(Finish {}));
            assert_eq!(frames.next().unwrap(), Some(ended.clone()));
            assert_eq!(frames.next::<Finish>().unwrap(), None);
        }
    }

    #[test]
    fn what_is_no_message_is_said() {
        let mut frames = Frames::default();
        frames.add(&u32::MAX.to_le_bytes());
        assert!(frames.next::<Finish>().unwrap_err().contains("4294967295 bytes"));
        let mut frames = Frames::default();
        frames.add(&[1, 0, 0, 0, 0xff]);
        assert!(frames.next::<Ended>().is_err());
    }
}
