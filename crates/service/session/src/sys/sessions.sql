-- Sessions, what they wait for, and the server's figures.

CREATE VIEW version AS
SELECT '2.1.2' AS sys_version, VERSION() AS mysql_version;

CREATE PAIR processlist AS
SELECT threads.THREAD_ID AS thd_id,
    threads.PROCESSLIST_ID AS conn_id,
    IF(threads.NAME <> 'thread/sql/one_connection', REPLACE(threads.NAME, 'thread/', ''),
        CONCAT(threads.PROCESSLIST_USER, '@', CONVERT(threads.PROCESSLIST_HOST USING utf8mb4))) AS user,
    threads.PROCESSLIST_DB AS db,
    threads.PROCESSLIST_COMMAND AS command,
    threads.PROCESSLIST_STATE AS state,
    threads.PROCESSLIST_TIME AS time,
    @text(threads.PROCESSLIST_INFO) AS current_statement,
    threads.EXECUTION_ENGINE AS execution_engine,
    @time(IF(work.END_EVENT_ID IS NULL, work.TIMER_WAIT, NULL)) AS statement_latency,
    IF(work.END_EVENT_ID IS NULL, ROUND(100 * stages.WORK_COMPLETED / NULLIF(stages.WORK_ESTIMATED, 0), 2), NULL)
        AS progress,
    @time(work.LOCK_TIME) AS lock_latency,
    @time(work.CPU_TIME) AS cpu_latency,
    work.ROWS_EXAMINED AS rows_examined,
    work.ROWS_SENT AS rows_sent,
    work.ROWS_AFFECTED AS rows_affected,
    work.CREATED_TMP_TABLES AS tmp_tables,
    work.CREATED_TMP_DISK_TABLES AS tmp_disk_tables,
    IF(work.NO_INDEX_USED > 0 OR work.NO_GOOD_INDEX_USED > 0, 'YES', 'NO') AS full_scan,
    IF(work.END_EVENT_ID IS NULL, NULL, @text(work.SQL_TEXT)) AS last_statement,
    IF(work.END_EVENT_ID IS NULL, NULL, @time(work.TIMER_WAIT)) AS last_statement_latency,
    @bytes(memory.current_allocated) AS current_memory,
    waits.EVENT_NAME AS last_wait,
    IF(waits.EVENT_NAME IS NOT NULL AND waits.END_EVENT_ID IS NULL, 'Still Waiting', @time(waits.TIMER_WAIT))
        AS last_wait_latency,
    waits.SOURCE AS source,
    @time(trx.TIMER_WAIT) AS trx_latency,
    trx.STATE AS trx_state,
    trx.AUTOCOMMIT AS trx_autocommit,
    client_pid.ATTR_VALUE AS pid,
    client_name.ATTR_VALUE AS program_name
FROM performance_schema.threads AS threads
    LEFT JOIN performance_schema.events_waits_current AS waits ON waits.THREAD_ID = threads.THREAD_ID
    LEFT JOIN performance_schema.events_stages_current AS stages ON stages.THREAD_ID = threads.THREAD_ID
    LEFT JOIN performance_schema.events_statements_current AS work
        ON work.THREAD_ID = threads.THREAD_ID AND work.NESTING_EVENT_LEVEL = 0
    LEFT JOIN performance_schema.events_transactions_current AS trx ON trx.THREAD_ID = threads.THREAD_ID
    LEFT JOIN sys.x$memory_by_thread_by_current_bytes AS memory ON memory.thread_id = threads.THREAD_ID
    LEFT JOIN performance_schema.session_connect_attrs AS client_pid
        ON client_pid.PROCESSLIST_ID = threads.PROCESSLIST_ID AND client_pid.ATTR_NAME = '_pid'
    LEFT JOIN performance_schema.session_connect_attrs AS client_name
        ON client_name.PROCESSLIST_ID = threads.PROCESSLIST_ID AND client_name.ATTR_NAME = 'program_name'
ORDER BY threads.PROCESSLIST_TIME DESC, waits.TIMER_WAIT DESC;

CREATE VIEW session AS
SELECT * FROM sys.processlist WHERE conn_id IS NOT NULL AND command <> 'Daemon';

CREATE VIEW x$session AS
SELECT * FROM sys.x$processlist WHERE conn_id IS NOT NULL AND command <> 'Daemon';

CREATE VIEW session_ssl_status AS
SELECT version.THREAD_ID AS thread_id,
    version.VARIABLE_VALUE AS ssl_version,
    cipher.VARIABLE_VALUE AS ssl_cipher,
    reused.VARIABLE_VALUE AS ssl_sessions_reused
FROM performance_schema.status_by_thread AS version
    LEFT JOIN performance_schema.status_by_thread AS cipher
        ON cipher.THREAD_ID = version.THREAD_ID AND cipher.VARIABLE_NAME = 'Ssl_cipher'
    LEFT JOIN performance_schema.status_by_thread AS reused
        ON reused.THREAD_ID = version.THREAD_ID AND reused.VARIABLE_NAME = 'Ssl_sessions_reused'
