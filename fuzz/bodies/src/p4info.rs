use p4::entries::program::Compiled;

/// Bytes of an error: names and lists of a P4Info are shown in part.
const LONGEST: usize = 8 << 10;

/// Reads a P4Info as a compiler writes it.
///
/// # Panics
/// When it is not kept whole, a counter has no number, or an error is as long as the input may be.
pub(crate) fn p4info(data: &[u8]) {
    match Compiled::read(data) {
        Ok(compiled) => {
            assert_eq!(compiled.p4info(), data);
            assert_eq!(compiled.counters().count(), 2);
        }
        Err(error) => assert!(error.to_string().len() < LONGEST, "{error}"),
    }
}
