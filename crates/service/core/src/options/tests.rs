use super::*;

fn parse(args: &[&str]) -> Result<ServerOptions, String> {
    let args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
    match ServerOptions::parse(&args)? {
        Request::Serve(o) => Ok(*o),
        other => Err(format!("{other:?}")),
    }
}

#[test]
fn mysql_spellings() {
    let o = parse(&[
        "--port=3307",
        "--datadir",
        "/x",
        "--innodb_buffer_pool_size=2G",
        "-S",
        "/tmp/s",
        "--skip-networking",
        "--loose-nonsense=1",
        "--innodb-flush-log-at-trx-commit",
        "2",
        "--disable-autocommit",
        "--sql-mode=ANSI",
    ])
    .unwrap();
    assert_eq!(o.get(Live::Port).as_u64(), 3307);
    assert_eq!(o.datadir(), Path::new("/x"));
    assert_eq!(o.get(Live::InnodbBufferPoolSize).as_u64(), 2 << 30);
    assert!(!o.pool_size_chosen);
    assert_eq!(o.get(Live::Socket).as_str(), "/tmp/s");
    assert!(o.get(Live::SkipNetworking).as_bool());
    assert_eq!(o.get(Live::InnodbFlushLogAtTrxCommit).as_u64(), 2);
    assert!(!o.get(Live::Autocommit).as_bool());
    assert!(o.get(Live::SqlMode).as_str().contains("ANSI_QUOTES"));
    assert!(o.warnings[0].contains("loose-nonsense"));
}

#[test]
fn options_without_meaning_draw_one_warning() {
    let o = parse(&["--innodb-flush-method=O_DIRECT", "--table-open-cache=4000", "--query-cache-size=0"]).unwrap();
    assert_eq!(o.warnings.len(), 1);
    for name in ["innodb-flush-method", "table-open-cache", "query-cache-size"] {
        assert!(o.warnings[0].contains(name), "{}", o.warnings[0]);
    }
}

#[test]
fn unknown_options_name_the_nearest() {
    assert!(parse(&["--prot=1"]).unwrap_err().contains("--port"));
    assert!(parse(&["--innodb-bufer-pool-size=1G"]).unwrap_err().contains("--innodb-buffer-pool-size"));
    assert!(!parse(&["--zzzzqqqq"]).unwrap_err().contains("mean"));
    assert_eq!(parse(&["stray"]).unwrap_err(), "unexpected argument 'stray'; options begin with --");
    assert_eq!(parse(&["--port"]).unwrap_err(), "option --port needs a value");
    assert!(parse(&["--port=abc"]).unwrap_err().contains("abc"));
}

#[test]
fn what_would_change_results_is_refused() {
    assert_eq!(parse(&["--log-bin=x"]).unwrap().get(Live::LogBinBasename).as_str(), "x");
    assert!(!parse(&["--log-bin", "--skip-log-bin"]).unwrap().get(Live::LogBin).as_bool());
    assert!(parse(&[]).unwrap().get(Live::LogBin).as_bool());
    assert!(!parse(&["--disable-log-bin"]).unwrap().get(Live::LogBin).as_bool());
    assert!(parse(&["--gtid-mode", "ON", "--enforce-gtid-consistency"]).is_ok());
    assert!(parse(&["--gtid-mode=OFF"]).unwrap_err().contains("not supported yet"));
    assert!(parse(&["--skip-log-bin", "--gtid-mode=ON"]).unwrap_err().contains("not supported yet"));
    assert!(parse(&["--gtid-mode=OFF", "--skip-log-bin"]).is_ok());
}

#[test]
fn old_redo_options_make_the_capacity() {
    let o = parse(&["--innodb-log-file-size=1G"]).unwrap();
    assert_eq!(o.get(Live::InnodbRedoLogCapacity).as_u64(), 2 << 30);
    let o = parse(&["--innodb-log-file-size=16M", "--innodb-log-files-in-group=3"]).unwrap();
    assert_eq!(o.get(Live::InnodbRedoLogCapacity).as_u64(), 48 << 20);
    let o = parse(&["--innodb-log-file-size=1G", "--innodb-redo-log-capacity=64M"]).unwrap();
    assert_eq!(o.get(Live::InnodbRedoLogCapacity).as_u64(), 64 << 20);
}

#[test]
fn option_files() {
    let dir = std::env::temp_dir().join(format!("gannet-options-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let cnf = dir.join("my.cnf");
    let more = dir.join("more.cnf");
    std::fs::write(&more, "[mysqld]\nmax_connections = 77 # many\n").unwrap();
    std::fs::write(
        &cnf,
        format!(
            "[client]\nport=1\n[mysqld]\n# c\nport = 3310\nskip_name_resolve\ndatadir='/a b'\n!include {}\n",
            more.display()
        ),
    )
    .unwrap();
    let o = parse(&[&format!("--defaults-file={}", cnf.display()), "--port=3311"]).unwrap();
    assert_eq!(o.get(Live::Port).as_u64(), 3311);
    assert_eq!(o.get(Live::MaxConnections).as_u64(), 77);
    assert_eq!(o.datadir(), Path::new("/a b"));
    std::fs::write(&cnf, "[mysqld]\nnonsense_option=1\n").unwrap();
    let e = parse(&[&format!("--defaults-file={}", cnf.display())]).unwrap_err();
    assert!(e.contains("my.cnf:2"), "{e}");
    std::fs::write(&cnf, format!("!include {}\n", cnf.display())).unwrap();
    assert!(parse(&[&format!("--defaults-file={}", cnf.display())]).unwrap_err().contains("deep"));
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn help_lists_what_works() {
    let text = help();
    for name in ["--datadir", "--port=3306", "--innodb-flush-log-at-trx-commit=1", "--max-connections=151"] {
        assert!(text.contains(name), "{name}");
    }
}
