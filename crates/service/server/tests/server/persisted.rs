//! SET PERSIST: what may be kept, what of it holds at the next start, and who may read the files that a server makes.

use crate::common::{Running, error, one, options, rows, run};
use gannet_server::vars::{self, Live, Persist, VarValue};
use gannet_server::{Request, Server, ServerOptions};
use gannet_wire::client::{Connection, Options, Tls};
use gannet_wire::tls::Identity;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Where a server is, what it listens on, which files it uses: the manual's list, as far as the variables are there.
const RESTRICTED: &str = "auto_generate_certs basedir bind_address caching_sha2_password_auto_generate_rsa_keys \
     caching_sha2_password_private_key_path caching_sha2_password_public_key_path datadir ft_stopword_file init_file \
     innodb_buffer_pool_load_at_startup innodb_data_file_path innodb_data_home_dir innodb_dedicated_server \
     innodb_directories innodb_force_load_corrupted innodb_log_group_home_dir innodb_read_only \
     innodb_temp_data_file_path innodb_temp_tablespaces_dir innodb_undo_directory innodb_undo_tablespaces \
     lc_messages_dir log_error pid_file plugin_dir port relay_log replica_load_tmpdir secure_file_priv \
     sha256_password_auto_generate_rsa_keys sha256_password_private_key_path sha256_password_public_key_path \
     skip_networking socket ssl_ca ssl_capath ssl_cert ssl_crl ssl_crlpath ssl_key tmpdir";

const NEVER: &str = "caching_sha2_password_digest_rounds character_set_system character_sets_dir core_file \
     have_statement_timeout have_symlink hostname innodb_version large_files_support large_page_size license \
     locked_in_memory log_bin log_bin_basename log_bin_index lower_case_file_system persist_only_admin_x509_subject \
     persisted_globals_load protocol_version relay_log_basename relay_log_index server_uuid skip_external_locking \
     system_time_zone version version_comment version_compile_machine version_compile_os version_compile_zlib";

#[test]
fn what_the_manual_restricts_cannot_be_persisted() {
    let r = Running::start();
    let mut c = r.connect();
    for name in RESTRICTED.split_whitespace().chain(NEVER.split_whitespace()) {
        for how in ["PERSIST", "PERSIST_ONLY"] {
            assert_eq!(error(&mut c, &format!("SET {how} {name} = DEFAULT")), 1238, "{how} {name}");
        }
    }
    // What a start alone sets has no way around the list either.
    for def in vars::all().iter().filter(|d| d.persist != Persist::Free && d.scope != vars::Scope::Session) {
        assert_eq!(error(&mut c, &format!("SET PERSIST_ONLY `{}` = DEFAULT", def.name)), 1238, "{}", def.name);
    }
    let message = |c: &mut Connection, sql: &str| c.query(sql).unwrap_err().to_string();
    let read_only = message(&mut c, "SET PERSIST_ONLY secure_file_priv = ''");
    assert!(read_only.contains("Variable 'secure_file_priv' is a non persistent read only variable"), "{read_only}");
    let dynamic = message(&mut c, "SET PERSIST ssl_key = 'x'");
    assert!(dynamic.contains("Variable 'ssl_key' is a non persistent variable"), "{dynamic}");
    assert!(rows(&mut c, "SELECT * FROM performance_schema.persisted_variables").is_empty());
}

