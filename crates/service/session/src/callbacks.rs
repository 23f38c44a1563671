//! What functions and the executor ask of a session.

use super::state::{State, text};
use crate::full_text;
use gannet_core::accounts::Name;
use gannet_functions::{Generator, SessionInfo, failover};
use gannet_runtime::{Interrupt, Unpark, Wait, now_ns, park};
use gannet_schema::names::{MAX_IDENTIFIER_CHARS, ends_with_space};
use gannet_types::charset::Charset;
use gannet_types::{CollationId, Result, Value, sql_err};
use std::sync::Arc;

impl SessionInfo for State {
    fn database(&self) -> Option<&str> {
        // A statement may have been prepared in one that is gone.
        self.database.as_deref().filter(|name| self.snapshot.schema(name).is_some())
    }
    fn connection_id(&self) -> u64 {
        self.pseudo_thread_id
    }
    fn user(&self) -> &str {
        &self.user
    }
    fn current_user(&self) -> &str {
        &self.current_user
    }
    fn version(&self) -> &str {
        &self.server.facts.version
    }
    fn last_insert_id(&self) -> u64 {
        self.last_insert_id
    }
    fn set_last_insert_id(&mut self, value: u64) {
        self.running.insert_id_given = true;
        self.last_insert_id = value;
    }
    fn found_rows(&self) -> u64 {
        self.running.before.found_rows
    }
    fn row_count(&self) -> i64 {
        self.running.before.row_count
    }
    fn random(&mut self) -> u64 {
        gannet_runtime::random_u64()
    }

    fn seeded_number(&mut self) -> Option<f64> {
        self.random.as_mut().map(Generator::number)
    }

    fn sleep(&mut self, seconds: f64) -> bool {
        let ns = (seconds.clamp(0.0, 1e9) * 1e9) as u64;
        let deadline = now_ns().saturating_add(ns);
        loop {
            match park(Wait::UserSleep, Some(deadline)) {
                Unpark::Woken => {}
                Unpark::TimedOut => return false,
                Unpark::Interrupted => {
                    // SELECT SLEEP(n) alone reports KILL QUERY by its value; over tables the statement fails.
                    if !self.running.over_tables {
                        self.entry.context.clear(Interrupt::Query);
                    }
                    return true;
                }
            }
        }
    }

    fn server_function(&mut self, name: &'static str, args: &[Value]) -> Result<Value> {
        match name {
            "STATEMENT_DIGEST_TEXT" => super::functions::statement_digest(self, args),
            "CURRENT_ROLE" => {
                let roles: Vec<String> = self.roles.iter().map(Name::ticked).collect();
                Ok(text(if roles.is_empty() { "NONE".into() } else { roles.join(",") }.as_str()))
            }
            "USER_VARIABLE" => match args {
                [Value::Str(name, _)] => {
                    Ok(gannet_exec::Session::user_variable(self, &String::from_utf8_lossy(name.as_bytes())))
                }
                _ => Ok(Value::Null),
            },
            "WAIT_FOR_EXECUTED_GTID_SET" => super::gtids::wait_for(&self.server, args),
            "SOURCE_POS_WAIT" => super::replicas::wait_for_place(&self.server, args),
            failover::ADD_SOURCE | failover::DELETE_SOURCE | failover::RESET => {
                super::replicas::candidates(self, name, args)
            }
            "LOAD_FILE" => super::functions::load_file(self, args),
            "MYSQL_QUERY_ATTRIBUTE_STRING" => Ok(match args {
                [Value::Str(name, collation)] => {
                    let name = collation.charset().convert(name.as_bytes(), Charset::Utf8mb4).bytes;
                    let same = |n: &[u8]| CollationId::UTF8MB4_0900_AI_CI.compare(n, &name).is_eq();
                    let found = self.running.attributes.iter().flat_map(|all| &**all).find(|(n, _)| same(n));
                    found.map_or(Value::Null, |(_, value)| value.clone())
                }
                _ => Value::Null,
            }),
            "ROLES_GRAPHML" => Ok(text(&super::functions::roles_graphml(self))),
            "PS_CURRENT_THREAD_ID" => Ok(Value::UInt(self.entry.id)),
            "PS_THREAD_ID" => super::functions::thread_id(self, args),
            _ => self.named_locks.call(&self.server, self.entry.id, name, args),
        }
    }

