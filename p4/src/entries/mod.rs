//! [`Tables`](crate::Tables) as entries of P4Runtime, both ways.
//!
//! [`schema`] lists the tables with their fields: the P4Info. An entry is a row of numbers (`row`) with a
//! meaning (`item`), and a [`Store`] keeps the entries that a controller has written.

mod info;
mod intent;
mod item;
pub mod program;
mod row;
pub mod schema;
mod store;

pub use info::{p4info, p4info_text, program_p4info};
pub use intent::{Intent, Item};
pub use item::{items, update};
pub use row::Refusal;
pub(crate) use row::table as check_table;
pub use store::Store;
pub(crate) use store::entity;
