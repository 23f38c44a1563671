//! Variables that work, and facts about the server. Those that code refers to have an id.

use super::def::Scope::{Both, Global, Session};
use super::def::{Kind, Switch, Then, VarDef, blocks, boolean, choice, double, flags, int, null_text, set, text};

macro_rules! live {
    ($($(#[$doc:meta])* $id:ident = $def:expr;)*) => {
        /// Ids of the variables that code refers to: positions in [`LIVE`].
        #[expect(missing_docs, reason = "the names are the variables' names")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Live { $($id),* }

        /// Their declarations.
        pub const LIVE: &[VarDef] = &[$($def),*];
    };
}

const MAX: u64 = u64::MAX;
const DEFAULT_SQL_MODE: &str = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
                                ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";
/// `transaction_isolation`.
pub const ISOLATION: &[&str] = &["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"];
/// `block_encryption_mode`.
const BLOCK_MODES: &[&str] = &[
    "aes-128-ecb",
    "aes-192-ecb",
    "aes-256-ecb",
    "aes-128-cbc",
    "aes-192-cbc",
    "aes-256-cbc",
    "aes-128-cfb1",
    "aes-192-cfb1",
    "aes-256-cfb1",
    "aes-128-cfb8",
    "aes-192-cfb8",
    "aes-256-cfb8",
    "aes-128-cfb128",
    "aes-192-cfb128",
    "aes-256-cfb128",
    "aes-128-ofb",
    "aes-192-ofb",
    "aes-256-ofb",
];

live! {
    // Stored programs.
    AutomaticSpPrivileges = boolean("automatic_sp_privileges", Global, true).help("who makes a routine may execute and change it");
    EventScheduler = choice("event_scheduler", Global, "ON", &["OFF", "ON", "DISABLED"]).then(Then::Events).help("run events when they are due; DISABLED at the start: never");
    MaxSpRecursionDepth = int("max_sp_recursion_depth", Both, 0, 0, 255).help("how often a procedure may call itself");
    // Metrics.
    InnodbMonitorEnable = text("innodb_monitor_enable", Global, "").then(Then::Monitors(Switch::Enable))
        .help("switches metrics of INNODB_METRICS on: a name, a pattern with %, module_..., all");
    InnodbMonitorDisable = text("innodb_monitor_disable", Global, "").then(Then::Monitors(Switch::Disable)).help("switches metrics off");
    InnodbMonitorReset = text("innodb_monitor_reset", Global, "").then(Then::Monitors(Switch::Reset)).help("begins their _RESET columns anew");
    InnodbMonitorResetAll = text("innodb_monitor_reset_all", Global, "").then(Then::Monitors(Switch::ResetAll))
        .help("begins all columns of metrics anew that are off");
    // Where the server is and listens.
    Datadir = text("datadir", Global, "./gannet-data").persist_restricted().read_only().help("directory of the data; created when missing");
    Port = int("port", Global, 3306, 0, 65535).persist_restricted().read_only().help("TCP port; 0 lets the system choose one");
    BindAddress = text("bind_address", Global, "127.0.0.1").persist_restricted().read_only()
        .help("address to listen on; beyond loopback every account needs a password");
    Socket = text("socket", Global, "").persist_restricted().read_only().help("path of the UNIX socket (default: gannet.sock in the datadir)");
    GannetConsole = text("gannet_console", Global, "").persist_restricted().read_only()
        .help("address and port of the console, a web page that shows the server; empty: none; beyond loopback it needs TLS");
    SkipNetworking = boolean("skip_networking", Global, false).persist_restricted().read_only().help("serve the UNIX socket only");
    InitFile = text("init_file", Global, "").persist_restricted().read_only().help("file of statements to run at the start, before anybody can connect");
    PidFile = text("pid_file", Global, "").persist_restricted().read_only().help("file to write the process id to");
    LogError = text("log_error", Global, "stderr").persist_restricted().read_only().help("file for the error log (default: stderr)");
    LogErrorVerbosity = int("log_error_verbosity", Global, 2, 1, 3).then(Then::Verbosity).help("1 errors, 2 and warnings, 3 and notes");
    LogErrorServices = text("log_error_services", Global, "log_filter_internal; log_sink_internal").then(Then::ErrorServices)
        .help("what the error log goes through: log_filter_internal, log_sink_internal, log_sink_json (a file beside it, .00.json)");
    GeneralLog = boolean("general_log", Global, false).then(Then::StatementLogs).help("write what clients send to general_log_file");
    GeneralLogFile = text("general_log_file", Global, "").then(Then::StatementLogs).help("file of the general query log (default: HOST.log in the datadir)");
    SlowQueryLog = boolean("slow_query_log", Global, false).then(Then::StatementLogs).help("write statements that take long_query_time to slow_query_log_file");
    SlowQueryLogFile = text("slow_query_log_file", Global, "").then(Then::StatementLogs).help("file of the slow query log (default: HOST-slow.log in the datadir)");
    LogOutput = text("log_output", Global, "FILE").then(Then::StatementLogs).help("where statements are logged: FILE, TABLE, both, or NONE");
    Userstat = boolean("userstat", Global, false).then(Then::Users).help("TABLE_STATISTICS, INDEX_STATISTICS, USER_STATISTICS and CLIENT_STATISTICS show what was counted");
    LogQueriesNotUsingIndexes = boolean("log_queries_not_using_indexes", Global, false).then(Then::StatementLogs).help("they are slow, too");
    LogSlowReplicaStatements = boolean("log_slow_replica_statements", Global, false).help("statements of a source's log may be slow, too: from the next START REPLICA on");
    LogSlowAdminStatements = boolean("log_slow_admin_statements", Global, false).then(Then::StatementLogs).help("ALTER TABLE and the like may be slow, too");
    LogSlowExtra = boolean("log_slow_extra", Global, false).then(Then::StatementLogs).help("the slow query log has the counts of each statement");
    LogRaw = boolean("log_raw", Global, false).then(Then::StatementLogs).help("write passwords to the logs of statements");
    SqlLogOff = boolean("sql_log_off", Both, false);
    MinExaminedRowLimit = int("min_examined_row_limit", Both, 0, 0, MAX).help("slow statements that examine fewer rows are not logged");
    MaxConnections = int("max_connections", Global, 151, 1, 100_000).help("clients at a time, one more for administrators");
    OpenFilesLimit = int("open_files_limit", Global, 5000, 0, u64::MAX).read_only()
        .help("what the system allows is taken; fewer than connections need lowers max_connections");
    BackLog = int("back_log", Global, 1024, 1, 65535).read_only().help("connections the kernel may queue");
    ThreadHandling = choice("thread_handling", Global, "workers", &["workers", "one-thread-per-connection"]).read_only()
        .help("how connections are served: workers or one-thread-per-connection");
    Workers = int("gannet_workers", Global, 0, 0, 1024).read_only().help("worker threads; 0: one a core");

    // memcached's protocol.
    MemcachedPort = int("memcached_port", Global, 0, 0, 65535).persist_restricted().read_only().help("TCP port of memcached's protocol; 0: none");
    MemcachedSocket = text("memcached_socket", Global, "").persist_restricted().read_only().help("path of the UNIX socket of memcached's protocol; empty: none");
    MemcachedBindAddress = text("memcached_bind_address", Global, "127.0.0.1").persist_restricted().read_only()
        .help("address of memcached_port; beyond loopback memcached_auth and memcached_tls have to be ON");
    MemcachedAuth = boolean("memcached_auth", Global, false).persist_restricted().read_only()
        .help("clients of memcached's protocol log in: the first they send is a set of their user and password");
    MemcachedTls = boolean("memcached_tls", Global, false).persist_restricted().read_only().help("clients of memcached_port use TLS");
    MemcachedDurable = boolean("memcached_durable", Global, true)
        .help("memcached's protocol answers when a change is on disk; OFF: at once, where innodb_memcache.containers does not say otherwise");
    MemcachedAccount = text("memcached_account", Global, "memcached@localhost").persist_restricted().read_only()
        .help("account whose rights clients of memcached's protocol have that need not log in; locked when it is made");
    MemcachedItemSizeMax = int("memcached_item_size_max", Global, 1 << 20, 1024, 1 << 30).help("bytes of the longest item of memcached's protocol, with its key");
    MemcachedMaxConnections = int("memcached_max_connections", Global, 1024, 1, 100_000).help("clients of memcached's protocol at a time");

    // Storage.
    InnodbBufferPoolSize = blocks("innodb_buffer_pool_size", Global, 128 << 20, 4 << 20, MAX, 1 << 20).then(Then::BufferPool)
        .help("memory for data pages (default: an eighth of the machine's, between 128M and 4G)");
    InnodbBufferPoolChunkSize = blocks("innodb_buffer_pool_chunk_size", Global, 128 << 20, 1 << 20, 16 << 40, 1 << 20).read_only()
        .help("innodb_buffer_pool_size is rounded up to a multiple; no more than it is at the start");
    InnodbFlushLogAtTrxCommit = int("innodb_flush_log_at_trx_commit", Global, 1, 0, 2).then(Then::FlushPolicy)
        .help("1: a commit is on disk when it returns; 2: with the system; 0: within a second");
    ScrubPages = int("gannet_scrub_pages_per_second", Global, 64, 0, 1_000_000).then(Then::ScrubPace)
        .help("pages of the data file (16 KiB) a second that are verified in the background; 0: none");
    InnodbCheckpointDisabled = boolean("innodb_checkpoint_disabled", Global, false).then(Then::Checkpoint)
        .help("debug: pages are not written back and the checkpoint stays while the log is less than three quarters full");
    InnodbRedoLogCapacity = blocks("innodb_redo_log_capacity", Global, 1 << 30, 8 << 20, 1 << 40, 1 << 20).then(Then::RedoCapacity)
        .help("size of the log on disk; bounds recovery time");
    InnodbLockWaitTimeout = int("innodb_lock_wait_timeout", Both, 50, 1, 1_073_741_824)
        .help("seconds to wait for a row lock");
    InnodbRollbackOnTimeout = boolean("innodb_rollback_on_timeout", Global, false).read_only()
        .help("roll the transaction back, not the statement, when a row lock times out");
    InnodbPageSize = int("innodb_page_size", Global, 16384, 16384, 16384).fact();
    InnodbVersion = text("innodb_version", Global, "").fact();
    InnodbAutoincLockMode = int("innodb_autoinc_lock_mode", Global, 2, 2, 2).fact();
    InnodbStatsAutoRecalc = boolean("innodb_stats_auto_recalc", Global, true)
        .help("take statistics of a table anew after a tenth of it has changed");
    InnodbStatsPersistent = boolean("innodb_stats_persistent", Global, true).help("keep statistics over restarts");
    InnodbStatsPersistentSamplePages = int("innodb_stats_persistent_sample_pages", Global, 20, 1, MAX)
        .help("places of an index that are looked at for statistics");
    InnodbFtEnableStopword = boolean("innodb_ft_enable_stopword", Both, true).help("new full-text indexes leave stopwords out");
    InnodbFtServerStopwordTable = null_text("innodb_ft_server_stopword_table", Global).help("schema/table with the stopwords of new full-text indexes");
    InnodbFtUserStopwordTable = null_text("innodb_ft_user_stopword_table", Both).help("schema/table with the stopwords of new full-text indexes");
    InnodbFtAuxTable = null_text("innodb_ft_aux_table", Global).help("schema/table that INNODB_FT_INDEX_TABLE shows");
    InnodbFtMinTokenSize = int("innodb_ft_min_token_size", Global, 3, 0, 16).read_only().help("characters of a word, at least");
    InnodbFtMaxTokenSize = int("innodb_ft_max_token_size", Global, 84, 10, 84).read_only().help("characters of a word, at most");
    InnodbFtResultCacheLimit = int("innodb_ft_result_cache_limit", Global, 2_000_000_000, 1_000_000, 4_294_967_295)
        .help("bytes that a full-text search may find");
    NgramTokenSize = int("ngram_token_size", Global, 2, 1, 10).read_only().help("characters of a token of the ngram parser");
    InnodbStrictMode = boolean("innodb_strict_mode", Both, true).tuning();

    // Clients and their packets.
    MaxAllowedPacket = blocks("max_allowed_packet", Both, 64 << 20, 1024, 1 << 30, 1024).help("longest packet or statement");
    NetBufferLength = blocks("net_buffer_length", Both, 16384, 1024, 1 << 20, 1024);
    NetReadTimeout = int("net_read_timeout", Both, 30, 1, 31_536_000).help("seconds to wait for the rest of a packet");
    NetWriteTimeout = int("net_write_timeout", Both, 60, 1, 31_536_000).help("seconds to wait for a client to take a reply");
    WaitTimeout = int("wait_timeout", Both, 28800, 1, 31_536_000).help("seconds a connection may be idle");
    InteractiveTimeout = int("interactive_timeout", Both, 28800, 1, 31_536_000)
        .help("wait_timeout of clients that call themselves interactive");
    ConnectTimeout = int("connect_timeout", Global, 10, 2, 31_536_000).help("seconds a client has to log in");
    InitConnect = text("init_connect", Global, "")
        .help("statements that each session begins with; not those of accounts with CONNECTION_ADMIN");
    DefaultAuthenticationPlugin = text("authentication_policy", Global, "*,,").default_only();
    SkipNameResolve = boolean("skip_name_resolve", Global, true).read_only().tuning();
    RequireSecureTransport = boolean("require_secure_transport", Global, false)
        .help("refuse TCP clients without TLS");
    ProtocolCompressionAlgorithms = text("protocol_compression_algorithms", Global, "zlib,zstd,uncompressed")
        .help("how packets may be compressed: zlib, zstd, uncompressed");
    TlsVersion = text("tls_version", Global, "TLSv1.2,TLSv1.3").help("versions of TLS offered; empty: none");
    SslCa = text("ssl_ca", Global, "").persist_restricted().help("authorities of client certificates, PEM (default: ca.pem in the datadir, made when missing)");
    SslCert = text("ssl_cert", Global, "").persist_restricted().help("certificate of the server, PEM (default: server-cert.pem in the datadir)");
    SslKey = text("ssl_key", Global, "").persist_restricted().help("its private key, PEM (default: server-key.pem in the datadir)");
    SslCipher = text("ssl_cipher", Global, "").help("ciphers of TLS 1.2, by OpenSSL's names, separated by colons");
    TlsCiphersuites = text("tls_ciphersuites", Global, "").help("ciphers of TLS 1.3, separated by colons");
    ProtocolVersion = int("protocol_version", Global, 10, 0, 255).fact();
    OfflineMode = boolean("offline_mode", Global, false).help("only accounts with CONNECTION_ADMIN may connect");
    MaxUserConnections = int("max_user_connections", Both, 0, 0, 4_294_967_295).help("connections of one account at a time; 0: no limit");
    MaxConnectErrors = int("max_connect_errors", Global, 100, 1, MAX).help("failed handshakes in a row after which a host is refused");

    // Accounts.
    ActivateAllRolesOnLogin = boolean("activate_all_roles_on_login", Global, false);
    MandatoryRoles = text("mandatory_roles", Global, "").then(Then::MandatoryRoles);
    PartialRevokes = boolean("partial_revokes", Global, false).then(Then::PartialRevokes).help("REVOKE takes global privileges away in single schemas; patterns of schemas are names");
    DefaultPasswordLifetime = int("default_password_lifetime", Global, 0, 0, 65535).help("days after which passwords expire; 0: never");
    DisconnectOnExpiredPassword = boolean("disconnect_on_expired_password", Global, true).read_only();
    GeneratedRandomPasswordLength = int("generated_random_password_length", Both, 20, 5, 255);
    PasswordHistory = int("password_history", Global, 0, 0, 4_294_967_295);
    PasswordReuseInterval = int("password_reuse_interval", Global, 0, 0, 4_294_967_295);
    PasswordRequireCurrent = boolean("password_require_current", Global, false);
    PrintIdentifiedWithAsHex = boolean("print_identified_with_as_hex", Both, false);
    SkipShowDatabase = boolean("skip_show_database", Global, false).read_only();

    // The session.
    Autocommit = boolean("autocommit", Both, true).help("each statement is a transaction");
    SqlMode = VarDef { kind: Kind::SqlMode, ..text("sql_mode", Both, DEFAULT_SQL_MODE).hintable() }.help("the SQL mode");
    TransactionIsolation = choice("transaction_isolation", Both, "REPEATABLE-READ", ISOLATION).help("the isolation level");
    TransactionReadOnly = boolean("transaction_read_only", Both, false).help("transactions may not write");
    CompletionType = choice("completion_type", Both, "NO_CHAIN", &["NO_CHAIN", "CHAIN", "RELEASE"]);
    ReadOnly = boolean("read_only", Global, false).then(Then::ReadOnly).help("refuse writes of accounts without CONNECTION_ADMIN");
    SuperReadOnly = boolean("super_read_only", Global, false).then(Then::ReadOnly).help("refuse all writes");
    CharacterSetClient = text("character_set_client", Both, "utf8mb4").no_option();
    CharacterSetConnection = text("character_set_connection", Both, "utf8mb4").then(Then::Collation(Live::CollationConnection)).no_option();
    CharacterSetResults = VarDef { kind: Kind::NullableText, ..text("character_set_results", Both, "utf8mb4").no_option() };
    CharacterSetServer = text("character_set_server", Both, "utf8mb4").then(Then::Collation(Live::CollationServer)).help("character set of new databases");
    CharacterSetDatabase = text("character_set_database", Both, "utf8mb4").no_option();
    CharacterSetSystem = text("character_set_system", Global, "utf8mb3").fact();
    CharacterSetFilesystem = text("character_set_filesystem", Both, "binary").default_only();
    CharacterSetsDir = text("character_sets_dir", Global, "").fact();
    CollationConnection = text("collation_connection", Both, "utf8mb4_0900_ai_ci").then(Then::Charset(Live::CharacterSetConnection)).no_option();
    CollationServer = text("collation_server", Both, "utf8mb4_0900_ai_ci").then(Then::Charset(Live::CharacterSetServer)).help("collation of new databases");
    CollationDatabase = text("collation_database", Both, "utf8mb4_0900_ai_ci").no_option();
    DefaultCollationForUtf8mb4 = choice("default_collation_for_utf8mb4", Both, "utf8mb4_0900_ai_ci",
        &["utf8mb4_0900_ai_ci", "utf8mb4_general_ci"]).no_option();
    TimeZone = text("time_zone", Both, "SYSTEM").hintable().help("time zone of sessions (option: --default-time-zone)");
    SystemTimeZone = text("system_time_zone", Global, "UTC").fact();
    LowerCaseTableNames = int("lower_case_table_names", Global, 0, 0, 2).read_only().default_only();
    LowerCaseFileSystem = boolean("lower_case_file_system", Global, false).fact();
    DefaultStorageEngine = choice("default_storage_engine", Both, "InnoDB", &["InnoDB"]);
    DefaultTmpStorageEngine = choice("default_tmp_storage_engine", Both, "InnoDB", &["InnoDB"]).hintable();
    AutoIncrementIncrement = int("auto_increment_increment", Both, 1, 1, 65535).hintable();
    AutoIncrementOffset = int("auto_increment_offset", Both, 1, 1, 65535).hintable();
    ForeignKeyChecks = boolean("foreign_key_checks", Both, true).hintable();
    UniqueChecks = boolean("unique_checks", Both, true).hintable();
    SqlSelectLimit = int("sql_select_limit", Both, MAX, 0, MAX).hintable();
    SqlSafeUpdates = boolean("sql_safe_updates", Both, false).hintable();
    SqlNotes = boolean("sql_notes", Both, true);
    UpdatableViewsWithLimit = choice("updatable_views_with_limit", Both, "YES", &["NO", "YES"]).hintable();
    SqlWarnings = boolean("sql_warnings", Both, false);
    SqlQuoteShowCreate = boolean("sql_quote_show_create", Both, true);
    SqlAutoIsNull = boolean("sql_auto_is_null", Both, false).hintable()
        .help("id IS NULL finds the row inserted last, where id is AUTO_INCREMENT");
    SqlBigSelects = boolean("sql_big_selects", Both, true).hintable().help("SELECTs may examine more than max_join_size rows");
    MaxJoinSize = int("max_join_size", Both, MAX, 1, MAX).hintable().help("SELECTs expected to examine more rows are refused; setting it sets sql_big_selects");
    SqlLogBin = boolean("sql_log_bin", Session, true);
    SqlRequirePrimaryKey = boolean("sql_require_primary_key", Both, false);
    SqlGenerateInvisiblePrimaryKey = boolean("sql_generate_invisible_primary_key", Both, false)
        .help("tables made without a primary key get one, over an invisible column my_row_id");
    ShowGipk = boolean("show_gipk_in_create_table_and_information_schema", Both, true)
        .help("SHOW and information_schema have such keys and their columns");
    MaxExecutionTime = int("max_execution_time", Both, 0, 0, 4_294_967_295).hintable().help("milliseconds a SELECT may take; 0: no limit");
    LockWaitTimeout = int("lock_wait_timeout", Both, 31_536_000, 1, 31_536_000).hintable().help("seconds to wait for a metadata lock");
    GroupConcatMaxLen = int("group_concat_max_len", Both, 1024, 4, MAX).hintable();
    DivPrecisionIncrement = int("div_precision_increment", Both, 4, 0, 30).hintable();
    DefaultWeekFormat = int("default_week_format", Both, 0, 0, 7);
    BlockEncryptionMode = choice("block_encryption_mode", Both, "aes-128-ecb", BLOCK_MODES);
    ExplainFormat = choice("explain_format", Both, "TRADITIONAL", &["TRADITIONAL", "TRADITIONAL_STRICT", "JSON", "TREE"]).hintable()
        .help("format of EXPLAIN without FORMAT");
    OptimizerSwitch = flags("optimizer_switch", Both, "index_merge=on,index_merge_union=on,index_merge_sort_union=on,index_merge_intersection=on,engine_condition_pushdown=on,index_condition_pushdown=on,mrr=on,mrr_cost_based=on,block_nested_loop=on,batched_key_access=off,materialization=on,semijoin=on,loosescan=on,firstmatch=on,duplicateweedout=on,subquery_materialization_cost_based=on,use_index_extensions=on,condition_fanout_filter=on,derived_merge=on,use_invisible_indexes=off,skip_scan=on,hash_join=on,subquery_to_derived=off,prefer_ordering_index=on,hypergraph_optimizer=off,derived_condition_pushdown=on,hash_set_operations=on", &["index_merge", "index_merge_union", "index_merge_sort_union", "index_merge_intersection", "engine_condition_pushdown", "index_condition_pushdown", "mrr", "mrr_cost_based", "block_nested_loop", "batched_key_access", "materialization", "semijoin", "loosescan", "firstmatch", "duplicateweedout", "subquery_materialization_cost_based", "use_index_extensions", "condition_fanout_filter", "derived_merge", "use_invisible_indexes", "skip_scan", "hash_join", "subquery_to_derived", "prefer_ordering_index", "hypergraph_optimizer", "derived_condition_pushdown", "hash_set_operations"]).hintable()
        .help("ways of execution that the optimizer may choose");
    EqRangeIndexDiveLimit = int("eq_range_index_dive_limit", Both, 200, 0, 4_294_967_295).hintable()
        .help("equality ranges from which on statistics are used instead of looking into the index; 0: never");
    MaxErrorCount = int("max_error_count", Both, 1024, 0, 65535).hintable();
    MaxSortLength = int("max_sort_length", Both, 1024, 4, 8 << 20).hintable().tuning();
    CteMaxRecursionDepth = int("cte_max_recursion_depth", Both, 1000, 0, 4_294_967_295).hintable();
    LongQueryTime = double("long_query_time", Both, 10.0, 0.0, 31_536_000.0);
    LcTimeNames = choice("lc_time_names", Both, "en_US", gannet_types::temporal::LOCALE_NAMES).help("language of names of months and days");
    LcMessages = choice("lc_messages", Both, "en_US", &["en_US"]);
    ExplicitDefaultsForTimestamp = boolean("explicit_defaults_for_timestamp", Both, true).default_only();
    MaxPreparedStmtCount = int("max_prepared_stmt_count", Global, 16382, 0, 4_194_304).help("prepared statements on all connections");
    LocalInfile = boolean("local_infile", Global, false).help("clients may send files of theirs: LOAD DATA LOCAL");
    SecureFilePriv = VarDef { kind: Kind::NullableText, ..text("secure_file_priv", Global, "NULL").read_only().persist_restricted().help("directory of files that statements read and write; NULL: none, empty: any") };
    SessionTrackSchema = boolean("session_track_schema", Both, true);
    SessionTrackSystemVariables = text("session_track_system_variables", Both,
        "time_zone,autocommit,character_set_client,character_set_results,character_set_connection");
    SessionTrackStateChange = boolean("session_track_state_change", Both, false);
    SessionTrackTransactionInfo = choice("session_track_transaction_info", Both, "OFF", &["OFF", "STATE", "CHARACTERISTICS"]);
    SessionTrackGtids = choice("session_track_gtids", Both, "OFF", &["OFF", "OWN_GTID", "ALL_GTIDS"]).help("answers tell the client which transactions of the binary log it has committed, or all");
    GtidNext = text("gtid_next", Session, "AUTOMATIC").help("the GTID of the transaction that commits next");
    OriginalCommitTimestamp = int("original_commit_timestamp", Session, 1 << 55, 0, 1 << 55).help("microseconds since 1970: when the server that had the next transaction first committed it; 2^55: it is this one");
    OriginalServerVersion = int("original_server_version", Session, 999_999, 0, 4_294_967_295).help("the version of that server; 999999: it is this one");
    ImmediateServerVersion = int("immediate_server_version", Session, 999_999, 0, 4_294_967_295).help("the version of the server that the next transaction was read from; the binary log has this one's");
    ResultsetMetadata = choice("resultset_metadata", Session, "FULL", &["NONE", "FULL"]);

    // Answers about the session; no global value.
    Timestamp = double("timestamp", Session, 0.0, 0.0, 32_536_771_199.0).hintable();
    InsertId = int("insert_id", Session, 0, 0, MAX).hintable();
    LastInsertId = int("last_insert_id", Session, 0, 0, MAX);
    Identity = int("identity", Session, 0, 0, MAX);
    RandSeed1 = int("rand_seed1", Session, 0, 0, 4_294_967_295);
    RandSeed2 = int("rand_seed2", Session, 0, 0, 4_294_967_295);
    WarningCount = int("warning_count", Session, 0, 0, MAX).fact();
    ErrorCount = int("error_count", Session, 0, 0, MAX).fact();
    PseudoThreadId = int("pseudo_thread_id", Session, 0, 0, 4_294_967_295);
    StatementId = int("statement_id", Session, 0, 0, MAX).fact();
    ExternalUser = null_text("external_user", Session).fact();
    CheckProxyUsers = boolean("check_proxy_users", Global, false).help("logins of plugins that allow it take the rights of the account they have PROXY on");
    NativeProxyUsers = boolean("mysql_native_password_proxy_users", Global, false).help("mysql_native_password allows it");
    Sha256ProxyUsers = boolean("sha256_password_proxy_users", Global, false).help("sha256_password allows it");
    ProxyUser = null_text("proxy_user", Session).fact();

    // Facts.
    Version = text("version", Global, "").fact();
    VersionComment = text("version_comment", Global, "Gannet").fact();
    VersionCompileMachine = text("version_compile_machine", Global, std::env::consts::ARCH).fact();
    VersionCompileOs = text("version_compile_os", Global, "Linux").fact();
    VersionCompileZlib = text("version_compile_zlib", Global, "").fact();
    License = text("license", Global, "Apache-2.0").fact();
    Hostname = text("hostname", Global, "localhost").fact();
    ServerUuid = text("server_uuid", Global, "").fact();
    ServerId = int("server_id", Global, 1, 0, 4_294_967_295).then(Then::BinlogFile).help("this server's number among replicas");
    Basedir = text("basedir", Global, "").persist_restricted().read_only().tuning();
    Tmpdir = text("tmpdir", Global, "").persist_restricted().read_only().help("directory of temporary files (default: the datadir)");
    PluginDir = text("plugin_dir", Global, "").persist_restricted().read_only().tuning();
    LogBin = boolean("log_bin", Global, true).fact();
    LogBinBasename = text("log_bin_basename", Global, "").fact();
    LogBinIndex = text("log_bin_index", Global, "").fact();
    LogBinTrustFunctionCreators = boolean("log_bin_trust_function_creators", Global, false)
        .help("functions and triggers may be made that do not say what they do, by accounts without SUPER");
    BinlogFormat = choice("binlog_format", Both, "ROW", &["MIXED", "STATEMENT", "ROW"]).default_only();
    BinlogChecksum = choice("binlog_checksum", Global, "CRC32", &["NONE", "CRC32"]).then(Then::BinlogFile)
        .help("what events of the binary log end with; a new file begins");
    BinlogRowMetadata = choice("binlog_row_metadata", Global, "MINIMAL", &["MINIMAL", "FULL"]).then(Then::Binlog)
        .help("what table maps say of columns: FULL with names, members and keys");
    BinlogRowImage = choice("binlog_row_image", Both, "FULL", &["MINIMAL", "NOBLOB", "FULL"]).then(Then::Binlog).help("columns of changed rows in the binary log: all, all but unchanged long ones, or those that are needed");
    BinlogRowValueOptions = set("binlog_row_value_options", Both, "", &["PARTIAL_JSON"]).then(Then::Binlog)
        .help("PARTIAL_JSON: changes of JSON documents are in the binary log in their place where they are shorter");
    BinlogRowsQueryLogEvents = boolean("binlog_rows_query_log_events", Both, false).help("statements stand before their rows in the binary log");
    BinlogTransactionCompression = boolean("binlog_transaction_compression", Both, false).help("rows of a transaction are compressed with zstd in the binary log");
    BinlogRowEventMaxSize = int("binlog_row_event_max_size", Global, 8192, 256, MAX).read_only()
        .help("bytes of an event of rows in the binary log, behind which no more rows are added");
    MaxBinlogCacheSize = int("max_binlog_cache_size", Global, 18446744073709547520, 4096, MAX).then(Then::Binlog)
        .help("bytes that the rows of a transaction may have in the binary log: one with more fails");
    PseudoReplicaMode = boolean("pseudo_replica_mode", Session, false)
        .help("what BINLOG does comes from another server; unknown modes of sql_mode are passed over");
    RbrExecMode = choice("rbr_exec_mode", Session, "STRICT", &["STRICT", "IDEMPOTENT"])
        .help("IDEMPOTENT: rows of BINLOG take the place of those that are there, and those that are not there are passed over");
    RequireRowFormat = boolean("require_row_format", Session, false)
        .help("only rows of BINLOG are changed, and there are no temporary tables");
    BinlogTransactionDependencyHistorySize = int("binlog_transaction_dependency_history_size", Global, 25_000, 1, 1_000_000).then(Then::BinlogFile)
        .help("keys of changed rows that are remembered to tell which transactions replicas may apply beside each other; a new file begins");
    RplSemiSyncSourceEnabled = boolean("rpl_semi_sync_source_enabled", Global, false).then(Then::Binlog)
        .help("commits wait until replicas have acknowledged them");
    RplSemiSyncSourceTimeout = int("rpl_semi_sync_source_timeout", Global, 10000, 0, MAX).then(Then::Binlog)
        .help("milliseconds after which they do not wait any more, until a replica has caught up");
    RplSemiSyncSourceWaitForReplicaCount = int("rpl_semi_sync_source_wait_for_replica_count", Global, 1, 1, 65535).then(Then::Binlog)
        .help("for how many replicas");
    RplSemiSyncSourceWaitNoReplica = boolean("rpl_semi_sync_source_wait_no_replica", Global, true).then(Then::Binlog)
        .help("also while there are fewer");
    RplSemiSyncSourceWaitPoint = choice("rpl_semi_sync_source_wait_point", Global, "AFTER_SYNC", &["AFTER_SYNC", "AFTER_COMMIT"]).then(Then::Binlog)
        .help("AFTER_SYNC: others do not see a commit that waits; AFTER_COMMIT: they do");
    RplSemiSyncReplicaEnabled = boolean("rpl_semi_sync_replica_enabled", Global, false)
        .help("this server acknowledges what it has applied, from the next START REPLICA on");
    RelayLog = text("relay_log", Global, "").persist_restricted().read_only()
        .help("the relay logs' name, without an extension (default: HOST-relay-bin), that of the channel behind it");
    RelayLogBasename = text("relay_log_basename", Global, "").fact();
    RelayLogIndex = text("relay_log_index", Global, "").fact();
    RelayLogRecovery = boolean("relay_log_recovery", Global, true).read_only().default_only();
    RelayLogPurge = boolean("relay_log_purge", Global, true).help("relay logs go when they are applied");
    RelayLogSpaceLimit = int("relay_log_space_limit", Global, 0, 0, MAX).read_only()
        .help("bytes of a channel's relay logs at which it receives no more until they are applied; 0: no limit");
    MaxRelayLogSize = blocks("max_relay_log_size", Global, 0, 0, 1_073_741_824, 4096)
        .help("size at which the next relay log begins; 0: that of max_binlog_size");
    ReplicaNetTimeout = int("replica_net_timeout", Global, 60, 1, 31_536_000)
        .help("seconds after which a source that has said nothing is connected to again; half of it is the usual SOURCE_HEARTBEAT_PERIOD");
    ReplicaMaxAllowedPacket = blocks("replica_max_allowed_packet", Global, 1_073_741_824, 1024, 1_073_741_824, 1024)
        .help("bytes of the longest event that is taken from a source");
    ReplicaCompressedProtocol = boolean("replica_compressed_protocol", Global, false)
        .help("the connection to a source is compressed by zlib, if that can, whatever SOURCE_COMPRESSION_ALGORITHMS says");
    ReplicaExecMode = choice("replica_exec_mode", Global, "STRICT", &["STRICT", "IDEMPOTENT"])
        .help("from the next START REPLICA on; IDEMPOTENT: rows of a source take the place of those that are there, and those that are not there are passed over");
    ReplicaTypeConversions = set("replica_type_conversions", Global, "", &["ALL_LOSSY", "ALL_NON_LOSSY", "ALL_SIGNED", "ALL_UNSIGNED"])
        .help("columns of other types than a source's take its values: ALL_NON_LOSSY larger ones, ALL_LOSSY smaller ones");
    InitReplica = text("init_replica", Global, "").help("statements that are run when a replica begins to apply");
    SkipReplicaStart = boolean("skip_replica_start", Global, false).read_only()
        .help("what followed a source before does not go on with the start of the server");
    RplStopReplicaTimeout = int("rpl_stop_replica_timeout", Global, 31_536_000, 2, 31_536_000)
        .help("seconds after which STOP REPLICA does not wait any more");
    ReportHost = text("report_host", Global, "").read_only().help("host of this replica in SHOW REPLICAS of its source");
    ReportPort = int("report_port", Global, 0, 0, 65535).read_only().help("its port there; 0: the server's");
    ReportUser = text("report_user", Global, "").read_only().help("user that its source is told");
    ReportPassword = text("report_password", Global, "").read_only().help("password that its source is told");
    ReplicaParallelWorkers = int("replica_parallel_workers", Global, 4, 0, 1024)
        .help("threads that apply transactions of a source beside each other, from the next START REPLICA on; 0: the one that reads applies");
    ReplicaTransactionRetries = int("replica_transaction_retries", Global, 10, 0, MAX)
        .help("how often a replica's worker applies a transaction again that has waited too long for a row, or was a deadlock's victim");
    BinlogExpireLogsSeconds = int("binlog_expire_logs_seconds", Global, 2_592_000, 0, 4_294_967_295)
        .help("files of the binary log go after so long, when a new one begins; 0: never");
    BinlogExpireLogsAutoPurge = boolean("binlog_expire_logs_auto_purge", Global, true).help("they do");
    MaxBinlogSize = blocks("max_binlog_size", Global, 1_073_741_824, 4096, 1_073_741_824, 4096)
        .help("bytes of a file of the binary log, behind which the next begins");
    GtidMode = choice("gtid_mode", Global, "ON", &["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"]).then(Then::Fixed).no_option();
    EnforceGtidConsistency = choice("enforce_gtid_consistency", Global, "ON", &["OFF", "ON", "WARN"]).then(Then::Fixed).no_option();
    GtidExecuted = text("gtid_executed", Global, "").fact();
    GtidOwned = text("gtid_owned", Both, "").fact();
    GtidPurged = text("gtid_purged", Global, "").no_option().not_persisted();
    PerformanceSchema = boolean("performance_schema", Global, true).then(Then::Collecting)
        .help("collect what performance_schema and the console show; can be set at run time, too");
    HaveCompress = text("have_compress", Global, "YES").fact();
    HaveDynamicLoading = text("have_dynamic_loading", Global, "NO").fact();
    HaveGeometry = text("have_geometry", Global, "NO").fact();
    HaveProfiling = text("have_profiling", Global, "YES").fact();
    Profiling = boolean("profiling", Both, false);
    ProfilingHistorySize = int("profiling_history_size", Both, 15, 0, 100);
    HaveQueryCache = text("have_query_cache", Global, "NO").fact();
    HaveRtreeKeys = text("have_rtree_keys", Global, "NO").fact();
    HaveStatementTimeout = text("have_statement_timeout", Global, "YES").fact();
    HaveSymlink = text("have_symlink", Global, "DISABLED").fact();
    LargeFilesSupport = boolean("large_files_support", Global, true).fact();
    Caching2DigestRounds = int("caching_sha2_password_digest_rounds", Global, 5000, 5000, 5000).fact();
    PerformanceSchemaDigestsSize = int("performance_schema_digests_size", Global, 10_000, 1, 1_048_576).read_only()
        .help("statement digests that statistics are kept for");
    MaxDigestLength = int("max_digest_length", Global, 1024, 0, 1 << 20).read_only();
    PlanCacheSize = int("gannet_plan_cache_size", Global, 32 << 20, 1 << 20, 1 << 36).read_only()
        .help("memory for cached plans");
    StatementMemory = int("gannet_statement_memory", Both, 256 << 20, 16 << 10, 1 << 40).bound()
        .help("memory for the sorts, hash tables and kept rows of a statement; more of them goes to tmpdir");
    InnodbDdlThreads = int("innodb_ddl_threads", Both, 4, 1, 64)
        .help("tasks that may build the indexes of a table together");
    ParallelWorkers = int("gannet_parallel_workers", Both, 1, 1, 1024).bound()
        .help("workers that may count the rows of a table together; 1: the connection's own");
    TmpDiskLimit = int("gannet_tmp_disk_limit", Global, 64 << 30, 1 << 20, MAX).then(Then::TempLimits)
        .help("bytes that the temporary files of all statements may have together");
    PersistedGlobalsLoad = boolean("persisted_globals_load", Global, true).read_only().not_persisted()
        .help("take up what SET PERSIST has kept");
    PersistOnlyAdminX509Subject = text("persist_only_admin_x509_subject", Global, "").read_only().not_persisted()
        .help("subject of the certificate whose owner may persist restricted variables; empty: nobody may");
    Components = text("gannet_components", Global, "").not_persisted().read_only().no_option();
    ValidatePasswordUserName = boolean("validate_password.check_user_name", Global, true);
    ValidatePasswordLength = int("validate_password.length", Global, 8, 0, 2_147_483_647);
    ValidatePasswordMixedCase = int("validate_password.mixed_case_count", Global, 1, 0, 2_147_483_647);
    ValidatePasswordNumbers = int("validate_password.number_count", Global, 1, 0, 2_147_483_647);
    ValidatePasswordPolicy = choice("validate_password.policy", Global, "MEDIUM", &["LOW", "MEDIUM", "STRONG"]);
    ValidatePasswordSpecial = int("validate_password.special_char_count", Global, 1, 0, 2_147_483_647);
    TemptableMaxRam = int("temptable_max_ram", Global, 1 << 30, 2 << 20, MAX).then(Then::TempLimits)
        .help("memory for the sorts, hash tables and kept rows of all statements together");
}
