//! What the binary log says of a statement that changes definitions or accounts.

use super::{Session, logged, text};
use gannet_binlog::event::kind;
use gannet_binlog::group::{Frame, Gathered, Head};
use gannet_binlog::query::{Query, Settings, flags2};
use gannet_catalog::Words;
use gannet_core::accounts::{Account, Secret};
use gannet_core::vars::Live;
use gannet_core::work::{NextGtid, Origin};
use gannet_parser::ast::{self, Span, Statement};
use gannet_parser::keyword::Kw;
use gannet_parser::lexer::Lexer;
use gannet_parser::printer;
use gannet_types::{Collation, CollationId};
use std::io::Read;
use std::sync::Arc;

/// The running statement as a group of its own; `None` when it is not logged.
pub(super) fn words(session: &Session) -> Option<Words> {
    words_of(session, || {
        let text = match &session.own_text {
            Some(own) => own.to_vec(),
            None => session.entry.logged_text(),
        };
        with_definer(session, text)
    })
}

/// A text that makes a view or a program for who says it: with their name, since others will read it.
fn with_definer(session: &Session, mut text: Vec<u8>) -> Vec<u8> {
    let mut lexer = Lexer::new(&text, text::lex_mode(session.settings.exec.sql_mode));
    let mut next = || lexer.next();
    let verb = next();
    let (mut at, mut token) = (verb.end, next());
    let alters = verb.kw == Kw::ALTER;
    if verb.kw != Kw::CREATE && !alters {
        return text;
    }
    if token.kw == Kw::OR {
        (at, token) = (next().end, next());
    }
    if token.kw == Kw::ALGORITHM {
        // The sign and the word.
        next();
        (at, token) = (next().end, next());
    }
    let made = match token.kw {
        Kw::SQL => !alters,
        Kw::VIEW | Kw::PROCEDURE | Kw::FUNCTION | Kw::TRIGGER => !alters,
        Kw::EVENT => true,
        _ => false,
    };
    if made {
        let definer = format!(" DEFINER={}", session.state.account.id().ticked());
        text.splice(at as usize..at as usize, definer.into_bytes());
    }
    text
}

/// The same in other words: without a password. Without words it is not logged.
pub(super) fn words_of(session: &Session, text: impl FnOnce() -> Vec<u8>) -> Option<Words> {
    let text = if logged::is_logged(session) { text() } else { Vec::new() };
    let payload = if text.is_empty() { Vec::new() } else { group_of(session, &text) };
    let words = Words { payload, position: session.position.clone() };
    (words != Words::default()).then_some(words)
}

/// CREATE USER and ALTER USER for the accounts that it has changed, with what is stored of their passwords. Empty where
/// it has changed none.
pub(super) fn user_statement(session: &Session, said: &ast::UserStatement, done: &[Arc<Account>]) -> Vec<u8> {
    let told = |account: &Arc<Account>| {
        let spec = said.users.iter().find(|spec| account.is(&session.account_name(&spec.account)))?;
        Some(ast::UserSpec {
            auth: spec.auth.iter().take(1).map(|_| authentication(&account.secret)).collect(),
            ..named(account, spec.clone())
        })
    };
    let users: Vec<_> = done.iter().filter_map(told).collect();
    if users.is_empty() {
        return Vec::new();
    }
    printer::statement(&Statement::User(Box::new(ast::UserStatement { users, ..said.clone() })))
}

/// SET PASSWORD as ALTER USER, with what is stored of the password.
pub(super) fn set_password(said: &ast::SetPassword, done: &Account) -> Vec<u8> {
    let spec = ast::UserSpec {
        account: ast::Account::CurrentUser,
        auth: vec![authentication(&done.secret)],
        factors: Vec::new(),
        discard_old_password: false,
        replace: None,
        retain_current: said.retain_current,
    };
    let statement = ast::UserStatement {
        alter: true,
        existence: ast::Existence::default(),
        users: vec![named(done, spec)],
        default_role: None,
        require: None,
        resources: Vec::new(),
        options: Vec::new(),
        comment: None,
    };
    printer::statement(&Statement::User(Box::new(statement)))
}

/// Who it is about, whoever reads it.
fn named(account: &Account, spec: ast::UserSpec) -> ast::UserSpec {
    let (user, host) = (account.user.as_str().into(), account.host.as_str().into());
    ast::UserSpec { account: ast::Account::Name { user, host, span: Span::default() }, replace: None, ..spec }
}

