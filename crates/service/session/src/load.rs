//! LOAD DATA: where the bytes come from. The server's own file, or the client's (LOCAL), where there is a client that
//! sends files.

use super::files;
use super::reply::Done;
use super::reply::{Reading, Reply};
use super::{Session, planning, query};
use gannet_core::vars::Live;
use gannet_exec::file::{Format, Input};
use gannet_exec::spill::TempFile;
use gannet_exec::{Load, Outcome};
use gannet_parser::ast;
use gannet_runtime::File;
use gannet_types::charset::Charset;
use gannet_types::{Collation, CollationId, ErrorCode, Result, SqlError, SqlMode, sql_err};
use std::sync::Arc;

/// Bytes read from a file at a time.
const CHUNK: usize = 256 << 10;

/// A file of the server's.
struct ServerFile {
    file: File,
    offset: u64,
}

impl Input for ServerFile {
    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<bool> {
        let old = buffer.len();
        buffer.resize(old + CHUNK, 0);
        let read = self.file.read_at(&mut buffer[old..], self.offset);
        let n = read.map_err(|e| SqlError::with_message(ErrorCode::EeRead, format!("Error reading file: {e}")))?;
        buffer.truncate(old + n);
        self.offset += n as u64;
        Ok(n > 0)
    }

    fn extent(&self) -> Option<(u64, u64)> {
        Some((self.offset, self.file.len().ok()?))
    }
}

/// A file that came with another server's log.
struct Brought {
    file: Arc<TempFile>,
    offset: u64,
}

impl Input for Brought {
    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<bool> {
        let old = buffer.len();
        let n = (self.file.len() - self.offset).min(CHUNK as u64);
        buffer.resize(old + n as usize, 0);
        self.file.read(&mut buffer[old..], self.offset)?;
        self.offset += n;
        Ok(n > 0)
    }

    fn extent(&self) -> Option<(u64, u64)> {
        Some((self.offset, self.file.len()))
    }
}

/// LOAD DATA.
pub(crate) fn load(session: &mut Session, load: &ast::Load, reply: &mut dyn Reply) -> Result<Done> {
    super::transaction::refuse_statements(session)?;
    if load.xml {
        return Err(SqlError::unsupported("LOAD XML"));
    }
    let allowed = session.abilities.sends_files && session.server.globals.get(Live::LocalInfile).as_bool();
    match load.local {
        true if !allowed => return Err(sql_err!(ClientLocalFilesDisabled)),
        true => {}
        false => files::require_file_privilege(&session.state)?,
    }
    let backslash = !session.settings.exec.sql_mode.contains(SqlMode::NO_BACKSLASH_ESCAPES);
    let format = Format::new(&load.format, backslash)?;
    files::warn_of_separators(session, &load.format);
    let collation = file_collation(session, load.charset.as_ref())?;
    let mut tries = 0;
    loop {
        session.state.renew_snapshot();
        let (plan, fields) = planning::make_load_plan(session, load)?;
        let statement = Load { fields: &fields, format: &format, collation, skip_lines: load.ignore_lines };
        gannet_exec::check_load(&statement, &plan)?;
        let locks = session.plan_locks(&plan);
        let mut lost = false;
        let outcome = if load.local {
            let reading = Reading { timeout_s: session.net_read_timeout_s(), max_packet: session.max_packet() };
            let mut source = reply.client_file(reading).ok_or_else(|| sql_err!(ClientLocalFilesDisabled))?;
            session.execute_with(&plan, &locks, &[], |cx, _| {
                source.ask(load.file.as_bytes());
                let outcome = gannet_exec::load(&statement, &mut *source, cx);
                lost = !source.drain();
                outcome.map(Outcome::Affected)
            })
        } else {
            let mut source: Box<dyn Input> = match session.brought.clone() {
                Some(file) => Box::new(Brought { file, offset: 0 }),
                None => Box::new(ServerFile { file: files::open(&session.state, &load.file)?, offset: 0 }),
            };
            session.execute_with(&plan, &locks, &[], |cx, _| {
                gannet_exec::load(&statement, &mut *source, cx).map(Outcome::Affected)
            })
        };
        // The stream of packets is broken: nothing after it can be understood.
        session.closing |= lost;
        match outcome {
            Err(e) if super::locks::is_stale(&e) && tries < 10 => tries += 1,
            outcome => return query::done(session, outcome?, 0),
        }
    }
}

/// Of the texts in a file: CHARACTER SET, else `character_set_database`.
fn file_collation(session: &Session, given: Option<&ast::Ident>) -> Result<CollationId> {
    if let Some(name) = given {
        return Ok(Collation::default_of(Charset::by_name(name)?).id);
    }
    let name = super::variables::value(&session.state, false, "character_set_database")?;
    let mut text = Vec::new();
    name.write_text(&mut text);
    let charset = Charset::by_name(&String::from_utf8_lossy(&text)).unwrap_or(Charset::Utf8mb4);
    Ok(Collation::default_of(charset).id)
}
