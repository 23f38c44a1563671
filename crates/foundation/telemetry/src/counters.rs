//! Status counters, declared once. A new counter is one line in the table below.

/// How a counter behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down; shown as signed.
    Gauge,
}

/// Where MySQL shows a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// INNODB_METRICS only.
    Metrics,
    /// SHOW GLOBAL STATUS only.
    Global,
    /// Also per session, in SHOW SESSION STATUS.
    Both,
}

macro_rules! counters {
    ($($id:ident = $name:literal, $kind:ident, $scope:ident;)*) => {
        /// A status counter. The declaration order is the storage order; those of the hot path come first.
        #[allow(missing_docs)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u16)]
        pub enum Counter {
            $($id,)*
        }

        impl Counter {
            /// All counters in order of declaration.
            pub const ALL: &[Counter] = &[$(Counter::$id),*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The name MySQL shows for it.
            pub const fn name(self) -> &'static str {
                match self { $(Counter::$id => $name,)* }
            }

            /// Counter or gauge.
            pub const fn kind(self) -> Kind {
                match self { $(Counter::$id => Kind::$kind,)* }
            }

            /// Where it is shown.
            pub const fn scope(self) -> Scope {
                match self { $(Counter::$id => Scope::$scope,)* }
            }
        }
    };
}

