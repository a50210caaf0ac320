//! Registers, counters and functions of the architectures.

use std::collections::BTreeMap;

use super::value::Value;

/// State of the externs, and what they were asked for.
#[derive(Default)]
pub(crate) struct Externs {
    /// Cells of registers, by the path of the register.
    registers: BTreeMap<String, BTreeMap<u128, u128>>,
    /// Packets, by the path of the counter and the cell.
    pub(crate) counted: BTreeMap<(String, u128), u64>,
    /// Clone session that the packet is cloned to, and the list of fields that it keeps.
    pub(crate) cloned_to: Option<(u128, u128)>,
    /// Next random number.
    random: u128,
}

/// Port of packets that are dropped (v1model.p4).
pub(crate) const DROP_PORT: u128 = 511;

impl Externs {
    /// Calls a method, which may change its arguments; the places of those that it gives back.
    pub(crate) fn method(
        &mut self,
        path: &str,
        r#type: &str,
        size: Option<u128>,
        method: &str,
        arguments: &mut [Value],
    ) -> Vec<usize> {
        let cell = |at: &Value| {
            let at = at.number();
            assert!(at < size.unwrap(), "{path} has no cell {at}");
            at
        };
        match (r#type, method) {
            ("register", "read") => {
                let cell = cell(&arguments[1]);
                let value = self.registers.get(path).and_then(|cells| cells.get(&cell)).copied();
                let value = Value::Bits(value.unwrap_or(0), 0);
                arguments[0].set(&value);
                vec![0]
            }
            ("register", "write") => {
                let cells = self.registers.entry(path.to_owned()).or_default();
                cells.insert(cell(&arguments[0]), arguments[1].number());
                Vec::new()
            }
            ("counter", "count") => {
                *self.counted.entry((path.to_owned(), cell(&arguments[0]))).or_default() += 1;
                Vec::new()
            }
            other => panic!("{path}: {other:?} is not known here"),
        }
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
                self.random = self.random.wrapping_mul(25_214_903_917).wrapping_add(11);
                arguments[0].set(&Value::Bits(low + (self.random >> 16) % (high - low + 1), 0));
                vec![0]
            }
            // RFC 1071: the complement of the sum in ones' complement.
            "update_checksum" => {
                let [Value::Bool(is_wanted), Value::Struct(fields), ..] = arguments else { panic!("{name}") };
                if !*is_wanted {
                    return Vec::new();
                }
                let mut bits = Vec::new();
                for at in 0..fields.len() {
                    let Value::Bits(number, width) = fields[&at.to_string()] else { panic!("{name}") };
                    bits.extend((0..width).rev().map(|bit| number >> bit & 1 == 1));
                }
                let words = bits
                    .chunks(16)
                    .map(|bits| bits.iter().fold(0u32, |word, bit| word << 1 | u32::from(*bit)));
                let mut sum: u32 = words.sum();
                while sum > 0xffff {
                    sum = (sum & 0xffff) + (sum >> 16);
                }
                arguments[2].set(&Value::Bits(u128::from(!sum & 0xffff), 16));
                vec![2]
            }
            other => panic!("{other} is no function that is known here"),
        }
    }
}
