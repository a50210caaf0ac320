//! [`Tables`](crate::Tables) as entries of P4Runtime, both ways.
//!
//! [`schema`] says which tables there are, with which fields: the P4Info. An entry is a row of numbers (`row`) that mean
//! something (`item`), and a [`Store`] keeps what a controller has written.

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
