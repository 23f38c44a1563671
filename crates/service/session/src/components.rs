//! INSTALL and UNINSTALL COMPONENT, and the components there are: `validate_password` and `log_sink_json`.
//!
//! They are part of the server. Installing the first makes its variables known and its rules hold; the second serves,
//! as in MySQL, as soon as `log_error_services` names it. What is installed is kept among the persisted variables, as
//! `gannet_components`.

use super::Session;
use super::lists::alone;
use super::reply::Done;
use gannet_core::accounts::Privilege;
use gannet_core::vars::persist::Persisted;
use gannet_core::vars::{self, GlobalVars, Live, VarId, VarValue};
use gannet_parser::ast::{Install, Uninstall};
use gannet_types::{Result, SqlError, sql_err};

/// The component, as statements name it.
pub(crate) const VALIDATE_PASSWORD: &str = "file://component_validate_password";

const LOG_SINK_JSON: &str = "file://component_log_sink_json";

/// Variables whose names begin so exist while the component is installed.
const PREFIX: &str = "validate_password.";

/// Is the variable there?
pub(crate) fn is_present(globals: &GlobalVars, id: VarId) -> bool {
    !id.def().name.starts_with(PREFIX) || validates(globals)
}

fn validates(globals: &GlobalVars) -> bool {
    installed(globals).iter().any(|urn| urn == VALIDATE_PASSWORD)
}

/// What is installed, in that order.
pub(crate) fn installed(globals: &GlobalVars) -> Vec<String> {
    let list = globals.get(Live::Components);
    list.as_str().split(',').filter(|urn| !urn.is_empty()).map(str::to_owned).collect()
}

/// The variable of this name. Error 1193.
pub(crate) fn variable(globals: &GlobalVars, name: &str) -> Result<VarId> {
    let found = vars::find(name).filter(|id| is_present(globals, *id));
    found.ok_or_else(|| sql_err!(UnknownSystemVariable, name))
}

/// INSTALL COMPONENT. Errors 3527, 3528, 3529.
pub(crate) fn install(session: &mut Session, install: &Install) -> Result<Done> {
    let Install::Component { urns, set } = install else { return install_plugin(session, install) };
    session.require_on_table(Privilege::Insert.into(), "mysql", "component")?;
    session.commit_implicitly()?;
    alone(session, |session| add(session, urns))?;
    session.set(set).map(|()| Done::default())
}

fn add(session: &mut Session, urns: &[Box<str>]) -> Result<()> {
    let mut all = installed(&session.server.globals);
    for urn in urns {
        match urn.split_once("://") {
            None => return Err(sql_err!(ComponentsNoScheme, urn)),
            Some((scheme, _)) if scheme != "file" => return Err(sql_err!(ComponentsNoSchemeService, scheme, urn)),
            Some(_) => {}
        }
        if ![VALIDATE_PASSWORD, LOG_SINK_JSON].contains(&&**urn) || all.iter().any(|have| **have == **urn) {
            return Err(sql_err!(ComponentsCantLoad, urn));
        }
        all.push(urn.to_string());
    }
    keep_components(session, &all.join(","))
}

/// The plugins that information_schema shows: name, kind, and what it is.
pub(crate) const PLUGINS: &[(&str, &str, &str)] = &[
    ("InnoDB", "STORAGE ENGINE", "Transactional storage engine"),
    ("caching_sha2_password", "AUTHENTICATION", "Caching sha2 authentication"),
    ("mysql_native_password", "AUTHENTICATION", "Native MySQL authentication"),
];

/// Plugins of MySQL that are part of this server, as scripts name them: their names, and the files they are in.
const BUILT_IN: &[(&str, &str)] = &[
    ("rpl_semi_sync_source", "semisync_source.so"),
    ("rpl_semi_sync_replica", "semisync_replica.so"),
    ("rpl_semi_sync_master", "semisync_master.so"),
    ("rpl_semi_sync_slave", "semisync_slave.so"),
];

