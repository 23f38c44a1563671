//! What a system variable is: one declaration each.
//!
//! A declaration gives the name, the scope, the type with its bounds, the default and what the variable does here. The
//! command line, `my.cnf`, `--help`, SHOW VARIABLES, `@@name`, SET and performance_schema all walk these tables.

use super::Live;
use std::fmt::Write;
use std::sync::Arc;

/// Where a variable exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Global only.
    Global,
    /// Each session has its own; there is no global value.
    Session,
    /// Global, copied by each session when it starts.
    Both,
}

/// Type and bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// ON or OFF.
    Bool,
    /// Integer between the bounds. `block`: rounded down to a multiple.
    Int {
        /// Least value.
        min: i64,
        /// Greatest value.
        max: u64,
        /// Granularity, at least 1.
        block: u64,
    },
    /// Fraction between the bounds.
    Double {
        /// Least value.
        min: f64,
        /// Greatest value.
        max: f64,
    },
    /// Text.
    Text,
    /// Text or NULL.
    NullableText,
    /// One of the names; a number selects by position.
    Enum(&'static [&'static str]),
    /// Any of the names, joined by commas; a number selects by bits.
    Set(&'static [&'static str]),
    /// `sql_mode`: parsed by [`gannet_types::SqlMode`].
    SqlMode,
    /// `name=value` pairs of switches, as `optimizer_switch`.
    Flags(&'static [&'static str]),
}

/// The default, written as on the command line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Initial {
    /// A number, or 0 and 1 for OFF and ON.
    Int(u64),
    /// A negative number.
    Signed(i64),
    /// A fraction.
    Double(f64),
    /// Text, or the name of an enumeration's member.
    Text(&'static str),
    /// NULL.
    Null,
}

/// What setting the variable does here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It works.
    Live,
    /// A fact about the server, which cannot be set.
    Fact,
    /// It sizes or tunes something that Gannet does not have. Settable, shown, without effect: results do not depend on
    /// it.
    Tuning,
    /// A feature that Gannet does not have yet: only the default can be set, anything else is error 1235.
    DefaultOnly,
}

/// May SET PERSIST keep the variable? (Manual, 7.1.9.4 "Nonpersistible and Persist-Restricted System Variables".)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persist {
    /// By every account that may set it.
    Free,
    /// The variable says where the server is, what it listens on or which files it uses. Only the administrator whose
    /// certificate `persist_only_admin_x509_subject` names may persist it.
    Restricted,
    /// By no account.
    Never,
}

/// What follows from another global value of a variable, beyond its being read: `Core::set_global` does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Nothing.
    Nothing,
    /// The list of mandatory roles is read, and refused when it is none.
    MandatoryRoles,
    /// Accounts change their rule; refused while there are partial revokes.
    PartialRevokes,
    /// Logs of statements are opened or closed; the former value comes back when that fails.
    StatementLogs,
    /// The log syncs at other times.
    FlushPolicy,
    /// Checkpoints are held, or go on.
    Checkpoint,
    /// The buffer pool grows or shrinks; refused while it does so already.
    BufferPool,
    /// The log grows or shrinks; refused when the disk has no room.
    RedoCapacity,
    /// The scrubber has another pace.
    ScrubPace,
    /// Memory and disk of all statements.
    TempLimits,
    /// What the error log takes.
    Verbosity,
    /// Metrics of INNODB_METRICS are switched.
    Monitors(Switch),
    /// What the error log goes through; the former value stays when that fails.
    ErrorServices,
    /// `read_only` and `super_read_only` draw each other.
    ReadOnly,
    /// The event scheduler looks at what is due.
    Events,
    /// Another value than the present one is refused with error 1235.
    Fixed,
    /// What performance_schema collects begins or ends.
    Collecting,
    /// Users' processor time is measured, or not any more.
    Users,
    /// The binary log goes on in a new file.
    BinlogFile,
    /// Rows have another form in the binary log from the next statement on, commits wait for replicas or do not.
    Binlog,
    /// A character set brings its default collation, in the variable named.
    Collation(Live),
    /// A collation brings its character set, in the variable named.
    Charset(Live),
}

