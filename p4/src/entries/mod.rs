//! [`Tables`](crate::Tables) as entries of P4Runtime, both ways.
//!
//! [`schema`] says which tables there are, with which fields: the P4Info. A [`row`] is an entry with its numbers, an
//! [`item`] what they mean, and a [`Store`] the items that a controller has written.

mod info;
mod item;
mod row;
pub mod schema;
mod store;

pub use info::{p4info, p4info_text};
pub use item::{items, update};
pub use row::Refusal;
pub(crate) use row::table as check_table;
pub use store::Store;
pub(crate) use store::entity;
