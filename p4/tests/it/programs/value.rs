//! Values of a running program.

use std::collections::BTreeMap;

use p4::source::Type;

use super::load::Loaded;

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    /// A number and its width in bits; a number without a width is as wide as the other one of its operator.
    Bits(u128, u32),
    Bool(bool),
    Struct(BTreeMap<String, Value>),
    /// A header, whose fields have an order on the wire.
    Header {
        is_valid: bool,
        fields: Vec<(String, Value)>,
    },
    /// A packet, of which a parser has read some bytes.
    Packet,
}

impl Value {
    /// The value of a type before anything is assigned to it.
    pub(crate) fn zero(r#type: &Type, program: &Loaded) -> Self {
        match r#type {
            Type::Bit(bits) => Self::Bits(0, *bits),
            Type::Bool => Self::Bool(false),
            Type::Named(name, _) => {
                let Some((fields, is_header)) = program.fields(r#type) else {
                    return alias(name).map_or_else(|| standard(name), |bits| Self::Bits(0, bits));
                };
                let fields =
                    fields.fields.iter().map(|it| (it.name.clone(), Self::zero(&it.r#type, program)));
                if is_header {
                    Self::Header { is_valid: false, fields: fields.collect() }
                } else {
                    Self::Struct(fields.collect())
                }
            }
        }
    }

    pub(crate) fn number(&self) -> u128 {
        match self {
            Self::Bits(value, _) => *value,
            Self::Bool(value) => u128::from(*value),
            other => panic!("{other:?} is no number"),
        }
    }

    /// Bytes of numbers one behind the other: those of a header or a tuple.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let numbers: Vec<&Self> = match self {
            Self::Header { fields, .. } => fields.iter().map(|(_, value)| value).collect(),
            Self::Struct(fields) => (0..fields.len()).map(|at| &fields[&at.to_string()]).collect(),
            other => panic!("{other:?} has no bytes"),
        };
        let mut bits: Vec<bool> = Vec::new();
        for number in numbers {
            let Self::Bits(number, width) = number else { panic!("{number:?} is no number") };
            bits.extend((0..*width).rev().map(|bit| number >> bit & 1 == 1));
        }
        bits.chunks(8).map(|bits| bits.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit))).collect()
    }

    pub(crate) fn bool(&self) -> bool {
        match self {
            Self::Bool(value) => *value,
            other => panic!("{other:?} is neither true nor false"),
        }
    }

    /// As a value of a width.
    pub(crate) fn to_bits(&self, bits: u32) -> Self {
        Self::Bits(self.number() & mask(bits), bits)
    }

    pub(crate) fn get(&self, name: &str) -> &Self {
        let member = match self {
            Self::Struct(fields) => fields.get(name),
            Self::Header { fields, .. } => {
                fields.iter().find(|(known, _)| known == name).map(|(_, value)| value)
            }
            _ => None,
        };
        member.unwrap_or_else(|| panic!("there is no field {name}"))
    }

    pub(crate) fn member(&mut self, name: &str) -> &mut Self {
        let member = match self {
            Self::Struct(fields) => fields.get_mut(name),
            Self::Header { fields, .. } => {
                fields.iter_mut().find(|(known, _)| known == name).map(|(_, value)| value)
            }
            _ => None,
        };
        member.unwrap_or_else(|| panic!("there is no field {name}"))
    }

    /// Replaces it by a value of its type.
    pub(crate) fn set(&mut self, value: &Self) {
        *self = match (&self, value) {
            (Self::Bits(_, bits), Self::Bits(number, given)) => {
                let fits = *given == *bits || *given == 0 && *number <= mask(*bits);
                assert!(fits, "{value:?} is no number of {bits} bits");
                Self::Bits(*number, *bits)
            }
            (Self::Bits(..), other) => panic!("{other:?} is no number"),
            _ => value.clone(),
        };
    }
}

/// The largest number of a width.
pub(crate) const fn mask(bits: u32) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

/// Width of a number that the architectures give a name (tofino1_specs.p4).
pub(crate) fn alias(name: &str) -> Option<u32> {
    match name {
        "PortId_t" => Some(9),
        "MirrorId_t" => Some(10),
        "MirrorType_t" => Some(3),
        _ => None,
    }
}

/// Types that the architectures declare.
fn standard(name: &str) -> Value {
    let fields: &[(&str, u32)] = match name {
        "packet_in" | "packet_out" => return Value::Packet,
        // v1model.p4
        "standard_metadata_t" => &[
            ("ingress_port", 9),
            ("egress_spec", 9),
            ("egress_port", 9),
            ("instance_type", 32),
            ("mcast_grp", 16),
            ("egress_rid", 16),
            ("ingress_global_timestamp", 48),
        ],
        // tofino1_specs.p4 and tofino1_base.p4
        "ingress_intrinsic_metadata_t" => &[("ingress_port", 9), ("ingress_mac_tstamp", 48)],
        "ingress_intrinsic_metadata_for_deparser_t" => &[("drop_ctl", 3), ("mirror_type", 3)],
        "ingress_intrinsic_metadata_for_tm_t" => &[("ucast_egress_port", 9), ("mcast_grp_a", 16)],
        "egress_intrinsic_metadata_t" => &[("egress_port", 9), ("egress_rid", 16)],
        "egress_intrinsic_metadata_for_deparser_t" => &[("drop_ctl", 3)],
        "ingress_intrinsic_metadata_from_parser_t"
        | "egress_intrinsic_metadata_from_parser_t"
        | "egress_intrinsic_metadata_for_output_port_t" => &[],
        other => panic!("{other} is no type that is known here"),
    };
    Value::Struct(fields.iter().map(|(name, bits)| ((*name).to_owned(), Value::Bits(0, *bits))).collect())
}