WHERE version.VARIABLE_NAME = 'Ssl_version';

CREATE PAIR innodb_lock_waits AS
SELECT waiter.trx_wait_started AS wait_started,
    TIMEDIFF(NOW(), waiter.trx_wait_started) AS wait_age,
    TIMESTAMPDIFF(SECOND, waiter.trx_wait_started, NOW()) AS wait_age_secs,
    CONCAT(sys.quote_identifier(wanted.OBJECT_SCHEMA), '.', sys.quote_identifier(wanted.OBJECT_NAME)) AS locked_table,
    wanted.OBJECT_SCHEMA AS locked_table_schema,
    wanted.OBJECT_NAME AS locked_table_name,
    wanted.PARTITION_NAME AS locked_table_partition,
    wanted.SUBPARTITION_NAME AS locked_table_subpartition,
    wanted.INDEX_NAME AS locked_index,
    wanted.LOCK_TYPE AS locked_type,
    waiter.trx_id AS waiting_trx_id,
    waiter.trx_started AS waiting_trx_started,
    TIMEDIFF(NOW(), waiter.trx_started) AS waiting_trx_age,
    waiter.trx_rows_locked AS waiting_trx_rows_locked,
    waiter.trx_rows_modified AS waiting_trx_rows_modified,
    waiter.trx_mysql_thread_id AS waiting_pid,
    @text(waiter.trx_query) AS waiting_query,
    wanted.ENGINE_LOCK_ID AS waiting_lock_id,
    wanted.LOCK_MODE AS waiting_lock_mode,
    holder.trx_id AS blocking_trx_id,
    holder.trx_mysql_thread_id AS blocking_pid,
    @text(holder.trx_query) AS blocking_query,
    held.ENGINE_LOCK_ID AS blocking_lock_id,
    held.LOCK_MODE AS blocking_lock_mode,
    holder.trx_started AS blocking_trx_started,
    TIMEDIFF(NOW(), holder.trx_started) AS blocking_trx_age,
    holder.trx_rows_locked AS blocking_trx_rows_locked,
    holder.trx_rows_modified AS blocking_trx_rows_modified,
    CONCAT('KILL QUERY ', holder.trx_mysql_thread_id) AS sql_kill_blocking_query,
    CONCAT('KILL ', holder.trx_mysql_thread_id) AS sql_kill_blocking_connection
FROM performance_schema.data_lock_waits AS waits
    JOIN performance_schema.data_locks AS wanted ON wanted.ENGINE_LOCK_ID = waits.REQUESTING_ENGINE_LOCK_ID
    JOIN performance_schema.data_locks AS held ON held.ENGINE_LOCK_ID = waits.BLOCKING_ENGINE_LOCK_ID
    JOIN information_schema.INNODB_TRX AS waiter ON waiter.trx_id = waits.REQUESTING_ENGINE_TRANSACTION_ID
    JOIN information_schema.INNODB_TRX AS holder ON holder.trx_id = waits.BLOCKING_ENGINE_TRANSACTION_ID
ORDER BY waiter.trx_wait_started;

CREATE VIEW ps_check_lost_instrumentation AS
SELECT VARIABLE_NAME AS variable_name, VARIABLE_VALUE AS variable_value
FROM performance_schema.global_status
WHERE VARIABLE_NAME LIKE 'perf%lost' AND VARIABLE_VALUE > 0;

CREATE VIEW metrics AS
SELECT LOWER(VARIABLE_NAME) AS Variable_name,
    VARIABLE_VALUE AS Variable_value,
    'Global Status' AS Type,
    'YES' AS Enabled
FROM performance_schema.global_status
UNION ALL
SELECT NAME, CONCAT(COUNT, ''), CONCAT('InnoDB Metrics - ', SUBSYSTEM), IF(STATUS = 'enabled', 'YES', 'NO')
FROM information_schema.INNODB_METRICS
UNION ALL
SELECT 'memory_current_allocated',
    CONCAT(IFNULL(SUM(CURRENT_NUMBER_OF_BYTES_USED), 0), ''),
    'Performance Schema',
    'YES'
FROM performance_schema.memory_summary_global_by_event_name
UNION ALL
SELECT 'memory_total_allocated',
    CONCAT(IFNULL(SUM(SUM_NUMBER_OF_BYTES_ALLOC), 0), ''),
    'Performance Schema',
    'YES'
FROM performance_schema.memory_summary_global_by_event_name
UNION ALL
SELECT 'NOW()', CONCAT(NOW(3), ''), 'System Time', 'YES'
UNION ALL
SELECT 'UNIX_TIMESTAMP()', CONCAT(ROUND(UNIX_TIMESTAMP(NOW(3)), 3), ''), 'System Time', 'YES'
ORDER BY Type, Variable_name;