#[test]
fn restricted_variables_are_for_the_owner_of_a_certificate() {
    let mut r = Running::configured(|o| {
        o.set(
            Live::PersistOnlyAdminX509Subject,
            VarValue::text("/CN=MySQL_Server_8.4.0_Auto_Generated_Client_Certificate"),
        );
    });
    let file = |name: &str| std::fs::read_to_string(r.dir.join(name)).unwrap();
    let identity = Identity { certificate: file("client-cert.pem"), key: file("client-key.pem") };
    let tls = |identity| Options { tls: Some(Tls { identity, ..Tls::default() }), ..options() };
    let set = "SET PERSIST_ONLY secure_file_priv = '/tmp'";
    let mut plain = Connection::connect(&r.tcp(), &tls(None)).unwrap();
    assert_eq!(error(&mut plain, set), 1238);
    let mut owner = Connection::connect(&r.tcp(), &tls(Some(identity))).unwrap();
    let subject = r.server().core().globals.get(Live::PersistOnlyAdminX509Subject);
    let outcome = owner.query(set);
    assert!(outcome.is_ok(), "{outcome:?} {subject:?}");
    assert_eq!(error(&mut owner, "SET PERSIST ssl_key = 'x'"), 1238);
    drop((owner, plain));
    r.restart();
    assert_eq!(one(&mut r.connect(), "SELECT @@secure_file_priv"), "/tmp");
}

fn line(name: &str, value: &str) -> String {
    format!("{name}\t{value}\t1\troot\tlocalhost\n")
}

fn parsed(args: &[&str]) -> ServerOptions {
    let args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
    match ServerOptions::parse(&args) {
        Ok(Request::Serve(o)) => *o,
        other => panic!("{other:?}"),
    }
}

fn start(dir: &Path, args: &[&str]) -> Result<Server, String> {
    let datadir = format!("--datadir={}", dir.display());
    let mut all =
        vec![&*datadir, "--innodb-buffer-pool-size=32M", "--innodb-redo-log-capacity=32M", "--gannet-workers=2"];
    all.extend(args);
    Server::start(parsed(&all))
}

#[test]
fn the_command_line_has_the_last_word() {
    let mut r = Running::start();
    let dir = r.dir.clone();
    r.server = None;
    let get = |s: &Server, id: Live| s.core().globals.get(id);
    let write = |text: String| std::fs::write(dir.join("persisted-variables"), text).unwrap();
    // A file of an earlier version may hold what cannot be persisted any more.
    write(line("secure_file_priv", "") + &line("max_connections", "77") + &line("bind_address", "0.0.0.0"));
    let s = start(&dir, &["--port=0"]).unwrap();
    assert_eq!(get(&s, Live::SecureFilePriv), VarValue::text("NULL"));
    assert_eq!(get(&s, Live::BindAddress), VarValue::text("127.0.0.1"));
    assert_eq!(get(&s, Live::MaxConnections).as_u64(), 77);
    drop(s);
    let option_file = dir.join("my.cnf");
    std::fs::write(&option_file, "[mysqld]\nmax_connections=78\n").unwrap();
    let defaults = format!("--defaults-file={}", option_file.display());
    let s = start(&dir, &[&defaults, "--port=0"]).unwrap();
    assert_eq!(get(&s, Live::MaxConnections).as_u64(), 77);
    drop(s);
    let s = start(&dir, &["--port=0", "--max-connections=79"]).unwrap();
    assert_eq!(get(&s, Live::MaxConnections).as_u64(), 79);
    drop(s);
    let s = start(&dir, &["--port=0", "--persisted-globals-load=OFF"]).unwrap();
    assert_eq!(get(&s, Live::MaxConnections).as_u64(), 151);
    drop(s);
    // A value that the server cannot start with is named with its file.
    write(line("mandatory_roles", "`"));
    let refused = start(&dir, &["--port=0"]).err().unwrap();
    assert!(refused.contains("persisted-variables: mandatory_roles=`"), "{refused}");
    assert!(start(&dir, &["--port=0", "--mandatory-roles="]).is_ok());
    assert!(start(&dir, &["--port=0", "--persisted-globals-load=OFF"]).is_ok());
    write("nonsense".into());
    let refused = start(&dir, &["--port=0"]).err().unwrap();
    assert!(
        refused.contains("persisted-variables: line 1") && refused.contains("--persisted-globals-load=OFF"),
        "{refused}"
    );
    assert!(start(&dir, &["--port=0", "--persisted-globals-load=OFF"]).is_ok());
}