/// UNINSTALL PLUGIN: all that there are belong to the server. Errors 1619, 1305.
fn uninstall_plugin(session: &mut Session, name: &str) -> Result<Done> {
    session.require_on_table(Privilege::Delete.into(), "mysql", "plugin")?;
    session.commit_implicitly()?;
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    match PLUGINS.iter().any(|(known, ..)| is(known)) || BUILT_IN.iter().any(|(known, _)| is(known)) {
        true => Err(sql_err!(PluginDeleteBuiltin)),
        false => Err(sql_err!(SpDoesNotExist, "PLUGIN", name)),
    }
}

/// INSTALL PLUGIN of what is part of the server: a note says that it is there. Errors 1124, 1125, and 1235 for others.
fn install_plugin(session: &mut Session, install: &Install) -> Result<Done> {
    let Install::Plugin { name, library } = install else { return Err(SqlError::unsupported("INSTALL")) };
    session.require_on_table(Privilege::Insert.into(), "mysql", "plugin")?;
    session.commit_implicitly()?;
    if library.contains('/') {
        return Err(sql_err!(UdfNoPaths));
    }
    if PLUGINS.iter().any(|(known, ..)| name.text.eq_ignore_ascii_case(known)) {
        return Err(sql_err!(UdfExists, name.text));
    }
    let is = |(known, file): &&(&str, &str)| name.text.eq_ignore_ascii_case(known) && **library == **file;
    if BUILT_IN.iter().find(is).is_none() {
        return Err(SqlError::unsupported("INSTALL PLUGIN"));
    }
    session.note(&sql_err!(UdfExists, name.text));
    Ok(Done::default())
}

/// UNINSTALL COMPONENT. Error 3537.
pub(crate) fn uninstall(session: &mut Session, uninstall: &Uninstall) -> Result<Done> {
    let urns = match uninstall {
        Uninstall::Component(urns) => urns,
        Uninstall::Plugin(name) => return uninstall_plugin(session, &name.text),
    };
    session.require_on_table(Privilege::Delete.into(), "mysql", "component")?;
    session.commit_implicitly()?;
    alone(session, |session| {
        let mut all = installed(&session.server.globals);
        for urn in urns {
            let at = all.iter().position(|have| **have == **urn);
            all.remove(at.ok_or_else(|| sql_err!(ComponentsUnloadNotLoaded, urn))?);
        }
        keep_components(session, &all.join(",")).map(|()| Done::default())
    })
}

fn keep_components(session: &mut Session, list: &str) -> Result<()> {
    let id = VarId::from(Live::Components);
    let vars::SetBy { at_us, user, host } = session.setter();
    let record = Persisted { value: VarValue::text(list), at_us, user, host };
    session.change_persisted(|map| {
        if list.is_empty() { drop(map.remove(id.def().name)) } else { drop(map.insert(id.def().name, record)) }
    })?;
    session.server.globals.set(id, VarValue::text(list));
    Ok(())
}

/// Error 1819 for a password that the rules refuse.
pub(crate) fn check_password(session: &Session, clear: &[u8]) -> Result<()> {
    let globals = &session.server.globals;
    if !validates(globals) {
        return Ok(());
    }
    let number = |live: Live| globals.get(live).as_u64() as usize;
    let (mixed, digits) = (number(Live::ValidatePasswordMixedCase), number(Live::ValidatePasswordNumbers));
    let special = number(Live::ValidatePasswordSpecial);
    let text = String::from_utf8_lossy(clear);
    let count = |is: fn(char) -> bool| text.chars().filter(|c| is(*c)).count();
    let least = number(Live::ValidatePasswordLength).max(digits + special + 2 * mixed);
    let reversed: String = text.chars().rev().collect();
    let names = [session.state.account.user.as_str(), session.state.user.rsplit_once('@').map_or("", |(user, _)| user)];
    let is_name = |n: &&str| !n.is_empty() && (**n == text || **n == reversed);
    let named = globals.get(Live::ValidatePasswordUserName).as_bool() && names.iter().any(is_name);
    let simple = count(|c| c.is_lowercase()) < mixed
        || count(|c| c.is_uppercase()) < mixed
        || count(|c| c.is_ascii_digit()) < digits
        || count(|c| !c.is_alphanumeric()) < special;
    let low = globals.get(Live::ValidatePasswordPolicy).as_str() == "LOW";
    if text.chars().count() < least || named || simple && !low {
        return Err(sql_err!(NotValidPassword));
    }
    Ok(())
}