    fn variable(&mut self, name: &str) -> Result<Value> {
        super::variables::value(self, false, name)
    }

    fn clock_us(&self) -> Option<i64> {
        Some(gannet_runtime::WallTime::now().micros() as i64)
    }

    fn interrupted(&self) -> bool {
        // The connection that wants to stop the statement may be on the same worker: let it run.
        gannet_runtime::yield_if_due();
        gannet_runtime::interrupted()
    }
}

impl gannet_exec::Session for State {
    fn stopwords(&mut self, table: &str) -> Result<Vec<Box<str>>> {
        full_text::stopwords(self, table)?.ok_or_else(|| full_text::no_list("innodb_ft_user_stopword_table", table))
    }

    fn user_variable(&self, name: &str) -> Value {
        match self.user_vars.get(name) {
            Some(v) => v.clone(),
            None => self.user_vars.get(&name.to_lowercase()).cloned().unwrap_or(Value::Null),
        }
    }

    fn take_insert_id(&mut self) -> u64 {
        std::mem::take(&mut self.next_insert_id)
    }

    fn set_user_variable(&mut self, name: &str, value: Value) -> Result<()> {
        /// Variables of a session.
        const MAX_VARIABLES: usize = 100_000;
        let long = name.len() > MAX_IDENTIFIER_CHARS && name.chars().count() > MAX_IDENTIFIER_CHARS;
        if long || name.is_empty() || ends_with_space(name) {
            return Err(sql_err!(IllegalUserVar, name));
        }
        if self.user_vars.len() >= MAX_VARIABLES && !self.user_vars.contains_key(name) {
            return Err(sql_err!(OutOfResources));
        }
        if !self.hold(value.long_bytes()) {
            return Err(sql_err!(OutOfResources));
        }
        let value = match value {
            Value::Bit(bits, _) => Value::UInt(bits),
            value => value,
        };
        let before = self.user_vars.insert(name.to_lowercase(), value);
        self.held.give(before.map_or(0, |v| v.long_bytes()));
        Ok(())
    }

    fn system_variable(&mut self, global: bool, name: &str) -> Result<Value> {
        super::variables::value(self, global, name)
    }

    fn function_value(
        &mut self,
        to: gannet_exec::changes::RowWriter<'_>,
        warnings: &mut gannet_types::Warnings,
        called: &gannet_plan::expr::Called,
        args: &[Value],
    ) -> Result<Value> {
        self.call_function(to, warnings, called, args)
    }

    fn fire_trigger(
        &mut self,
        to: gannet_exec::changes::RowWriter<'_>,
        warnings: &mut gannet_types::Warnings,
        trigger: (&Arc<gannet_schema::Table>, &Arc<gannet_schema::Trigger>),
        old: Option<&[Value]>,
        new: Option<&mut [Value]>,
    ) -> Result<Vec<u32>> {
        self.call_trigger(to, warnings, trigger, old, new)
    }

    fn is_of_row(
        &mut self,
        to: gannet_exec::changes::RowWriter<'_>,
        warnings: &mut gannet_types::Warnings,
        trigger: (&Arc<gannet_schema::Table>, &Arc<gannet_schema::Trigger>),
    ) -> bool {
        State::is_of_row(self, to, warnings, trigger)
    }

    fn foreign_key_refused(&mut self, refused: &gannet_exec::foreign::Refused<'_>) {
        self.server.reports.foreign_key_refused(&self.entry, refused);
    }

    fn temp_space(&self) -> Option<std::sync::Arc<gannet_exec::SessionSpace>> {
        Some(self.held.space().clone())
    }

    fn virtual_rows(
        &mut self,
        table: u32,
        equals: &[(u32, Value)],
        wanted: &[u32],
        rest: &mut gannet_exec::Rest,
        lists: &mut gannet_exec::Rest,
        emit: &mut dyn FnMut(gannet_exec::MadeRow<'_>) -> Result<()>,
    ) -> Result<Vec<(u32, gannet_types::Warning)>> {
        crate::virt::rows(self, table, (equals, wanted), (rest, lists), emit)
    }
}