/// Which of the four variables was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    Enable,
    Disable,
    /// The figures since the last reset begin anew.
    Reset,
    /// All figures, of metrics that are off.
    ResetAll,
}

/// One variable.
#[derive(Clone, Copy, Debug)]
pub struct VarDef {
    /// Its name, lower case.
    pub name: &'static str,
    /// Where it exists.
    pub scope: Scope,
    /// Type and bounds.
    pub kind: Kind,
    /// The default.
    pub initial: Initial,
    /// What it does.
    pub effect: Effect,
    /// May be SET while the server runs.
    pub dynamic: bool,
    /// May be given on the command line and in option files.
    pub option: bool,
    /// May be persisted.
    pub persist: Persist,
    /// SET_VAR may set it.
    pub hintable: bool,
    /// It bounds what a session may take: without a privilege none has more than the global value.
    pub bound: bool,
    /// What follows from another global value.
    pub then: Then,
    /// One line for `--help`; empty: not listed there.
    pub help: &'static str,
}

impl VarDef {
    /// SET_VAR may set it. (Manual, 10.9.3 "Optimizer Hints", and the variables' own sections.)
    pub const fn hintable(mut self) -> Self {
        self.hintable = true;
        self
    }

    /// A bound that no session lifts for itself.
    pub const fn bound(mut self) -> Self {
        self.bound = true;
        self
    }

    /// What follows from another global value.
    pub const fn then(mut self, then: Then) -> Self {
        self.then = then;
        self
    }

    /// Shown in `--help` with this line.
    pub const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }

    /// Cannot be SET while the server runs.
    pub const fn read_only(mut self) -> Self {
        self.dynamic = false;
        self
    }

    /// Persisted by the administrator of `persist_only_admin_x509_subject` alone.
    pub const fn persist_restricted(mut self) -> Self {
        self.persist = Persist::Restricted;
        self
    }

    /// Never persisted.
    pub const fn not_persisted(mut self) -> Self {
        self.persist = Persist::Never;
        self
    }

    /// Is no option.
    pub const fn no_option(mut self) -> Self {
        self.option = false;
        self
    }

    const fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// Settable without effect.
    pub const fn tuning(self) -> Self {
        self.effect(Effect::Tuning)
    }

    /// Only the default is there.
    pub const fn default_only(self) -> Self {
        self.effect(Effect::DefaultOnly)
    }

    /// A fact, which cannot be set.
    pub const fn fact(self) -> Self {
        self.effect(Effect::Fact).read_only().no_option().not_persisted()
    }
}

const fn def(name: &'static str, scope: Scope, kind: Kind, initial: Initial) -> VarDef {
    let option = !matches!(scope, Scope::Session);
    VarDef {
        name,
        scope,
        kind,
        initial,
        effect: Effect::Live,
        dynamic: true,
        option,
        persist: Persist::Free,
        hintable: false,
        bound: false,
        then: Then::Nothing,
        help: "",
    }
}

/// ON or OFF.
pub const fn boolean(name: &'static str, scope: Scope, on: bool) -> VarDef {
    def(name, scope, Kind::Bool, Initial::Int(on as u64))
}

/// An unsigned integer.
pub const fn int(name: &'static str, scope: Scope, initial: u64, min: u64, max: u64) -> VarDef {
    def(name, scope, Kind::Int { min: min as i64, max, block: 1 }, Initial::Int(initial))
}

/// An integer that may be negative.
pub const fn signed(name: &'static str, scope: Scope, initial: i64) -> VarDef {
    let max = i64::MAX as u64;
    def(name, scope, Kind::Int { min: i64::MIN, max, block: 1 }, Initial::Signed(initial))
}

/// An unsigned integer that is rounded down to a multiple of `block`.
pub const fn blocks(name: &'static str, scope: Scope, initial: u64, min: u64, max: u64, block: u64) -> VarDef {
    def(name, scope, Kind::Int { min: min as i64, max, block }, Initial::Int(initial))
}

