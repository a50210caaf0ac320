//! Reader of P4-16 sources, as far as the injector's programs use the language (P4-16 specification 1.2). Tests read the programs
//! with it, and hold their tables, constants and steps to the pipeline.

mod ast;
mod parse;
mod token;

pub use ast::{
    Annotation, BinaryOp, Block, Control, Declaration, Entry, Expression, Field, Fields, Function, Instance,
    Key, Parser, Program, State, Statement, Table, Transition, Type, UnaryOp, Variable,
};
pub use parse::{SourceError, parse};