counters! {
    // A session's counters lie in lines of eight, and what counts must be there. Of any statement:
    Questions = "Questions", Counter, Both;
    Queries = "Queries", Counter, Both;
    BytesReceived = "Bytes_received", Counter, Both;
    BytesSent = "Bytes_sent", Counter, Both;
    PlanCacheHits = "Gannet_plan_cache_hits", Counter, Both;
    HandlerCommit = "Handler_commit", Counter, Both;
    HandlerExternalLock = "Handler_external_lock", Counter, Both;
    LockWaitNs = "Gannet_lock_wait_time_ns", Counter, Both;
    // Of statements on single rows:
    HandlerReadKey = "Handler_read_key", Counter, Both;
    ComSelect = "Com_select", Counter, Both;
    ComInsert = "Com_insert", Counter, Both;
    ComUpdate = "Com_update", Counter, Both;
    ComDelete = "Com_delete", Counter, Both;
    HandlerWrite = "Handler_write", Counter, Both;
    HandlerUpdate = "Handler_update", Counter, Both;
    HandlerDelete = "Handler_delete", Counter, Both;
    // Of transactions and prepared statements:
    ComBegin = "Com_begin", Counter, Both;
    ComCommit = "Com_commit", Counter, Both;
    ComRollback = "Com_rollback", Counter, Both;
    ComSetOption = "Com_set_option", Counter, Both;
    ComStmtExecute = "Com_stmt_execute", Counter, Both;
    ComStmtPrepare = "Com_stmt_prepare", Counter, Both;
    ComStmtClose = "Com_stmt_close", Counter, Both;
    PlanCacheMisses = "Gannet_plan_cache_misses", Counter, Both;
    // Of scans and sorts, with what digests say of each statement (`WORK`):
    HandlerReadNext = "Handler_read_next", Counter, Both;
    HandlerReadFirst = "Handler_read_first", Counter, Both;
    HandlerReadRndNext = "Handler_read_rnd_next", Counter, Both;
    SelectScan = "Select_scan", Counter, Both;
    SelectFullJoin = "Select_full_join", Counter, Both;
    SelectRange = "Select_range", Counter, Both;
    SelectFullRangeJoin = "Select_full_range_join", Counter, Both;
    SortRows = "Sort_rows", Counter, Both;
    SortScan = "Sort_scan", Counter, Both;
    SortRange = "Sort_range", Counter, Both;
    SortMergePasses = "Sort_merge_passes", Counter, Both;
    CreatedTmpTables = "Created_tmp_tables", Counter, Both;
    CreatedTmpDiskTables = "Created_tmp_disk_tables", Counter, Both;
    // The engine's:
    InnodbRowsRead = "Innodb_rows_read", Counter, Global;
    InnodbRowsInserted = "Innodb_rows_inserted", Counter, Global;
    InnodbRowsUpdated = "Innodb_rows_updated", Counter, Global;
    InnodbRowsDeleted = "Innodb_rows_deleted", Counter, Global;
    InnodbBufferPoolReadRequests = "Innodb_buffer_pool_read_requests", Counter, Global;

    // Handler, sort, select, temporary tables.
    HandlerReadLast = "Handler_read_last", Counter, Both;
    HandlerReadPrev = "Handler_read_prev", Counter, Both;
    HandlerReadRnd = "Handler_read_rnd", Counter, Both;
    HandlerRollback = "Handler_rollback", Counter, Both;
    HandlerPrepare = "Handler_prepare", Counter, Both;
    HandlerSavepoint = "Handler_savepoint", Counter, Both;
    HandlerSavepointRollback = "Handler_savepoint_rollback", Counter, Both;
    CreatedTmpFiles = "Created_tmp_files", Counter, Global;
    SlowQueries = "Slow_queries", Counter, Both;

    // Statements.
    ComAdminCommands = "Com_admin_commands", Counter, Both;
    ComAlterDb = "Com_alter_db", Counter, Both;
    ComAlterEvent = "Com_alter_event", Counter, Both;
    ComAlterFunction = "Com_alter_function", Counter, Both;
    ComAlterInstance = "Com_alter_instance", Counter, Both;
    ComAlterProcedure = "Com_alter_procedure", Counter, Both;
    ComAlterTable = "Com_alter_table", Counter, Both;
    ComAlterUser = "Com_alter_user", Counter, Both;
    ComAlterUserDefaultRole = "Com_alter_user_default_role", Counter, Both;
    ComAnalyze = "Com_analyze", Counter, Both;
    ComAssignToKeycache = "Com_assign_to_keycache", Counter, Both;
    ComBinlog = "Com_binlog", Counter, Both;
    ComCallProcedure = "Com_call_procedure", Counter, Both;
    ComChangeDb = "Com_change_db", Counter, Both;
    ComCheck = "Com_check", Counter, Both;
    ComChecksum = "Com_checksum", Counter, Both;
    ComClone = "Com_clone", Counter, Both;
    ComCreateDb = "Com_create_db", Counter, Both;
    ComCreateEvent = "Com_create_event", Counter, Both;
    ComCreateFunction = "Com_create_function", Counter, Both;
    ComCreateIndex = "Com_create_index", Counter, Both;
    ComCreateProcedure = "Com_create_procedure", Counter, Both;
    ComCreateRole = "Com_create_role", Counter, Both;
    ComCreateTable = "Com_create_table", Counter, Both;
    ComCreateTrigger = "Com_create_trigger", Counter, Both;
    ComCreateUser = "Com_create_user", Counter, Both;
    ComCreateView = "Com_create_view", Counter, Both;
    ComDeallocSql = "Com_dealloc_sql", Counter, Both;
    ComDeleteMulti = "Com_delete_multi", Counter, Both;
    ComDo = "Com_do", Counter, Both;
    ComDropDb = "Com_drop_db", Counter, Both;
    ComDropEvent = "Com_drop_event", Counter, Both;
    ComDropFunction = "Com_drop_function", Counter, Both;
    ComDropIndex = "Com_drop_index", Counter, Both;
    ComDropProcedure = "Com_drop_procedure", Counter, Both;
    ComDropRole = "Com_drop_role", Counter, Both;
    ComDropTable = "Com_drop_table", Counter, Both;
    ComDropTrigger = "Com_drop_trigger", Counter, Both;
    ComDropUser = "Com_drop_user", Counter, Both;
    ComDropView = "Com_drop_view", Counter, Both;
    ComEmptyQuery = "Com_empty_query", Counter, Both;
    ComExecuteSql = "Com_execute_sql", Counter, Both;
    ComExplainOther = "Com_explain_other", Counter, Both;
    ComFlush = "Com_flush", Counter, Both;
    ComGetDiagnostics = "Com_get_diagnostics", Counter, Both;
    ComGrant = "Com_grant", Counter, Both;
    ComGrantRoles = "Com_grant_roles", Counter, Both;
    ComHaClose = "Com_ha_close", Counter, Both;
    ComHaOpen = "Com_ha_open", Counter, Both;
    ComHaRead = "Com_ha_read", Counter, Both;
    ComHelp = "Com_help", Counter, Both;
    ComInsertSelect = "Com_insert_select", Counter, Both;
    ComInstallComponent = "Com_install_component", Counter, Both;
    ComInstallPlugin = "Com_install_plugin", Counter, Both;
    ComKill = "Com_kill", Counter, Both;
    ComLoad = "Com_load", Counter, Both;
    ComLockTables = "Com_lock_tables", Counter, Both;
    ComOptimize = "Com_optimize", Counter, Both;
    ComPreloadKeys = "Com_preload_keys", Counter, Both;
    ComPrepareSql = "Com_prepare_sql", Counter, Both;
    ComReleaseSavepoint = "Com_release_savepoint", Counter, Both;
    ComRenameTable = "Com_rename_table", Counter, Both;
    ComRenameUser = "Com_rename_user", Counter, Both;
    ComRepair = "Com_repair", Counter, Both;
    ComReplace = "Com_replace", Counter, Both;
    ComReplaceSelect = "Com_replace_select", Counter, Both;
    ComReset = "Com_reset", Counter, Both;
    ComRestart = "Com_restart", Counter, Both;
    ComRevoke = "Com_revoke", Counter, Both;
    ComRevokeAll = "Com_revoke_all", Counter, Both;
    ComRevokeRoles = "Com_revoke_roles", Counter, Both;
    ComRollbackToSavepoint = "Com_rollback_to_savepoint", Counter, Both;
    ComSavepoint = "Com_savepoint", Counter, Both;
    ComSetPassword = "Com_set_password", Counter, Both;
    ComSetRole = "Com_set_role", Counter, Both;
    ComShowBinaryLogStatus = "Com_show_binary_log_status", Counter, Both;
    ComShowBinlogEvents = "Com_show_binlog_events", Counter, Both;
    ComShowBinlogs = "Com_show_binlogs", Counter, Both;
    ComShowCharsets = "Com_show_charsets", Counter, Both;
    ComShowCollations = "Com_show_collations", Counter, Both;
    ComShowCreateDb = "Com_show_create_db", Counter, Both;
    ComShowCreateEvent = "Com_show_create_event", Counter, Both;
    ComShowCreateFunc = "Com_show_create_func", Counter, Both;
    ComShowCreateProc = "Com_show_create_proc", Counter, Both;
    ComShowCreateTable = "Com_show_create_table", Counter, Both;
    ComShowCreateTrigger = "Com_show_create_trigger", Counter, Both;
    ComShowCreateUser = "Com_show_create_user", Counter, Both;
    ComShowDatabases = "Com_show_databases", Counter, Both;
    ComShowEngineStatus = "Com_show_engine_status", Counter, Both;
    ComShowErrors = "Com_show_errors", Counter, Both;
    ComShowEvents = "Com_show_events", Counter, Both;
    ComShowFields = "Com_show_fields", Counter, Both;
    ComShowFunctionStatus = "Com_show_function_status", Counter, Both;
    ComShowGrants = "Com_show_grants", Counter, Both;
    ComShowKeys = "Com_show_keys", Counter, Both;
    ComShowOpenTables = "Com_show_open_tables", Counter, Both;
    ComShowPlugins = "Com_show_plugins", Counter, Both;
    ComShowPrivileges = "Com_show_privileges", Counter, Both;
    ComShowProcedureStatus = "Com_show_procedure_status", Counter, Both;
    ComShowProcesslist = "Com_show_processlist", Counter, Both;
    ComShowProfile = "Com_show_profile", Counter, Both;
    ComShowProfiles = "Com_show_profiles", Counter, Both;
    ComShowReplicaStatus = "Com_show_replica_status", Counter, Both;
    ComShowReplicas = "Com_show_replicas", Counter, Both;
    ComShowStatus = "Com_show_status", Counter, Both;
    ComShowStorageEngines = "Com_show_storage_engines", Counter, Both;
    ComShowTableStatus = "Com_show_table_status", Counter, Both;
    ComShowTables = "Com_show_tables", Counter, Both;
    ComShowTriggers = "Com_show_triggers", Counter, Both;
    ComShowVariables = "Com_show_variables", Counter, Both;
    ComShowWarnings = "Com_show_warnings", Counter, Both;
    ComShutdown = "Com_shutdown", Counter, Both;
    ComStmtFetch = "Com_stmt_fetch", Counter, Both;
    ComStmtReprepare = "Com_stmt_reprepare", Counter, Both;
    ComStmtReset = "Com_stmt_reset", Counter, Both;
    ComStmtSendLongData = "Com_stmt_send_long_data", Counter, Both;
    ComTruncate = "Com_truncate", Counter, Both;
    ComUninstallComponent = "Com_uninstall_component", Counter, Both;
    ComUninstallPlugin = "Com_uninstall_plugin", Counter, Both;
    ComUnlockTables = "Com_unlock_tables", Counter, Both;
    ComUpdateMulti = "Com_update_multi", Counter, Both;
    ComXaCommit = "Com_xa_commit", Counter, Both;
    ComXaEnd = "Com_xa_end", Counter, Both;
    ComXaPrepare = "Com_xa_prepare", Counter, Both;
    ComXaRecover = "Com_xa_recover", Counter, Both;
    ComXaRollback = "Com_xa_rollback", Counter, Both;
    ComXaStart = "Com_xa_start", Counter, Both;
    ComAlterResourceGroup = "Com_alter_resource_group", Counter, Both;
    ComAlterServer = "Com_alter_server", Counter, Both;
    ComChangeReplFilter = "Com_change_repl_filter", Counter, Both;
    ComChangeReplicationSource = "Com_change_replication_source", Counter, Both;
    ComCreateResourceGroup = "Com_create_resource_group", Counter, Both;
    ComCreateServer = "Com_create_server", Counter, Both;
    ComDropResourceGroup = "Com_drop_resource_group", Counter, Both;
    ComDropServer = "Com_drop_server", Counter, Both;
    ComLockInstance = "Com_lock_instance", Counter, Both;
    ComPurge = "Com_purge", Counter, Both;
    ComPurgeBeforeDate = "Com_purge_before_date", Counter, Both;
    ComReplicaStart = "Com_replica_start", Counter, Both;
    ComReplicaStop = "Com_replica_stop", Counter, Both;
    ComResignal = "Com_resignal", Counter, Both;
    ComSetResourceGroup = "Com_set_resource_group", Counter, Both;
    ComSignal = "Com_signal", Counter, Both;
    ComUnlockInstance = "Com_unlock_instance", Counter, Both;

    // Binary log.
    BinlogBytesWritten = "Binlog_bytes_written", Counter, Both;
    BinlogCacheUse = "Binlog_cache_use", Counter, Global;
    BinlogCacheDiskUse = "Binlog_cache_disk_use", Counter, Global;

    FlushCommands = "Flush_commands", Counter, Global;
    MaxExecutionTimeExceeded = "Max_execution_time_exceeded", Counter, Both;
    MaxExecutionTimeSet = "Max_execution_time_set", Counter, Both;

    // Connections and workers.
    Connections = "Connections", Counter, Global;
    ThreadsConnected = "Threads_connected", Gauge, Global;
    ThreadsCreated = "Threads_created", Counter, Global;
    AbortedClients = "Aborted_clients", Counter, Global;
    EmptyQueries = "Empty_queries", Counter, Both;
    AbortedConnects = "Aborted_connects", Counter, Global;
    AbortedConnectsPreauth = "Aborted_connects_preauth", Counter, Global;
    DeprecatedProcesslist = "Deprecated_use_i_s_processlist_count", Counter, Global;
    AttributesLost = "Performance_schema_session_connect_attrs_lost", Counter, Global;
    ConnectionErrorsAccept = "Connection_errors_accept", Counter, Global;
    ConnectionErrorsInternal = "Connection_errors_internal", Counter, Global;
    ConnectionErrorsMaxConnections = "Connection_errors_max_connections", Counter, Global;
    SslAccepts = "Ssl_accepts", Counter, Global;
    SslFinishedAccepts = "Ssl_finished_accepts", Counter, Global;
    SslSessionsReused = "Ssl_sessions_reused", Counter, Global;
    PreparedStmtCount = "Prepared_stmt_count", Gauge, Global;

    // Storage.
    InnodbBufferPoolReads = "Innodb_buffer_pool_reads", Counter, Global;
    InnodbBufferPoolWaitFree = "Innodb_buffer_pool_wait_free", Counter, Global;
    InnodbBufferPoolWriteRequests = "Innodb_buffer_pool_write_requests", Counter, Global;
    InnodbBufferPoolPagesFlushed = "Innodb_buffer_pool_pages_flushed", Counter, Global;
    InnodbBufferPoolReadAhead = "Innodb_buffer_pool_read_ahead", Counter, Global;
    InnodbDataFsyncs = "Innodb_data_fsyncs", Counter, Global;
    InnodbDataRead = "Innodb_data_read", Counter, Global;
    InnodbDataReads = "Innodb_data_reads", Counter, Global;
    InnodbDataWrites = "Innodb_data_writes", Counter, Global;
    InnodbDataWritten = "Innodb_data_written", Counter, Global;
    InnodbDblwrPagesWritten = "Innodb_dblwr_pages_written", Counter, Global;
    InnodbDblwrWrites = "Innodb_dblwr_writes", Counter, Global;
    InnodbLogWaits = "Innodb_log_waits", Counter, Global;
    InnodbLogWriteRequests = "Innodb_log_write_requests", Counter, Global;
    InnodbLogWrites = "Innodb_log_writes", Counter, Global;
    InnodbOsLogFsyncs = "Innodb_os_log_fsyncs", Counter, Global;
    InnodbOsLogWritten = "Innodb_os_log_written", Counter, Global;
    InnodbPagesCreated = "Innodb_pages_created", Counter, Global;
    InnodbPagesRead = "Innodb_pages_read", Counter, Global;
    InnodbPagesWritten = "Innodb_pages_written", Counter, Global;
    InnodbSampledPagesRead = "Innodb_sampled_pages_read", Counter, Global;
    InnodbSampledPagesSkipped = "Innodb_sampled_pages_skipped", Counter, Global;
    InnodbRowLockCurrentWaits = "Innodb_row_lock_current_waits", Gauge, Global;
    InnodbRowLockTimeMicros = "Gannet_row_lock_time_us", Counter, Global;
    InnodbRowLockWaits = "Innodb_row_lock_waits", Counter, Global;
    InnodbDeadlocks = "Innodb_deadlocks", Counter, Global;
    LockTimeouts = "Gannet_lock_timeouts", Counter, Global;
    LockMemory = "Gannet_lock_memory", Gauge, Global;
    TransactionsStarted = "Gannet_transactions_started", Counter, Global;
    TransactionsCommitted = "Gannet_transactions_committed", Counter, Global;
    TransactionsRolledBack = "Gannet_transactions_rolled_back", Counter, Global;
    OptimisticRestarts = "Gannet_optimistic_restarts", Counter, Global;
    PageSplits = "Gannet_page_splits", Counter, Global;
    PageMerges = "Gannet_page_merges", Counter, Global;
    PagesEvicted = "Gannet_pages_evicted", Counter, Global;
    SpaceGivenBack = "Gannet_space_given_back", Counter, Global;
    ParallelTasks = "Gannet_parallel_tasks", Counter, Both;
    VersionsRead = "Gannet_versions_read", Counter, Global;
    RowsPurged = "Gannet_rows_purged", Counter, Global;
    PageFaultsRepaired = "Gannet_torn_pages_repaired", Counter, Global;
    FibersCreated = "Gannet_fibers_created", Counter, Global;
    FiberPanics = "Gannet_fiber_panics", Counter, Global;
    WorkerWakes = "Gannet_worker_wakes", Counter, Global;
    WorkerSleeps = "Gannet_worker_sleeps", Counter, Global;
    // Of INNODB_METRICS alone, by the names that they have there. `lock_*`: explicit row locks.
    LockDeadlockFalsePositives = "lock_deadlock_false_positives", Counter, Metrics;
    LockDeadlockRounds = "lock_deadlock_rounds", Counter, Metrics;
    LockRecLockRequests = "lock_rec_lock_requests", Counter, Metrics;
    LockRecReleaseAttempts = "lock_rec_release_attempts", Counter, Metrics;
    LockRecGrantAttempts = "lock_rec_grant_attempts", Counter, Metrics;
    LockRecLockCreated = "lock_rec_lock_created", Counter, Metrics;
    LockRecLockRemoved = "lock_rec_lock_removed", Counter, Metrics;
    FlushBatchScanned = "buffer_flush_batch_scanned", Counter, Metrics;
    FlushBatchNumScan = "buffer_flush_batch_num_scan", Counter, Metrics;
    FlushBatches = "buffer_flush_batches", Counter, Metrics;
    FlushAdaptivePages = "buffer_flush_adaptive_total_pages", Counter, Metrics;
    FlushAdaptive = "buffer_flush_adaptive", Counter, Metrics;
    FlushAdaptiveNs = "gannet_flush_adaptive_time_ns", Counter, Metrics;
    FlushSyncPages = "buffer_flush_sync_total_pages", Counter, Metrics;
    FlushSync = "buffer_flush_sync", Counter, Metrics;
    FlushBackgroundPages = "buffer_flush_background_total_pages", Counter, Metrics;
    FlushBackground = "buffer_flush_background", Counter, Metrics;
    FlushNs = "gannet_flush_time_ns", Counter, Metrics;
    LruBatchScanned = "buffer_LRU_batch_scanned", Counter, Metrics;
    LruBatchNumScan = "buffer_LRU_batch_num_scan", Counter, Metrics;
    LruBatchFlushPages = "buffer_LRU_batch_flush_total_pages", Counter, Metrics;
    LruBatchesFlush = "buffer_LRU_batches_flush", Counter, Metrics;
    LruBatchEvictPages = "buffer_LRU_batch_evict_total_pages", Counter, Metrics;
    LruFlushNs = "gannet_lru_flush_time_ns", Counter, Metrics;
    LruBatchesEvict = "buffer_LRU_batches_evict", Counter, Metrics;
    LruSearchScanned = "buffer_LRU_search_scanned", Counter, Metrics;
    LruSearchNumScan = "buffer_LRU_search_num_scan", Counter, Metrics;
    LruGetFreeLoops = "buffer_LRU_get_free_loops", Counter, Metrics;
    PageReadIndexLeaf = "buffer_page_read_index_leaf", Counter, Metrics;
    PageReadIndexNonLeaf = "buffer_page_read_index_non_leaf", Counter, Metrics;
    PageReadUndoLog = "buffer_page_read_undo_log", Counter, Metrics;
    PageReadSystem = "buffer_page_read_system_page", Counter, Metrics;
    PageReadFspHdr = "buffer_page_read_fsp_hdr", Counter, Metrics;
    PageReadXdes = "buffer_page_read_xdes", Counter, Metrics;
    PageReadBlob = "buffer_page_read_blob", Counter, Metrics;
    PageReadOther = "buffer_page_read_other", Counter, Metrics;
    PageWrittenIndexLeaf = "buffer_page_written_index_leaf", Counter, Metrics;
    PageWrittenIndexNonLeaf = "buffer_page_written_index_non_leaf", Counter, Metrics;
    PageWrittenUndoLog = "buffer_page_written_undo_log", Counter, Metrics;
    PageWrittenSystem = "buffer_page_written_system_page", Counter, Metrics;
    PageWrittenFspHdr = "buffer_page_written_fsp_hdr", Counter, Metrics;
    PageWrittenXdes = "buffer_page_written_xdes", Counter, Metrics;
    PageWrittenBlob = "buffer_page_written_blob", Counter, Metrics;
    PageWrittenOther = "buffer_page_written_other", Counter, Metrics;
    PageWrittenOnLogNoWaits = "buffer_page_written_on_log_no_waits", Counter, Metrics;
    PageWrittenOnLogWaits = "buffer_page_written_on_log_waits", Counter, Metrics;
    PageWrittenOnLogWaitLoops = "buffer_page_written_on_log_wait_loops", Counter, Metrics;
    OsPendingReads = "os_pending_reads", Gauge, Metrics;
    OsPendingWrites = "os_pending_writes", Gauge, Metrics;
    OsPendingSyncs = "gannet_os_pending_syncs", Gauge, Metrics;
    OsLogPendingFsyncs = "os_log_pending_fsyncs", Gauge, Metrics;
    OsLogPendingWrites = "os_log_pending_writes", Gauge, Metrics;
    TrxRwCommits = "trx_rw_commits", Counter, Metrics;
    TrxRoCommits = "trx_ro_commits", Counter, Metrics;
    TrxRollbacksSavepoint = "trx_rollbacks_savepoint", Counter, Metrics;
    TrxRollbackActive = "trx_rollback_active", Counter, Metrics;
    TrxAllocations = "trx_allocations", Counter, Metrics;
    TrxOnLogWaits = "trx_on_log_waits", Counter, Metrics;
    TrxOnLogWaitLoops = "trx_on_log_wait_loops", Counter, Metrics;
    PurgeUpdates = "purge_upd_exist_or_extern_records", Counter, Metrics;
    PurgeInvoked = "purge_invoked", Counter, Metrics;
    PurgeUndoLogPages = "purge_undo_log_pages", Counter, Metrics;
    PurgeTruncateHistory = "purge_truncate_history_count", Counter, Metrics;
    PurgeTruncateHistoryNs = "gannet_purge_truncate_history_ns", Counter, Metrics;
    DropNs = "gannet_background_drop_table_time_ns", Counter, Metrics;
    PurgeNs = "gannet_purge_time_ns", Counter, Metrics;
    LogFlushNs = "gannet_log_flush_time_ns", Counter, Metrics;
    LogPartialBlockWrites = "log_partial_block_writes", Counter, Metrics;
    LogPadded = "log_padded", Counter, Metrics;
    LogNextFile = "log_next_file", Counter, Metrics;
    LogWriterNoWaits = "log_writer_no_waits", Counter, Metrics;
    LogWriterOnFileSpaceWaits = "log_writer_on_file_space_waits", Counter, Metrics;
    LogOnWriteWaits = "log_on_write_waits", Counter, Metrics;
    LogOnWriteNoWaits = "log_on_write_no_waits", Counter, Metrics;
    LogOnFlushNoWaits = "log_on_flush_no_waits", Counter, Metrics;
    LogOnBufferSpaceWaits = "log_on_buffer_space_waits", Counter, Metrics;
    LogOnRecentWrittenWaitLoops = "log_on_recent_written_wait_loops", Counter, Metrics;
    LogOnWriteWaitLoops = "log_on_write_wait_loops", Counter, Metrics;
    LogOnFlushWaits = "log_on_flush_waits", Counter, Metrics;
    LogOnFlushWaitLoops = "log_on_flush_wait_loops", Counter, Metrics;
    LogOnFileSpaceWaits = "log_on_file_space_waits", Counter, Metrics;
    LatchSharedWaits = "innodb_rwlock_s_spin_waits", Counter, Metrics;
    LatchSharedTurns = "innodb_rwlock_s_spin_rounds", Counter, Metrics;
    LatchExclusiveWaits = "innodb_rwlock_x_spin_waits", Counter, Metrics;
    LatchSharedYields = "innodb_rwlock_s_os_waits", Counter, Metrics;
    LatchExclusiveYields = "innodb_rwlock_x_os_waits", Counter, Metrics;
    LatchExclusiveTurns = "innodb_rwlock_x_spin_rounds", Counter, Metrics;
    IndexPageDiscards = "index_page_discards", Counter, Metrics;
    IndexPageReorgs = "index_page_reorg_successful", Counter, Metrics;
    TableHandlesOpened = "metadata_table_handles_opened", Counter, Metrics;
    IndexPageMergeAttempts = "index_page_merge_attempts", Counter, Metrics;
    DdlOnlineCreateIndex = "ddl_online_create_index", Gauge, Metrics;
    DdlPendingAlterTable = "ddl_pending_alter_table", Gauge, Metrics;
    DdlSortFileAlterTable = "ddl_sort_file_alter_table", Counter, Metrics;
    IcpAttempts = "icp_attempts", Counter, Metrics;
    IcpNoMatch = "icp_no_match", Counter, Metrics;
    IcpMatch = "icp_match", Counter, Metrics;
    DblwrFlushWaitEvents = "dblwr_flush_wait_events", Counter, Metrics;
    // memcached's protocol, by the names that it has for them.
    MemcachedCurrConnections = "Memcached_curr_connections", Gauge, Global;
    MemcachedCmdGet = "Memcached_cmd_get", Counter, Global;
    MemcachedCmdSet = "Memcached_cmd_set", Counter, Global;
    MemcachedCmdFlush = "Memcached_cmd_flush", Counter, Global;
    MemcachedCmdTouch = "Memcached_cmd_touch", Counter, Global;
    MemcachedCmdMeta = "Memcached_cmd_meta", Counter, Global;
    MemcachedGetHits = "Memcached_get_hits", Counter, Global;
    MemcachedGetMisses = "Memcached_get_misses", Counter, Global;
    MemcachedGetExpired = "Memcached_get_expired", Counter, Global;
    MemcachedDeleteMisses = "Memcached_delete_misses", Counter, Global;
    MemcachedDeleteHits = "Memcached_delete_hits", Counter, Global;
    MemcachedIncrMisses = "Memcached_incr_misses", Counter, Global;
    MemcachedIncrHits = "Memcached_incr_hits", Counter, Global;
    MemcachedDecrMisses = "Memcached_decr_misses", Counter, Global;
    MemcachedDecrHits = "Memcached_decr_hits", Counter, Global;
    MemcachedCasMisses = "Memcached_cas_misses", Counter, Global;
    MemcachedCasHits = "Memcached_cas_hits", Counter, Global;
    MemcachedCasBadval = "Memcached_cas_badval", Counter, Global;
    MemcachedTouchHits = "Memcached_touch_hits", Counter, Global;
    MemcachedTouchMisses = "Memcached_touch_misses", Counter, Global;
    MemcachedAuthCmds = "Memcached_auth_cmds", Counter, Global;
    MemcachedAuthErrors = "Memcached_auth_errors", Counter, Global;
    MemcachedBytesRead = "Memcached_bytes_read", Counter, Global;
    MemcachedBytesWritten = "Memcached_bytes_written", Counter, Global;
    MemcachedTotalConnections = "Memcached_total_connections", Counter, Global;
    MemcachedRejectedConnections = "Memcached_rejected_connections", Counter, Global;
    MemcachedStoreTooLarge = "Memcached_store_too_large", Counter, Global;
    MemcachedExpiredRows = "Memcached_expired_rows", Counter, Global;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_indexes_match() {
        let mut seen = std::collections::HashSet::new();
        for (i, &c) in Counter::ALL.iter().enumerate() {
            assert_eq!(c as usize, i);
            assert!(seen.insert(c.name().to_ascii_lowercase()), "{}", c.name());
        }
    }

    #[test]
    fn a_simple_statement_counts_on_two_lines() {
        let any = [Counter::Questions, Counter::BytesSent, Counter::PlanCacheHits, Counter::HandlerCommit];
        let row = [Counter::HandlerReadKey, Counter::ComSelect, Counter::ComUpdate, Counter::HandlerUpdate];
        assert!(any.iter().all(|&c| (c as usize) < 8) && row.iter().all(|&c| (c as usize) < 16));
    }
}
