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
                    return standard(name);
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
        other => panic!("{other} is no type that is known here"),
    };
    Value::Struct(fields.iter().map(|(name, bits)| ((*name).to_owned(), Value::Bits(0, *bits))).collect())
}