/// A fraction.
pub const fn double(name: &'static str, scope: Scope, initial: f64, min: f64, max: f64) -> VarDef {
    def(name, scope, Kind::Double { min, max }, Initial::Double(initial))
}

/// Text.
pub const fn text(name: &'static str, scope: Scope, initial: &'static str) -> VarDef {
    def(name, scope, Kind::Text, Initial::Text(initial))
}

/// Text, NULL by default.
pub const fn null_text(name: &'static str, scope: Scope) -> VarDef {
    def(name, scope, Kind::NullableText, Initial::Null)
}

/// One of several names.
pub const fn choice(name: &'static str, scope: Scope, initial: &'static str, names: &'static [&'static str]) -> VarDef {
    def(name, scope, Kind::Enum(names), Initial::Text(initial))
}

/// Any of several names.
pub const fn set(name: &'static str, scope: Scope, initial: &'static str, names: &'static [&'static str]) -> VarDef {
    def(name, scope, Kind::Set(names), Initial::Text(initial))
}

/// Named switches.
pub const fn flags(name: &'static str, scope: Scope, initial: &'static str, names: &'static [&'static str]) -> VarDef {
    def(name, scope, Kind::Flags(names), Initial::Text(initial))
}

/// A variable's value.
#[derive(Clone, Debug, PartialEq)]
pub enum VarValue {
    /// NULL.
    Null,
    /// Integers; 0 and 1 for booleans.
    Int(i64),
    /// Integers beyond `i64`.
    UInt(u64),
    /// Fractions.
    Double(f64),
    /// Everything else: text, the name of an enumeration's member, a set's names.
    Text(Arc<str>),
}

impl VarValue {
    /// Text.
    pub fn text(s: &str) -> Self {
        VarValue::Text(s.into())
    }

    /// An unsigned integer.
    pub fn uint(n: u64) -> Self {
        i64::try_from(n).map_or(VarValue::UInt(n), VarValue::Int)
    }

    /// A boolean.
    pub fn bool(b: bool) -> Self {
        VarValue::Int(b.into())
    }

    /// As an unsigned integer; 0 for what is none.
    pub fn as_u64(&self) -> u64 {
        match self {
            VarValue::Int(n) => u64::try_from(*n).unwrap_or(0),
            VarValue::UInt(n) => *n,
            VarValue::Double(d) => *d as u64,
            _ => 0,
        }
    }

    /// As a boolean.
    pub fn as_bool(&self) -> bool {
        self.as_u64() != 0
    }

    /// Its text; empty for what is none.
    pub fn as_str(&self) -> &str {
        match self {
            VarValue::Text(s) => s,
            _ => "",
        }
    }

    /// As SHOW VARIABLES prints it; `None` for NULL.
    pub fn display(&self, kind: &Kind) -> Option<String> {
        let mut text = String::new();
        self.write(kind, &mut text);
        (*self != VarValue::Null).then_some(text)
    }

    /// The same behind a text; nothing for NULL.
    pub fn write(&self, kind: &Kind, out: &mut String) {
        // Writing to a text does not fail.
        let _ = match (self, kind) {
            (VarValue::Null, _) => Ok(()),
            (v, Kind::Bool) => out.write_str(if v.as_bool() { "ON" } else { "OFF" }),
            (VarValue::Int(n), _) => write!(out, "{n}"),
            (VarValue::UInt(n), _) => write!(out, "{n}"),
            (VarValue::Double(d), _) => write!(out, "{d:.6}"),
            (VarValue::Text(s), _) => out.write_str(s),
        };
    }
}

impl Initial {
    /// The default as a value.
    pub fn value(self) -> VarValue {
        match self {
            Initial::Int(n) => VarValue::uint(n),
            Initial::Signed(n) => VarValue::Int(n),
            Initial::Double(d) => VarValue::Double(d),
            Initial::Text(s) => VarValue::text(s),
            Initial::Null => VarValue::Null,
        }
    }
}
