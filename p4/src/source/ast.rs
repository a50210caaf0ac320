//! Syntax trees of P4 sources.

/// A source file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// Its declarations in order.
    pub declarations: Vec<Declaration>,
}

/// A declaration at the top of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Declaration {
    /// `#include "file"`; those of the language's own files, in angle brackets, are left out.
    Include(String),
    /// `const TYPE NAME = VALUE;`
    Const(Variable),
    /// `header NAME { ... }`
    Header(Fields),
    /// `struct NAME { ... }`
    Struct(Fields),
    /// `parser NAME(...) { ... }`
    Parser(Parser),
    /// `control NAME(...) { ... }`
    Control(Control),
    /// `TYPE(...) NAME;`
    Instance(Instance),
}

/// `@name(arguments)`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Annotation {
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<Expression>,
}

/// A type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Type {
    /// `bit<N>`
    Bit(u32),
    /// `bool`
    Bool,
    /// A named type, with its arguments: `register<bit<32>>`.
    Named(String, Vec<Type>),
}

/// A field of a header or struct, or a parameter of an action, a control or a parser.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its annotations.
    pub annotations: Vec<Annotation>,
    /// Direction of a parameter: `in`, `out` or `inout`, if one is given.
    pub direction: Option<String>,
    /// Its type.
    pub r#type: Type,
    /// Its name.
    pub name: String,
}

/// A header or a struct.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fields {
    /// Its name.
    pub name: String,
    /// Its fields in order.
    pub fields: Vec<Field>,
}

/// A variable or a constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its type.
    pub r#type: Type,
    /// Its name.
    pub name: String,
    /// Its value, where one is given.
    pub value: Option<Expression>,
}

/// `TYPE(arguments) NAME;`, or with functions of its own: `TYPE(arguments) NAME = { ... };`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instance {
    /// Its annotations.
    pub annotations: Vec<Annotation>,
    /// Its type.
    pub r#type: Type,
    /// Arguments of the constructor.
    pub arguments: Vec<Expression>,
    /// Its name.
    pub name: String,
    /// Functions that the extern calls, as a `RegisterAction` does.
    pub functions: Vec<Function>,
}

/// A parser.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parser {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<Field>,
    /// Instances that it declares.
    pub instances: Vec<Instance>,
    /// Its states in order.
    pub states: Vec<State>,
}

/// A state of a parser.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// Its name.
    pub name: String,
    /// Its statements.
    pub body: Block,
    /// The next state.
    pub transition: Transition,
}

/// Choice of the next state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Transition {
    /// Always this one.
    To(String),
    /// The first whose key sets match the values.
    Select(Vec<Expression>, Vec<(Vec<Expression>, String)>),
}

/// A control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Control {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<Field>,
    /// Its variables.
    pub variables: Vec<Variable>,
    /// Instances that it declares.
    pub instances: Vec<Instance>,
    /// Its actions.
    pub actions: Vec<Function>,
    /// Its tables.
    pub tables: Vec<Table>,
    /// `apply { ... }`
    pub apply: Block,
}

/// An action, or a function of an instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its annotations.
    pub annotations: Vec<Annotation>,
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<Field>,
    /// Its statements.
    pub body: Block,
}

/// A table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// Its annotations.
    pub annotations: Vec<Annotation>,
    /// Its name.
    pub name: String,
    /// Its key.
    pub keys: Vec<Key>,
    /// Its actions, with their annotations.
    pub actions: Vec<(Vec<Annotation>, String)>,
    /// Call of the default action.
    pub default_action: Option<Expression>,
    /// Entries that the program itself has, the first match wins.
    pub entries: Vec<Entry>,
    /// Most entries.
    pub size: Option<Expression>,
}

/// A field of a table's key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    /// The value that is matched.
    pub value: Expression,
    /// `exact` or `ternary`.
    pub kind: String,
    /// Its annotations.
    pub annotations: Vec<Annotation>,
}

/// An entry of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// A set for each field of the key.
    pub sets: Vec<Expression>,
    /// Call of the action.
    pub action: Expression,
}

/// Statements.
pub type Block = Vec<Statement>;

/// A statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// A variable with its value.
    Variable(Variable),
    /// `TO = VALUE;`
    Assign {
        /// What is assigned to.
        to: Expression,
        /// The value.
        value: Expression,
    },
    /// A call.
    Call(Expression),
    /// `if (CONDITION) { ... } else { ... }`
    If {
        /// The condition.
        condition: Expression,
        /// If it is true.
        then: Block,
        /// If it is false.
        otherwise: Block,
    },
    /// `{ ... }`
    Block(Block),
}

/// Operators of one argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    /// `!`
    Not,
    /// `~`
    Complement,
}

/// Operators of two arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    /// `&&&`: a value and the mask of its bits that count.
    Mask,
    /// `||`
    Or,
    /// `&&`
    And,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `&`
    BitAnd,
    /// `<<`
    ShiftLeft,
    /// `++`: bits behind bits.
    Concatenate,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `|+|`: to the largest number at most.
    AddSaturating,
}

/// An expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expression {
    /// A number, with its width in bits where the source gives one.
    Number(u128, Option<u32>),
    /// `true` or `false`.
    Bool(bool),
    /// A text, in annotations.
    Text(String),
    /// A name; `_` and `default` are names too.
    Name(String),
    /// `{a, b}` or `(a, b)`
    Tuple(Vec<Expression>),
    /// `value.name`
    Member(Box<Expression>, String),
    /// `value[at]`
    Index(Box<Expression>, Box<Expression>),
    /// `value[high:low]`
    Slice(Box<Expression>, Box<Expression>, Box<Expression>),
    /// `function<types>`, before its arguments.
    Generic(Box<Expression>, Vec<Type>),
    /// `function(arguments)`
    Call(Box<Expression>, Vec<Expression>),
    /// `(type) value`
    Cast(Type, Box<Expression>),
    /// An operator before its argument.
    Unary(UnaryOp, Box<Expression>),
    /// An operator between its arguments.
    Binary(BinaryOp, Box<Expression>, Box<Expression>),
}
