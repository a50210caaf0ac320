//! Registers, counters and functions of the architectures.

use std::collections::BTreeMap;

use super::value::Value;

/// State of the externs, and what they were asked for.
#[derive(Default)]
pub(crate) struct Externs {
    /// Cells of registers, by the path of the register.
    registers: BTreeMap<String, BTreeMap<u128, Value>>,
    /// Packets, by the path of the counter and the cell.
    pub(crate) counted: BTreeMap<(String, u128), u64>,
    /// Clone session that the packet is cloned to, and the list of fields that it keeps.
    pub(crate) cloned_to: Option<(u128, u128)>,
    /// Session that the packet is mirrored to, and the header that stands before it.
    pub(crate) mirrored_to: Option<(u128, Value)>,
    /// Next random number.
    random: u128,
}

/// Port of packets that are dropped (v1model.p4).
pub(crate) const DROP_PORT: u128 = 511;

impl Externs {
    /// Calls a method, which may change its arguments: the places of those that it gives back, and its result.
    pub(crate) fn method(
        &mut self,
        path: &str,
        r#type: &str,
        size: Option<u128>,
        method: &str,
        arguments: &mut [Value],
    ) -> (Vec<usize>, Value) {
        let nothing = Value::Bool(true);
        match (r#type, method) {
            ("register", "read") => {
                let cell = self.cell(path, size, &arguments[1]).cloned();
                arguments[0].set(&cell.unwrap_or(Value::Bits(0, 0)));
                (vec![0], nothing)
            }
            ("register", "write") => {
                let value = arguments[1].clone();
                self.set_cell(path, size, &arguments[0], value);
                (Vec::new(), nothing)
            }
            ("counter" | "Counter", "count") => {
                let port = arguments[0].number();
                assert!(port < size.unwrap(), "{path} has no cell {port}");
                *self.counted.entry((path.to_owned(), port)).or_default() += 1;
                (Vec::new(), nothing)
            }
            ("Random", "get") => (Vec::new(), Value::Bits(self.draw() & 0xffff, 16)),
            ("Mirror", "emit") => {
                self.mirrored_to = Some((arguments[0].number(), arguments[1].clone()));
                (Vec::new(), nothing)
            }
            ("Checksum", "update") => (Vec::new(), Value::Bits(checksum(&arguments[0]), 16)),
            other => panic!("{path}: {other:?} is not known here"),
        }
    }

    /// The cell of a register; none if nothing was written to it.
    pub(crate) fn cell(&self, path: &str, size: Option<u128>, at: &Value) -> Option<&Value> {
        assert!(at.number() < size.unwrap(), "{path} has no cell {at:?}");
        self.registers.get(path).and_then(|cells| cells.get(&at.number()))
    }

    pub(crate) fn set_cell(&mut self, path: &str, size: Option<u128>, at: &Value, value: Value) {
        assert!(at.number() < size.unwrap(), "{path} has no cell {at:?}");
        self.registers.entry(path.to_owned()).or_default().insert(at.number(), value);
    }

    fn draw(&mut self) -> u128 {
        self.random = self.random.wrapping_mul(25_214_903_917).wrapping_add(11);
        self.random >> 16
    }

    /// Calls a function likewise.
    pub(crate) fn function(&mut self, name: &str, arguments: &mut [Value]) -> Vec<usize> {
        match name {
            "mark_to_drop" => {
                arguments[0].member("egress_spec").set(&Value::Bits(DROP_PORT, 9));
                arguments[0].member("mcast_grp").set(&Value::Bits(0, 16));
                vec![0]
            }
            "clone_preserving_field_list" => {
                self.cloned_to = Some((arguments[1].number(), arguments[2].number()));
                Vec::new()
            }
            "random" => {
                let (low, high) = (arguments[1].number(), arguments[2].number());
                arguments[0].set(&Value::Bits(low + self.draw() % (high - low + 1), 0));
                vec![0]
            }
            "update_checksum" => {
                if !arguments[0].bool() {
                    return Vec::new();
                }
                let sum = checksum(&arguments[1]);
                arguments[2].set(&Value::Bits(sum, 16));
                vec![2]
            }
            other => panic!("{other} is no function that is known here"),
        }
    }
}

/// Internet checksum of numbers one behind the other (RFC 1071): the complement of their sum in ones' complement.
fn checksum(of: &Value) -> u128 {
    let bytes = of.bytes();
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u128::from(!sum & 0xffff)
}
