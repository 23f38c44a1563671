//! Stored programs: there are none and none can be made, which is what MySQL's errors say of each that is named.

use super::Session;
use super::reply::Done;
use gannet_core::accounts::Privilege;
use gannet_parser::ast::{ObjectName, ProgramKind, RoutineKind};
use gannet_schema::names;
use gannet_types::{Level, Result, SqlError, sql_err};

impl Session {
    /// DROP PROCEDURE, FUNCTION, TRIGGER, EVENT.
    pub(super) fn drop_program(&mut self, kind: ProgramKind, if_exists: bool, name: &ObjectName) -> Result<Done> {
        let error = self.missing_loadable(kind, name).map_or_else(|| self.changed_program(kind, name), Ok)?;
        if !if_exists {
            return Err(error);
        }
        // MySQL's note about a missing event is the one about routines.
        let note = match kind {
            ProgramKind::Event => sql_err!(SpDoesNotExist, "Event", name.name),
            ProgramKind::Procedure | ProgramKind::Function | ProgramKind::Trigger => error,
        };
        self.running.warnings.push(note.to_warning(Level::Note));
        Ok(Done::default())
    }

    /// ALTER PROCEDURE, ALTER FUNCTION.
    pub(super) fn alter_routine(&mut self, kind: RoutineKind, name: &ObjectName) -> Result<Done> {
        let kind = match kind {
            RoutineKind::Procedure => ProgramKind::Procedure,
            RoutineKind::Function => ProgramKind::Function,
        };
        Err(self.changed_program(kind, name)?)
    }

    /// ALTER EVENT.
    pub(super) fn alter_event(&mut self, name: &ObjectName) -> Result<Done> {
        Err(self.changed_program(ProgramKind::Event, name)?)
    }

    /// CALL.
    pub(super) fn call(&mut self, name: &ObjectName) -> Result<Done> {
        let schema = self.program_schema(name)?;
        self.require_routine(Privilege::Execute, &schema, &name.name)?;
        Err(missing(ProgramKind::Procedure, &schema, name))
    }

    /// SHOW CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT: why there is nothing to show.
    pub(super) fn show_create_program(&mut self, kind: ProgramKind, name: &ObjectName) -> Result<SqlError> {
        let schema = self.program_schema(name)?;
        match kind {
            ProgramKind::Procedure => Ok(sql_err!(SpDoesNotExist, "PROCEDURE", name.name)),
            ProgramKind::Function => Ok(sql_err!(SpDoesNotExist, "FUNCTION", name.name)),
            ProgramKind::Trigger => self.missing_trigger(&schema, name),
            ProgramKind::Event => {
                self.require_on_schema(Privilege::Event.into(), &schema)?;
                Ok(missing(kind, &schema, name))
            }
        }
    }

    /// DROP FUNCTION without a database, given or current, means a loadable function.
    fn missing_loadable(&self, kind: ProgramKind, name: &ObjectName) -> Option<SqlError> {
        let loadable = kind == ProgramKind::Function && name.schema.is_none() && self.state.database.is_none();
        loadable.then(|| sql_err!(SpDoesNotExist, "FUNCTION (UDF)", name.name))
    }

    /// Checks the rights that changing a stored program needs, and returns the error that there is no such program.
    fn changed_program(&mut self, kind: ProgramKind, name: &ObjectName) -> Result<SqlError> {
        let schema = self.program_schema(name)?;
        self.commit_implicitly()?;
        self.work.require_read_write()?;
        self.require_writable()?;
        match kind {
            ProgramKind::Procedure | ProgramKind::Function => {
                self.require_routine(Privilege::AlterRoutine, &schema, &name.name)?;
            }
            ProgramKind::Event => self.require_on_schema(Privilege::Event.into(), &schema)?,
            // The privilege is on the trigger's table.
            ProgramKind::Trigger => return self.missing_trigger(&schema, name),
        }
        if !self.locked.is_empty() {
            return Err(sql_err!(LockOrActiveTransaction));
        }
        Ok(missing(kind, &schema, name))
    }

    fn missing_trigger(&self, schema: &str, name: &ObjectName) -> Result<SqlError> {
        // An account without rights in a database is not told whether the database exists.
        let told = self.state.access.enters_schema(schema);
        match self.state.snapshot.schema(schema) {
            None if told => Err(sql_err!(BadDb, schema)),
            _ => Ok(missing(ProgramKind::Trigger, schema, name)),
        }
    }

    /// The database of a stored program. Errors 1046, 1102, 1458 and 1059: the names must be such as could exist.
    fn program_schema(&self, name: &ObjectName) -> Result<String> {
        if let Some(schema) = &name.schema {
            names::check_schema_name(schema)?;
        }
        names::check_routine_name(&name.name)?;
        match &name.schema {
            Some(schema) => Ok(schema.text.to_string()),
            None => Ok(self.state.require_database()?.to_string()),
        }
    }

    /// Error 1370.
    fn require_routine(&self, need: Privilege, schema: &str, name: &str) -> Result<()> {
        if self.state.access.schema(schema).has(need) {
            return Ok(());
        }
        let a = &self.state.account;
        let word = gannet_core::accounts::privilege_name(need).to_ascii_lowercase();
        Err(sql_err!(ProcaccessDenied, word, a.user, self.state.host(), format_args!("{schema}.{name}")))
    }
}

/// The error of a program that is not there.
fn missing(kind: ProgramKind, schema: &str, name: &ObjectName) -> SqlError {
    let full = format_args!("{schema}.{}", name.name);
    match kind {
        ProgramKind::Procedure => sql_err!(SpDoesNotExist, "PROCEDURE", full),
        ProgramKind::Function => sql_err!(SpDoesNotExist, "FUNCTION", full),
        ProgramKind::Trigger => sql_err!(TrgDoesNotExist),
        ProgramKind::Event => sql_err!(EventDoesNotExist, name.name),
    }
}
