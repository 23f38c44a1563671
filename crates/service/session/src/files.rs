//! Files of the server's machine that statements name: LOAD DATA, SELECT ... INTO OUTFILE, LOAD_FILE(). One gate for
//! all: the FILE privilege, and `secure_file_priv`, which is NULL (no file at all) unless an administrator gives a
//! directory at the start.

use super::Session;
use super::state::State;
use gannet_core::accounts::Privilege;
use gannet_core::vars::{GlobalVars, Live, VarValue};
use gannet_parser::ast::FieldFormat;
use gannet_runtime::fs::Readers;
use gannet_runtime::{File, OpenOptions};
use gannet_types::{ErrorCode, Result, SqlError, sql_err};
use std::io;
use std::path::{Path, PathBuf};

/// Error 1045 without the FILE privilege.
pub(crate) fn require_file_privilege(state: &State) -> Result<()> {
    if state.access.all || state.privileges().has(Privilege::File) {
        return Ok(());
    }
    Err(sql_err!(AccessDenied, state.account.user, state.host(), state.account.used_password()))
}

/// Warning 1638 of FIELDS and LINES beyond ASCII: they are taken byte by byte.
pub(crate) fn warn_of_separators(session: &mut Session, format: &FieldFormat) {
    let all = [
        &format.terminated_by,
        &format.enclosed_by,
        &format.escaped_by,
        &format.lines_starting_by,
        &format.lines_terminated_by,
    ];
    if all.into_iter().flatten().any(|text| !text.is_ascii()) {
        session.running.diagnostics.warnings.warn(ErrorCode::WarnNonAsciiSeparatorNotImplemented, &[]);
    }
}

fn prevented() -> SqlError {
    sql_err!(OptionPreventsStatement, "--secure-file-priv")
}

/// The directory which files must be in; `Some("")`: any. The text `NULL` is none, as in MySQL, and no directory of
/// that name.
pub(crate) fn secure_directory(globals: &GlobalVars) -> Option<String> {
    let value = globals.get(Live::SecureFilePriv);
    let none = value == VarValue::Null || value.as_str().eq_ignore_ascii_case("NULL");
    (!none).then(|| value.as_str().to_owned())
}

/// [`secure_directory`], or error 1290.
fn directory(state: &State) -> Result<String> {
    secure_directory(&state.server.globals).ok_or_else(prevented)
}

/// A path as the server takes it: a relative one begins in the data directory.
fn absolute(state: &State, name: &str) -> PathBuf {
    Path::new(state.server.globals.get(gannet_core::vars::Live::Datadir).as_str()).join(name)
}

fn check_below(real: &Path, directory: &str) -> Result<()> {
    if directory.is_empty() {
        return Ok(());
    }
    match Path::new(directory).canonicalize() {
        Ok(directory) if real.starts_with(&directory) => Ok(()),
        _ => Err(prevented()),
    }
}

fn os_error(e: &io::Error) -> String {
    let text = e.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    format!("OS errno {} - {text}", e.raw_os_error().unwrap_or(0))
}

/// Opens a file for reading. Errors 1290, 13, 29.
pub(crate) fn open(state: &State, name: &str) -> Result<File> {
    let directory = directory(state)?;
    let path = absolute(state, name);
    let missing = |e: io::Error| {
        let message = format!("Can't get stat of '{}' ({})", path.display(), os_error(&e));
        SqlError::with_message(ErrorCode::EeStat, message)
    };
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(e) => {
            // The error does not tell whether a file outside the directory exists.
            match path.parent().and_then(|p| p.canonicalize().ok()) {
                Some(parent) => check_below(&parent, &directory)?,
                None if directory.is_empty() => {}
                None => return Err(prevented()),
            }
            return Err(missing(e));
        }
    };
    check_below(&real, &directory)?;
    let kind = std::fs::metadata(&real).map_err(missing)?;
    if !kind.is_file() {
        return Err(sql_err!(TextfileNotReadable, name));
    }
    File::open(&real, &OpenOptions::read()).map_err(|e| {
        let message = format!("File '{}' not found ({})", path.display(), os_error(&e));
        SqlError::with_message(ErrorCode::EeFilenotfound, message)
    })
}

/// Creates a file that must not be there. Errors 1290, 1086, 1.
pub(crate) fn create(state: &State, name: &str) -> Result<(File, PathBuf)> {
    let directory = directory(state)?;
    let path = absolute(state, name);
    let cannot = |e: &io::Error| {
        let message = format!("Can't create/write to file '{}' ({})", path.display(), os_error(e));
        SqlError::with_message(ErrorCode::EeCantcreatefile, message)
    };
    let (Some(parent), Some(file)) = (path.parent(), path.file_name()) else {
        return Err(cannot(&io::Error::from_raw_os_error(21)));
    };
    let parent = match parent.canonicalize() {
        Ok(parent) => parent,
        Err(e) if directory.is_empty() => return Err(cannot(&e)),
        Err(_) => return Err(prevented()),
    };
    check_below(&parent, &directory)?;
    let real = parent.join(file);
    // A link is something that is there, wherever it leads: `create_new` does not follow it.
    match File::open(&real, &OpenOptions::read_write().create_new().readers(Readers::Group)) {
        Ok(file) => Ok((file, real)),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(sql_err!(FileExists, name)),
        Err(e) => Err(cannot(&e)),
    }
}