fn authentication(secret: &Secret) -> ast::Authentication {
    let stored = secret.to_authentication_string();
    ast::Authentication {
        plugin: Some(secret.plugin().name().into()),
        secret: if stored.is_empty() { ast::AuthSecret::None } else { ast::AuthSecret::Hash(stored.into()) },
        initial: None,
    }
}

/// The running statement with another text, which is known later.
pub(super) fn words_for(session: &Session) -> impl Fn(&str) -> Words + use<> {
    let logged = logged::is_logged(session).then(|| (query(session, b""), own_head(session)));
    let (seconds, position) = (statement_seconds(session), session.position.clone());
    move |text| {
        let payload = match &logged {
            Some((body, head)) => framed(seconds, *head, &[body, text.as_bytes()]),
            None => Vec::new(),
        };
        Words { payload, position: position.clone() }
    }
}

/// A statement as a group of its own.
fn group_of(session: &Session, text: &[u8]) -> Vec<u8> {
    framed(statement_seconds(session), own_head(session), &[&query(session, text)])
}

fn statement_seconds(session: &Session) -> u32 {
    session.state.statement_time().div_euclid(1_000_000) as u32
}

fn own_head(session: &Session) -> Head {
    let thread_id = session.entry.id as u32;
    let gtid = match NextGtid::of(&session.work) {
        NextGtid::Owned(gtid) => Some(gtid),
        _ => None,
    };
    let committed_us = logged::commit_time();
    let first = Origin::first(&session.work);
    Head { frame: Frame::Definition, thread_id, committed_us, gtid, first, ..Head::default() }
}

/// A group of one statement, whose event's body is in pieces.
fn framed(seconds: u32, head: Head, body: &[&[u8]]) -> Vec<u8> {
    let mut gathered = Gathered::default();
    gathered.begin_statement(seconds, 0, None);
    gathered.item(kind::QUERY, |out| body.iter().for_each(|piece| out.extend_from_slice(piece)));
    let mut payload = Vec::new();
    if let Some(mut group) = gathered.take(0, head) {
        // A group in memory can be read.
        let _read = group.read_to_end(&mut payload);
    }
    payload
}

/// The body of a statement's event.
pub(super) fn query(session: &Session, text: &[u8]) -> Vec<u8> {
    let vars = &session.state.vars;
    let collation = |id: Live| Collation::by_name(vars[id].as_str()).map_or(CollationId::DEFAULT, |c| c.id).0;
    let schema = session.state.database.clone().unwrap_or_default();
    let off = |on: bool, bit: u32| if on { 0 } else { bit };
    let account = &session.state.account;
    let settings = Settings {
        flags2: Some(
            off(session.settings.exec.foreign_key_checks, flags2::NO_FOREIGN_KEY_CHECKS)
                | off(vars[Live::UniqueChecks].as_bool(), flags2::RELAXED_UNIQUE_CHECKS),
        ),
        sql_mode: Some(session.settings.exec.sql_mode.bits()),
        auto_increment: Some((
            vars[Live::AutoIncrementIncrement].as_u64() as u16,
            vars[Live::AutoIncrementOffset].as_u64() as u16,
        )),
        // The text is UTF-8 here, whatever the client sent.
        charset: Some([
            CollationId::UTF8MB4_GENERAL_CI.0,
            session.settings.charsets.connection.0,
            collation(Live::CollationServer),
        ]),
        time_zone: Some(vars[Live::TimeZone].as_str().to_owned()),
        charset_database: Some(collation(Live::CollationDatabase)),
        invoker: Some((account.user.to_string(), account.host.to_string())),
        schemas: (!schema.is_empty()).then(|| vec![schema.to_string()]),
        microseconds: Some(session.state.statement_time().rem_euclid(1_000_000) as u32),
        explicit_defaults: Some(true),
        default_collation_utf8mb4: Some(session.settings.exec.utf8mb4.0),
        require_primary_key: Some(vars[Live::SqlRequirePrimaryKey].as_bool()),
        ..Settings::default()
    };
    let mut body = Vec::new();
    Query { thread_id: session.entry.id as u32, seconds: 0, error: 0, schema: schema.as_bytes(), settings, text }
        .encode(&mut body);
    body
}