#[test]
fn read_only_variables_take_a_privilege_to_forget() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE USER u");
    run(&mut c, "GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO u");
    run(&mut c, "SET PERSIST_ONLY back_log = 100");
    run(&mut c, "SET PERSIST max_connections = 100");
    let mut u = Connection::connect(&r.socket(), &Options { user: "u".into(), ..options() }).unwrap();
    assert_eq!(error(&mut u, "RESET PERSIST back_log"), 1227);
    assert_eq!(error(&mut u, "RESET PERSIST"), 1227);
    run(&mut u, "RESET PERSIST max_connections");
    run(&mut c, "GRANT PERSIST_RO_VARIABLES_ADMIN ON *.* TO u");
    run(&mut u, "RESET PERSIST");
}

/// Every file below a directory with its mode.
fn modes(dir: &Path, found: &mut Vec<(String, u32)>) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            modes(&entry.path(), found);
        }
        if kind.is_dir() || kind.is_file() {
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            found.push((entry.file_name().to_string_lossy().into_owned(), mode));
        }
    }
}

#[test]
fn no_file_is_open_to_everybody() {
    let mut r = Running::configured(|o| {
        let at = |name: &str| VarValue::text(&o.datadir().join(name).to_string_lossy());
        let (pid, files) = (at("server.pid"), at(""));
        o.set(Live::PidFile, pid);
        o.set(Live::SecureFilePriv, files);
        o.set(Live::LogError, VarValue::text("errors.err"));
    });
    let mut c = r.connect();
    for sql in [
        "SET PERSIST max_connections = 100",
        "SET GLOBAL general_log_file = 'g.log', GLOBAL slow_query_log_file = 's.log'",
        "SET GLOBAL general_log = ON, GLOBAL slow_query_log = ON",
        "SELECT 1 INTO OUTFILE 'out.txt'",
        "SELECT 1 INTO DUMPFILE 'dump.bin'",
        "CREATE DATABASE d",
        "CREATE TABLE d.t SELECT 1 AS a",
    ] {
        run(&mut c, sql);
    }
    let mut found = Vec::new();
    modes(&r.dir, &mut found);
    let mode_of = |name: &str| found.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("{name}")).1;
    for name in ["persisted-variables", "g.log", "s.log", "errors.err", "out.txt", "dump.bin", "auto.cnf", "server.pid"]
    {
        assert_eq!(mode_of(name), 0o640, "{name}");
    }
    for (name, mode) in &found {
        let certificate = ["ca.pem", "server-cert.pem", "client-cert.pem"].contains(&&**name);
        assert!(mode & 0o027 == 0 || certificate, "{name}: {mode:o}");
    }
    // A file that is there keeps the mode that somebody gave it.
    let log = r.dir.join("g.log");
    std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o600)).unwrap();
    run(&mut c, "FLUSH GENERAL LOGS");
    drop(c);
    r.restart();
    assert_eq!(std::fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_directory_called_null_opens_nothing() {
    let r = Running::start();
    let mut c = r.connect();
    assert_eq!(one(&mut c, "SELECT @@secure_file_priv"), "NULL");
    // The default is a word, not the name of a directory below the one that the server was started in.
    let trap = std::env::current_dir().unwrap().join("NULL");
    std::fs::create_dir_all(&trap).unwrap();
    std::fs::write(trap.join("bait"), "bait").unwrap();
    let bait = trap.join("bait");
    let read = rows(&mut c, &format!("SELECT LOAD_FILE('{}')", bait.display()));
    let written = error(&mut c, &format!("SELECT 1 INTO OUTFILE '{}'", trap.join("out").display()));
    std::fs::remove_dir_all(&trap).unwrap();
    assert_eq!((read[0][0].as_str(), written), ("NULL", 1290));
}
