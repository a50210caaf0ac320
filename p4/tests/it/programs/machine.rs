//! An interpreter of P4 programs: statements, tables, controls and parsers. What an architecture adds (registers, counters,
//! clones) is [`Externs`](super::externs::Externs).

use std::collections::BTreeMap;

use p4::entries::program::PROGRAM_TABLES;
use p4::proto::runtime::{TableEntry, field_match::FieldMatchType, table_action};
use p4::source::{
    BinaryOp, Block, Control, Expression, Field, Function, Instance, Statement, Table, Transition, Type,
    UnaryOp,
};

use super::externs::Externs;
use super::load::{Loaded, annotation, number_of};
use super::value::{Value, mask};

/// A program with its entries and the state of its externs.
pub(crate) struct Machine<'a> {
    pub(crate) program: &'a Loaded,
    /// Entries by the identifiers of their tables.
    entries: BTreeMap<u32, BTreeMap<Vec<u128>, TableEntry>>,
    pub(crate) externs: Externs,
    /// The packet that is parsed, and the bits of it that are read.
    pub(crate) input: Vec<u8>,
    pub(crate) read: usize,
    /// The packet that is put together.
    pub(crate) output: Vec<u8>,
}

/// The packet ended before a header.
pub(crate) struct TooShort;

/// Variables and names of one control, parser or action.
struct Frame<'a> {
    /// Names of the instances from the program on.
    path: String,
    control: Option<&'a Control>,
    instances: &'a [Instance],
    variables: BTreeMap<String, Value>,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(program: &'a Loaded) -> Self {
        let (entries, externs) = (BTreeMap::new(), Externs::default());
        Self { program, entries, externs, input: Vec::new(), read: 0, output: Vec::new() }
    }

    /// Adds an entry, or replaces the one with its key.
    pub(crate) fn write(&mut self, entry: TableEntry) {
        let (_, table) = self
            .program
            .tables()
            .find(|(_, table)| number_of(&table.annotations, "id") == entry.table_id)
            .unwrap_or_else(|| panic!("the program has no table {:#x}", entry.table_id));
        let mut key: Vec<(u32, u128)> = entry
            .r#match
            .iter()
            .map(|field| match &field.field_match_type {
                Some(FieldMatchType::Exact(exact)) => (field.field_id, number(&exact.value)),
                None => panic!("a match is exact"),
            })
            .collect();
        key.sort_unstable();
        let ids: Vec<_> = table.keys.iter().map(|key| number_of(&key.annotations, "id")).collect();
        assert!(key.iter().map(|(id, _)| *id).eq(ids), "{}: match fields", table.name);
        let key = key.into_iter().map(|(_, value)| value).collect();
        let all = self.entries.entry(entry.table_id).or_default();
        all.insert(key, entry);
        let size = self.program.number(table.size.as_ref().unwrap());
        assert!(all.len() as u128 <= size, "{} is full", table.name);
    }

    /// Runs a control on its arguments, which it may change.
    pub(crate) fn run(&mut self, path: &str, name: &str, arguments: &mut [Value]) {
        let control = &self.program.controls[name];
        let mut frame = Frame {
            path: path.to_owned(),
            control: Some(control),
            instances: &control.instances,
            variables: BTreeMap::new(),
        };
        for variable in &control.variables {
            let zero = Value::zero(&variable.r#type, self.program);
            frame.variables.insert(variable.name.clone(), zero);
        }
        bind(&mut frame, &control.params, arguments);
        self.block(&control.apply, &mut frame);
        give_back(&frame, &control.params, arguments);
    }

    /// Runs a parser likewise, from its state `start`.
    pub(crate) fn parse(&mut self, path: &str, name: &str, arguments: &mut [Value]) -> Result<(), TooShort> {
        let parser = &self.program.parsers[name];
        let mut frame = Frame {
            path: path.to_owned(),
            control: None,
            instances: &parser.instances,
            variables: BTreeMap::new(),
        };
        bind(&mut frame, &parser.params, arguments);
        let mut at = "start".to_owned();
        let mut result = Ok(());
        while at != "accept" {
            let state = parser.states.iter().find(|state| state.name == at);
            let state = state.unwrap_or_else(|| panic!("there is no state {at}"));
            for statement in &state.body {
                result = self.parser_statement(statement, &mut frame);
                if result.is_err() {
                    break;
                }
            }
            if result.is_err() {
                break;
            }
            at = match &state.transition {
                Transition::To(state) => state.clone(),
                Transition::Select(values, cases) => {
                    let values: Vec<_> = values.iter().map(|value| self.eval(value, &mut frame)).collect();
                    let case = cases.iter().find(|(sets, _)| self.matches(sets, &values));
                    case.map_or_else(|| "accept".to_owned(), |(_, state)| state.clone())
                }
            };
        }
        give_back(&frame, &parser.params, arguments);
        result
    }

    fn parser_statement(&mut self, statement: &Statement, frame: &mut Frame<'a>) -> Result<(), TooShort> {
        let call = match statement {
            Statement::Call(Expression::Call(function, arguments)) => match function.as_ref() {
                Expression::Member(object, method) => Some((object.as_ref(), method.as_str(), arguments)),
                _ => None,
            },
            _ => None,
        };
        match call {
            Some((_, "extract", arguments)) => self.extract(&arguments[0], frame),
            // Metadata before the packet, which is not among the bytes here.
            Some((_, "advance", _)) => Ok(()),
            Some((Expression::Name(object), "apply", arguments)) => {
                let parser = instance(frame, object);
                let Type::Named(r#type, _) = &parser.r#type else { panic!("{object} is no parser") };
                let (path, r#type) = (format!("{}.{object}", frame.path), r#type.clone());
                let mut values: Vec<_> = arguments.iter().map(|it| self.eval(it, frame)).collect();
                let result = self.parse(&path, &r#type, &mut values);
                self.assign_all(arguments, &values, &self.program.parsers[&r#type].params, frame);
                result
            }
            _ => {
                self.statement(statement, frame);
                Ok(())
            }
        }
    }

    fn extract(&mut self, to: &Expression, frame: &mut Frame<'a>) -> Result<(), TooShort> {
        let mut header = self.eval(to, frame);
        // Intrinsic metadata, which is not among the bytes here.
        let Value::Header { is_valid, fields } = &mut header else { return Ok(()) };
        let bits: usize = fields.iter().map(|(_, value)| width(value) as usize).sum();
        if self.read + bits > 8 * self.input.len() {
            return Err(TooShort);
        }
        for (_, value) in fields {
            let bits = width(value);
            *value = Value::Bits(ahead(&self.input, self.read, bits), bits);
            self.read += bits as usize;
        }
        *is_valid = true;
        self.assign(to, &header, frame);
        Ok(())
    }

    fn block(&mut self, block: &Block, frame: &mut Frame<'a>) {
        for statement in block {
            self.statement(statement, frame);
        }
    }

    fn statement(&mut self, statement: &Statement, frame: &mut Frame<'a>) {
        match statement {
            Statement::Variable(variable) => {
                let mut value = Value::zero(&variable.r#type, self.program);
                if let Some(initial) = &variable.value {
                    value.set(&self.eval(initial, frame));
                }
                frame.variables.insert(variable.name.clone(), value);
            }
            Statement::Assign { to, value } => {
                let value = self.eval(value, frame);
                self.assign(to, &value, frame);
            }
            Statement::Call(call) => {
                self.eval(call, frame);
            }
            Statement::If { condition, then, otherwise } => {
                let branch = if self.eval(condition, frame).bool() { then } else { otherwise };
                self.block(branch, frame);
            }
            Statement::Block(block) => self.block(block, frame),
        }
    }

    fn assign(&mut self, to: &Expression, value: &Value, frame: &mut Frame<'a>) {
        if let Expression::Slice(whole, high, low) = to {
            let (high, low) = (self.program.number(high) as u32, self.program.number(low) as u32);
            let before = self.eval(whole, frame);
            let mut part = Value::Bits(0, high - low + 1);
            part.set(value);
            let kept = before.number() & !(mask(high - low + 1) << low);
            self.assign(whole, &before.with(kept | part.number() << low), frame);
            return;
        }
        place(to, &mut frame.variables).set(value);
    }

    /// Assigns what a control, parser or extern gives back.
    fn assign_all(&mut self, to: &[Expression], values: &[Value], params: &[Field], frame: &mut Frame<'a>) {
        for ((to, value), param) in to.iter().zip(values).zip(params) {
            if matches!(param.direction.as_deref(), Some("out" | "inout")) {
                self.assign(to, value, frame);
            }
        }
    }

    fn eval(&mut self, expression: &Expression, frame: &mut Frame<'a>) -> Value {
        match expression {
            Expression::Number(value, bits) => Value::Bits(*value, bits.unwrap_or(0)),
            Expression::Bool(value) => Value::Bool(*value),
            Expression::Text(text) => panic!("{text:?} is no value"),
            Expression::Name(name) => {
                if let Some(value) = frame.variables.get(name) {
                    return value.clone();
                }
                let constant = self.program.constants.get(name);
                let constant = constant.unwrap_or_else(|| panic!("{}: there is no {name}", frame.path));
                Value::zero(&constant.r#type, self.program)
                    .with(self.program.number(constant.value.as_ref().unwrap()))
            }
            Expression::Tuple(values) => {
                let values = values.iter().enumerate();
                let values = values.map(|(at, value)| (at.to_string(), self.eval(value, frame)));
                Value::Struct(values.collect())
            }
            Expression::Member(whole, name) => match whole.as_ref() {
                // `CloneType.I2E` and the like.
                Expression::Name(object) if !frame.variables.contains_key(object) => Value::Bits(0, 0),
                whole => match find(whole, &frame.variables) {
                    Some(whole) => whole.get(name).clone(),
                    None => self.eval(whole, frame).get(name).clone(),
                },
            },
            Expression::Index(..) => panic!("no program here has stacks of headers"),
            Expression::Generic(..) => panic!("a type argument is no value"),
            Expression::Slice(whole, high, low) => {
                let (high, low) = (self.program.number(high) as u32, self.program.number(low) as u32);
                let whole = self.eval(whole, frame);
                assert!(high < width(&whole), "{whole:?} has no bit {high}");
                Value::Bits(whole.number() >> low & mask(high - low + 1), high - low + 1)
            }
            Expression::Cast(r#type, value) => {
                let zero = Value::zero(r#type, self.program);
                self.eval(value, frame).to_bits(width(&zero))
            }
            Expression::Unary(UnaryOp::Not, value) => Value::Bool(!self.eval(value, frame).bool()),
            Expression::Unary(UnaryOp::Complement, value) => {
                let value = self.eval(value, frame);
                value.with(!value.number() & mask(width(&value)))
            }
            Expression::Binary(op, left, right) => self.binary(*op, left, right, frame),
            Expression::Call(function, arguments) => self.call(function, arguments, frame),
        }
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        left: &Expression,
        right: &Expression,
        frame: &mut Frame<'a>,
    ) -> Value {
        let left = self.eval(left, frame);
        // The right one is not looked at where the left one decides.
        match (op, &left) {
            (BinaryOp::And, Value::Bool(false)) | (BinaryOp::Or, Value::Bool(true)) => return left,
            (BinaryOp::And | BinaryOp::Or, _) => return self.eval(right, frame),
            _ => {}
        }
        let right = self.eval(right, frame);
        let (a, b) = (left.number(), right.number());
        let bits = width(&left).max(width(&right));
        let is_typed = [&left, &right].iter().all(|value| [0, bits].contains(&width(value)));
        assert!(
            is_typed || matches!(op, BinaryOp::Concatenate | BinaryOp::ShiftLeft),
            "{op:?}: {left:?}, {right:?}"
        );
        let limit = if bits == 0 { u128::MAX } else { mask(bits) };
        let number = match op {
            BinaryOp::Equal => return Value::Bool(a == b),
            BinaryOp::Unequal => return Value::Bool(a != b),
            BinaryOp::Less => return Value::Bool(a < b),
            BinaryOp::AtMost => return Value::Bool(a <= b),
            BinaryOp::More => return Value::Bool(a > b),
            BinaryOp::AtLeast => return Value::Bool(a >= b),
            BinaryOp::Concatenate => {
                let behind = width(&right);
                assert!(width(&left) > 0 && behind > 0, "what is concatenated has a width");
                return Value::Bits(a << behind | b, width(&left) + behind);
            }
            BinaryOp::BitOr => a | b,
            BinaryOp::BitXor => a ^ b,
            BinaryOp::BitAnd => a & b,
            BinaryOp::ShiftLeft => return left.with(a << b & mask(width(&left))),
            BinaryOp::Add => a.wrapping_add(b),
            BinaryOp::Subtract => a.wrapping_sub(b),
            BinaryOp::AddSaturating => a.saturating_add(b).min(limit),
            BinaryOp::Mask | BinaryOp::And | BinaryOp::Or => panic!("{op:?} is no operator on numbers"),
        };
        Value::Bits(number & limit, bits)
    }

    fn call(&mut self, function: &Expression, arguments: &[Expression], frame: &mut Frame<'a>) -> Value {
        match function {
            Expression::Name(name) => {
                let control = frame.control.unwrap();
                if let Some(action) = control.actions.iter().find(|action| action.name == *name) {
                    let values: Vec<_> = arguments.iter().map(|it| self.eval(it, frame)).collect();
                    self.action(action, &values, frame);
                    return Value::Bool(true);
                }
                let mut values: Vec<_> = arguments.iter().map(|it| self.eval(it, frame)).collect();
                let given = self.externs.function(name, &mut values);
                for at in given {
                    self.assign(&arguments[at], &values[at], frame);
                }
                Value::Bool(true)
            }
            Expression::Generic(function, types) => match (function.as_ref(), types.as_slice()) {
                (Expression::Member(_, method), [Type::Bit(bits)]) if method == "lookahead" => {
                    Value::Bits(ahead(&self.input, self.read, *bits), *bits)
                }
                (function, _) => self.call(function, arguments, frame),
            },
            Expression::Member(object, method) => self.method(object, method, arguments, frame),
            other => panic!("{other:?} cannot be called"),
        }
    }

    fn method(
        &mut self,
        object: &Expression,
        method: &str,
        arguments: &[Expression],
        frame: &mut Frame<'a>,
    ) -> Value {
        match method {
            "isValid" => {
                let Some(Value::Header { is_valid, .. }) = find(object, &frame.variables) else {
                    panic!("no header")
                };
                return Value::Bool(*is_valid);
            }
            "setValid" => {
                let mut header = self.eval(object, frame);
                let Value::Header { is_valid, .. } = &mut header else { panic!("no header") };
                *is_valid = true;
                self.assign(object, &header, frame);
                return Value::Bool(true);
            }
            "emit" if arguments.len() == 1 => {
                let value = self.eval(&arguments[0], frame);
                self.emit(&value);
                return Value::Bool(true);
            }
            _ => {}
        }
        let Expression::Name(name) = object else { panic!("{object:?} has no methods") };
        let table = frame.control.and_then(|control| control.tables.iter().find(|table| table.name == *name));
        if let Some(table) = table {
            return self.apply(table, frame);
        }
        let instance = instance(frame, name).clone();
        let Type::Named(r#type, _) = &instance.r#type else { panic!("{name} is no instance") };
        let path = format!("{}.{name}", frame.path);
        let mut values: Vec<_> = arguments.iter().map(|it| self.eval(it, frame)).collect();
        if let Some(control) = self.program.controls.get(r#type) {
            assert_eq!((method, values.len()), ("apply", control.params.len()), "{path}");
            self.run(&path, r#type, &mut values);
            self.assign_all(arguments, &values, &control.params, frame);
            return Value::Bool(true);
        }
        if r#type == "RegisterAction" {
            return self.execute(&instance, &values[0], frame);
        }
        let size = self.size(&instance);
        let (given, result) = self.externs.method(&path, r#type, size, method, &mut values);
        for at in given {
            self.assign(&arguments[at], &values[at], frame);
        }
        result
    }

    /// The first argument of an instance's constructor, if it has one.
    fn size(&self, instance: &Instance) -> Option<u128> {
        let size = instance.arguments.first();
        size.filter(|size| !matches!(size, Expression::Call(..))).map(|size| self.program.number(size))
    }

    /// Updates a cell of a register by a function of the program (tofino1_base.p4).
    fn execute(&mut self, action: &Instance, at: &Value, frame: &mut Frame<'a>) -> Value {
        let [Expression::Name(register)] = action.arguments.as_slice() else { panic!("{}", action.name) };
        let register = instance(frame, register);
        let Type::Named(_, types) = &register.r#type else { panic!("{}", register.name) };
        let path = format!("{}.{}", frame.path, register.name);
        let size = self.size(register);
        let index = width(&Value::zero(&types[1], self.program));
        assert!([0, index].contains(&width(at)), "{path}: {at:?} is no number of {index} bits");
        let cell = self.externs.cell(&path, size, at).cloned();
        let mut values = vec![cell.unwrap_or_else(|| Value::zero(&types[0], self.program))];
        let [function] = action.functions.as_slice() else { panic!("{}", action.name) };
        if let [_, result] = function.params.as_slice() {
            values.push(Value::zero(&result.r#type, self.program));
        }
        for (param, value) in function.params.iter().zip(&values) {
            assert!(frame.variables.insert(param.name.clone(), value.clone()).is_none(), "{}", param.name);
        }
        self.block(&function.body, frame);
        let mut results = function.params.iter().map(|param| frame.variables.remove(&param.name).unwrap());
        let cell = results.next().unwrap();
        let result = results.next();
        self.externs.set_cell(&path, size, at, cell);
        result.unwrap_or(Value::Bool(true))
    }

    /// Looks a packet up in a table, and runs the action.
    fn apply(&mut self, table: &'a Table, frame: &mut Frame<'a>) -> Value {
        let keys: Vec<_> = table.keys.iter().map(|key| self.eval(&key.value, frame)).collect();
        let control = frame.control.unwrap();
        let found = if annotation(&table.annotations, "hidden").is_some() {
            table.entries.iter().find(|entry| self.matches(&entry.sets, &keys)).map(|entry| {
                match &entry.action {
                    Expression::Call(name, arguments) => {
                        let Expression::Name(name) = name.as_ref() else { panic!("an action has a name") };
                        let values = arguments.iter().map(|it| self.eval(it, frame)).collect();
                        (name.clone(), values)
                    }
                    other => panic!("{other:?} is no action"),
                }
            })
        } else {
            let key: Vec<_> = keys.iter().map(Value::number).collect();
            let id = number_of(&table.annotations, "id");
            let schema = PROGRAM_TABLES.iter().find(|schema| schema.id == id).unwrap();
            assert!(keys.iter().map(width).eq(schema.keys.iter().map(|key| key.bits)), "{}", table.name);
            let entries = self.entries.get(&id);
            entries.and_then(|entries| entries.get(&key)).map(|entry| self.action_of(table, control, entry))
        };
        let is_hit = found.is_some();
        let (name, values) = found.unwrap_or_else(|| match table.default_action.as_ref().unwrap() {
            Expression::Call(name, arguments) => {
                let Expression::Name(name) = name.as_ref() else { panic!("an action has a name") };
                (name.clone(), arguments.iter().map(|it| self.eval(it, frame)).collect())
            }
            other => panic!("{other:?} is no action"),
        });
        assert!(table.actions.iter().any(|(_, action)| *action == name), "{} has no {name}", table.name);
        let action = control.actions.iter().find(|action| action.name == name).unwrap();
        self.action(action, &values, frame);
        Value::Struct([("hit".to_owned(), Value::Bool(is_hit))].into())
    }

    /// The action of an entry, by the identifiers of the action and its parameters.
    fn action_of(&self, table: &Table, control: &Control, entry: &TableEntry) -> (String, Vec<Value>) {
        let Some(table_action::Type::Action(given)) = entry.action.as_ref().and_then(|it| it.r#type.as_ref())
        else {
            panic!("{}: an entry has an action", table.name)
        };
        let action = control.actions.iter().find(|action| {
            annotation(&action.annotations, "id").is_some()
                && number_of(&action.annotations, "id") == given.action_id
        });
        let action = action.unwrap_or_else(|| panic!("{} has no action {:#x}", table.name, given.action_id));
        let values = action.params.iter().map(|param| {
            let id = number_of(&param.annotations, "id");
            let value = given.params.iter().find(|given| given.param_id == id);
            let value = number(&value.unwrap_or_else(|| panic!("{} has no {id}", action.name)).value);
            let zero = Value::zero(&param.r#type, self.program);
            assert!(value <= mask(width(&zero)), "{}: {} is too wide", action.name, param.name);
            zero.with(value)
        });
        (action.name.clone(), values.collect())
    }

    fn action(&mut self, action: &Function, values: &[Value], frame: &mut Frame<'a>) {
        assert_eq!(action.params.len(), values.len(), "{}", action.name);
        let hidden: Vec<_> = action
            .params
            .iter()
            .zip(values)
            .map(|(param, value)| {
                let mut bound = Value::zero(&param.r#type, self.program);
                bound.set(value);
                frame.variables.insert(param.name.clone(), bound)
            })
            .collect();
        self.block(&action.body, frame);
        for (param, hidden) in action.params.iter().zip(hidden) {
            match hidden {
                Some(value) => frame.variables.insert(param.name.clone(), value),
                None => frame.variables.remove(&param.name),
            };
        }
    }

    fn matches(&self, sets: &[Expression], values: &[Value]) -> bool {
        sets.len() == 1 && is_any(&sets[0])
            || sets.iter().zip(values).all(|(set, value)| match set {
                set if is_any(set) => true,
                Expression::Bool(set) => value.bool() == *set,
                Expression::Binary(BinaryOp::Mask, set, mask) => {
                    let (set, mask) = (self.program.number(set), self.program.number(mask));
                    assert_eq!(set & !mask, 0, "a bit that does not count is set in {set:#x} &&& {mask:#x}");
                    value.number() & mask == set
                }
                set => value.number() == self.program.number(set),
            })
    }

    /// Puts a header, or all valid headers of a struct, behind the output: in the order of their declaration.
    fn emit(&mut self, value: &Value) {
        match value {
            Value::Header { is_valid: false, .. } => {}
            header @ Value::Header { .. } => self.output.extend(header.bytes()),
            Value::Struct(headers) => {
                for field in &self.program.structs["headers_t"].fields {
                    self.emit(&headers[&field.name]);
                }
            }
            other => panic!("{other:?} cannot be emitted"),
        }
    }
}

impl Value {
    /// A value of the same kind and width.
    fn with(&self, number: u128) -> Self {
        match self {
            Self::Bool(_) => Self::Bool(number != 0),
            other => Self::Bits(number, width(other)),
        }
    }
}

/// A number of so many bits of a packet, behind those that are read.
fn ahead(packet: &[u8], read: usize, bits: u32) -> u128 {
    let bits = read..read + bits as usize;
    bits.fold(0, |number, at| number << 1 | u128::from(packet[at / 8] >> (7 - at % 8) & 1))
}

fn is_any(set: &Expression) -> bool {
    matches!(set, Expression::Name(name) if name == "_" || name == "default")
}

fn width(value: &Value) -> u32 {
    match value {
        Value::Bits(_, bits) => *bits,
        Value::Bool(_) => 1,
        other => panic!("{other:?} has no width"),
    }
}

fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

fn instance<'a>(frame: &Frame<'a>, name: &str) -> &'a Instance {
    let instance = frame.instances.iter().find(|instance| instance.name == name);
    instance.unwrap_or_else(|| panic!("{}: there is no {name}", frame.path))
}

/// Gives parameters their values; those that only come out begin with nothing.
fn bind(frame: &mut Frame<'_>, params: &[Field], arguments: &[Value]) {
    for (param, value) in params.iter().zip(arguments) {
        frame.variables.insert(param.name.clone(), value.clone());
    }
}

fn give_back(frame: &Frame<'_>, params: &[Field], arguments: &mut [Value]) {
    for (param, value) in params.iter().zip(arguments) {
        *value = frame.variables[&param.name].clone();
    }
}

/// The value of a variable, or of a field of one.
fn find<'v>(value: &Expression, variables: &'v BTreeMap<String, Value>) -> Option<&'v Value> {
    match value {
        Expression::Name(name) => variables.get(name),
        Expression::Member(whole, name) => find(whole, variables).map(|whole| whole.get(name)),
        _ => None,
    }
}

fn place<'v>(to: &Expression, variables: &'v mut BTreeMap<String, Value>) -> &'v mut Value {
    match to {
        Expression::Name(name) => variables.get_mut(name).unwrap_or_else(|| panic!("there is no {name}")),
        Expression::Member(whole, name) => place(whole, variables).member(name),
        other => panic!("nothing can be assigned to {other:?}"),
    }
}
