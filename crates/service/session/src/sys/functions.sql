-- Functions. Each line that begins with CREATE begins an object.

CREATE FUNCTION extract_schema_from_file_name (path VARCHAR(512)) RETURNS VARCHAR(64)
    DETERMINISTIC NO SQL SQL SECURITY INVOKER
    COMMENT 'The folder of a file: the schema of a table whose file it is.'
RETURN LEFT(SUBSTRING_INDEX(SUBSTRING_INDEX(REPLACE(path, '\\', '/'), '/', -2), '/', 1), 64);

CREATE FUNCTION extract_table_from_file_name (path VARCHAR(512)) RETURNS VARCHAR(64)
    DETERMINISTIC NO SQL SQL SECURITY INVOKER
    COMMENT 'The name of a file without its extension: the table whose file it is.'
RETURN LEFT(SUBSTRING_INDEX(REPLACE(SUBSTRING_INDEX(REPLACE(path, '\\', '/'), '/', -1), '@0024', '$'), '.', 1), 64);

CREATE FUNCTION format_bytes (bytes TEXT) RETURNS TEXT
    DETERMINISTIC NO SQL SQL SECURITY INVOKER
    COMMENT 'A number of bytes with a unit. FORMAT_BYTES() does the same.'
RETURN TRIM(FORMAT_BYTES(bytes));

CREATE FUNCTION format_path (in_path VARCHAR(512)) RETURNS VARCHAR(512) CHARSET utf8mb4
    DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'A path that begins with the variable whose folder it lies in.'
BEGIN
    DECLARE path VARCHAR(512) DEFAULT REPLACE(in_path, '\\', '/');
    DECLARE folder VARCHAR(512);
    IF path IS NULL THEN
        RETURN NULL;
    END IF;
    SET folder = TRIM(TRAILING '/' FROM REPLACE(@@global.datadir, '\\', '/'));
    IF folder <> '' AND path LIKE CONCAT(folder, '/%') THEN
        RETURN CONCAT('@@datadir', SUBSTRING(path, CHAR_LENGTH(folder) + 1));
    END IF;
    SET folder = TRIM(TRAILING '/' FROM REPLACE(@@global.tmpdir, '\\', '/'));
    IF folder <> '' AND path LIKE CONCAT(folder, '/%') THEN
        RETURN CONCAT('@@tmpdir', SUBSTRING(path, CHAR_LENGTH(folder) + 1));
    END IF;
    SET folder = TRIM(TRAILING '/' FROM REPLACE(IFNULL(@@global.replica_load_tmpdir, ''), '\\', '/'));
    IF folder <> '' AND path LIKE CONCAT(folder, '/%') THEN
        RETURN CONCAT('@@replica_load_tmpdir', SUBSTRING(path, CHAR_LENGTH(folder) + 1));
    END IF;
    SET folder = TRIM(TRAILING '/' FROM REPLACE(IFNULL(@@global.innodb_data_home_dir, ''), '\\', '/'));
    IF folder <> '' AND path LIKE CONCAT(folder, '/%') THEN
        RETURN CONCAT('@@innodb_data_home_dir', SUBSTRING(path, CHAR_LENGTH(folder) + 1));
    END IF;
    SET folder = TRIM(TRAILING '/' FROM REPLACE(@@global.innodb_log_group_home_dir, '\\', '/'));
    IF folder NOT IN ('', '.') AND path LIKE CONCAT(folder, '/%') THEN
        RETURN CONCAT('@@innodb_log_group_home_dir', SUBSTRING(path, CHAR_LENGTH(folder) + 1));
    END IF;
    SET folder = TRIM(TRAILING '/' FROM REPLACE(IFNULL(@@global.basedir, ''), '\\', '/'));
    IF folder <> '' AND path LIKE CONCAT(folder, '/%') THEN
        RETURN CONCAT('@@basedir', SUBSTRING(path, CHAR_LENGTH(folder) + 1));
    END IF;
    RETURN path;
END;

CREATE FUNCTION format_statement (statement LONGTEXT) RETURNS LONGTEXT
    DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'A statement on one line, its middle left out beyond the length `statement_truncate_len`.'
BEGIN
    IF @sys.statement_truncate_len IS NULL THEN
        SET @sys.statement_truncate_len = sys.sys_get_config('statement_truncate_len', 64);
    END IF;
    IF CHAR_LENGTH(statement) > @sys.statement_truncate_len THEN
        RETURN REPLACE(CONCAT(LEFT(statement, FLOOR(@sys.statement_truncate_len / 2) - 2), ' ... ',
            RIGHT(statement, FLOOR(@sys.statement_truncate_len / 2) - 2)), '\n', ' ');
    END IF;
    RETURN REPLACE(statement, '\n', ' ');
END;

CREATE FUNCTION format_time (picoseconds TEXT) RETURNS TEXT CHARSET utf8mb4
    DETERMINISTIC NO SQL SQL SECURITY INVOKER
    COMMENT 'Picoseconds with a unit. FORMAT_PICO_TIME() does much the same.'
RETURN CASE
    WHEN picoseconds IS NULL THEN NULL
    WHEN picoseconds >= 604800000000000000 THEN CONCAT(ROUND(picoseconds / 604800000000000000, 2), ' w')
    WHEN picoseconds >= 86400000000000000 THEN CONCAT(ROUND(picoseconds / 86400000000000000, 2), ' d')
    WHEN picoseconds >= 3600000000000000 THEN CONCAT(ROUND(picoseconds / 3600000000000000, 2), ' h')
    WHEN picoseconds >= 60000000000000 THEN CONCAT(ROUND(picoseconds / 60000000000000, 2), ' m')
    WHEN picoseconds >= 1000000000000 THEN CONCAT(ROUND(picoseconds / 1000000000000, 2), ' s')
    WHEN picoseconds >= 1000000000 THEN CONCAT(ROUND(picoseconds / 1000000000, 2), ' ms')
    WHEN picoseconds >= 1000000 THEN CONCAT(ROUND(picoseconds / 1000000, 2), ' us')
    WHEN picoseconds >= 1000 THEN CONCAT(ROUND(picoseconds / 1000, 2), ' ns')
    ELSE CONCAT(picoseconds, ' ps')
END;

CREATE FUNCTION list_add (in_list TEXT, in_add_value TEXT) RETURNS TEXT
    DETERMINISTIC NO SQL SQL SECURITY INVOKER
    COMMENT 'A list with commas, with one value more.'
BEGIN
    IF in_add_value IS NULL THEN
        SIGNAL SQLSTATE '02200' SET
            MESSAGE_TEXT = 'Function sys.list_add: in_add_value input variable should not be NULL',
            MYSQL_ERRNO = 1138;
    END IF;
    IF in_list IS NULL OR in_list = '' THEN
        RETURN in_add_value;
    END IF;
    RETURN CONCAT(TRIM(BOTH ',' FROM TRIM(in_list)), ',', in_add_value);
END;

CREATE FUNCTION list_drop (in_list TEXT, in_drop_value TEXT) RETURNS TEXT
    DETERMINISTIC NO SQL SQL SECURITY INVOKER
    COMMENT 'A list with commas, without a value.'
BEGIN
    IF in_drop_value IS NULL THEN
        SIGNAL SQLSTATE '02200' SET
            MESSAGE_TEXT = 'Function sys.list_drop: in_drop_value input variable should not be NULL',
            MYSQL_ERRNO = 1138;
    END IF;
    IF in_list IS NULL OR in_list = '' THEN
        RETURN in_list;
    END IF;
    RETURN TRIM(BOTH ',' FROM REPLACE(REPLACE(CONCAT(',', in_list, ','), CONCAT(',', in_drop_value, ','), ','),
        CONCAT(', ', in_drop_value, ','), ','));
END;

CREATE FUNCTION ps_is_account_enabled (in_host VARCHAR(255), in_user VARCHAR(32)) RETURNS ENUM('YES', 'NO')
    DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'Whether threads of the account will be instrumented.'
RETURN IF(EXISTS (
    SELECT 1 FROM performance_schema.setup_actors
    WHERE (HOST = '%' OR in_host LIKE HOST) AND (USER = '%' OR USER = in_user) AND ENABLED = 'YES'), 'YES', 'NO');

CREATE FUNCTION ps_is_consumer_enabled (in_consumer VARCHAR(64)) RETURNS ENUM('YES', 'NO')
    DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'Whether a consumer is enabled, and those above it that it depends on.'
BEGIN
    DECLARE known INT DEFAULT 0;
    DECLARE missing INT DEFAULT 0;
    DECLARE told VARCHAR(255);
    IF in_consumer IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT COUNT(*) INTO known FROM performance_schema.setup_consumers WHERE NAME = in_consumer;
    IF known = 0 THEN
        SET told = CONCAT('Invalid argument error: ', in_consumer, ' in function sys.ps_is_consumer_enabled.');
        SIGNAL SQLSTATE 'HY000' SET MESSAGE_TEXT = told, MYSQL_ERRNO = 3047;
    END IF;
    SELECT COUNT(*) INTO missing
    FROM performance_schema.setup_consumers
    WHERE ENABLED = 'NO' AND (
        NAME = in_consumer
        OR (NAME = 'global_instrumentation' AND in_consumer <> 'global_instrumentation')
        OR (NAME = 'thread_instrumentation' AND in_consumer LIKE 'events_%')
        OR (NAME LIKE 'events%current' AND in_consumer LIKE 'events%history%'
            AND SUBSTRING_INDEX(NAME, '_', 2) = SUBSTRING_INDEX(in_consumer, '_', 2)));
    RETURN IF(missing = 0, 'YES', 'NO');
END;

CREATE FUNCTION ps_is_instrument_default_enabled (in_instrument VARCHAR(128)) RETURNS ENUM('YES', 'NO')
    DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'Whether an instrument is enabled unless somebody switches it.'
RETURN IF(in_instrument LIKE 'wait/io/file/%' OR in_instrument LIKE 'wait/io/table/%'
    OR in_instrument LIKE 'wait/lock/table/%' OR in_instrument = 'wait/lock/metadata/sql/mdl'
    OR in_instrument LIKE 'statement/%' OR in_instrument LIKE 'memory/%' OR in_instrument = 'transaction'
    OR in_instrument LIKE 'error' OR in_instrument = 'idle'
    OR in_instrument LIKE 'stage/innodb/%' OR in_instrument LIKE 'stage/gannet/%'
    OR in_instrument = 'stage/sql/copy to tmp table', 'YES', 'NO');

CREATE FUNCTION ps_is_instrument_default_timed (in_instrument VARCHAR(128)) RETURNS ENUM('YES', 'NO')
    DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'Whether an instrument is timed unless somebody switches it.'
RETURN IF(in_instrument NOT LIKE 'memory/%'
    AND sys.ps_is_instrument_default_enabled(in_instrument) = 'YES', 'YES', 'NO');

CREATE FUNCTION ps_is_thread_instrumented (in_connection_id BIGINT UNSIGNED) RETURNS ENUM('YES', 'NO', 'UNKNOWN')
    NOT DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'Whether the thread of a connection is instrumented.'
BEGIN
    DECLARE answer ENUM('YES', 'NO', 'UNKNOWN');
    IF in_connection_id IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT INSTRUMENTED INTO answer FROM performance_schema.threads WHERE PROCESSLIST_ID = in_connection_id LIMIT 1;
    RETURN IFNULL(answer, 'UNKNOWN');
END;

CREATE FUNCTION ps_thread_account (in_thread_id BIGINT UNSIGNED) RETURNS TEXT CHARSET utf8mb4
    NOT DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'User and host of a thread.'
RETURN (SELECT IF(TYPE = 'FOREGROUND', CONCAT(PROCESSLIST_USER, '@', CONVERT(PROCESSLIST_HOST USING utf8mb4)), TYPE)
    FROM performance_schema.threads WHERE THREAD_ID = in_thread_id LIMIT 1);

CREATE FUNCTION ps_thread_id (in_connection_id BIGINT UNSIGNED) RETURNS BIGINT UNSIGNED
    NOT DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'The thread of a connection; of this one for NULL. PS_THREAD_ID() does the same.'
RETURN (SELECT THREAD_ID FROM performance_schema.threads
    WHERE PROCESSLIST_ID = IFNULL(in_connection_id, CONNECTION_ID()) LIMIT 1);

CREATE FUNCTION ps_thread_stack (thd_id BIGINT UNSIGNED, debug BOOLEAN) RETURNS LONGTEXT CHARSET latin1
    NOT DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'The statements, stages and waits of a thread as JSON.'
BEGIN
    DECLARE events JSON;
    SELECT JSON_ARRAYAGG(JSON_OBJECT(
            'nesting_event_id', CONVERT(IFNULL(happened.nesting_event_id, 0), CHAR),
            'event_id', CONVERT(happened.event_id, CHAR),
            'timer_wait', ROUND(IFNULL(happened.timer_wait, 0) / 1000000, 2),
            'event_info', happened.event_info,
            'wait_info', IF(debug, IFNULL(happened.wait_info, ''), ''),
            'source', IF(debug, IFNULL(happened.source, ''), '')))
        INTO events
    FROM (
            SELECT EVENT_ID AS event_id, NESTING_EVENT_ID AS nesting_event_id, TIMER_WAIT AS timer_wait,
                SOURCE AS source, sys.format_statement(SQL_TEXT) AS event_info,
                CONCAT('errors: ', ERRORS, ', warnings: ', WARNINGS, ', rows sent: ', ROWS_SENT,
                    ', rows examined: ', ROWS_EXAMINED, ', rows affected: ', ROWS_AFFECTED) AS wait_info
            FROM performance_schema.events_statements_history_long
            WHERE THREAD_ID = thd_id
            UNION ALL
            SELECT EVENT_ID, NESTING_EVENT_ID, TIMER_WAIT, SOURCE, EVENT_NAME, ''
            FROM performance_schema.events_stages_history_long
            WHERE THREAD_ID = thd_id
            UNION ALL
            SELECT EVENT_ID, NESTING_EVENT_ID, TIMER_WAIT, SOURCE, EVENT_NAME,
                CONCAT_WS(' ', OPERATION, OBJECT_SCHEMA, OBJECT_NAME, NUMBER_OF_BYTES)
            FROM performance_schema.events_waits_history_long
            WHERE THREAD_ID = thd_id
        ) AS happened;
    RETURN JSON_OBJECT(
        'rankdir', 'LR',
        'nodesep', '0.10',
        'stack_created', DATE_FORMAT(NOW(), '%Y-%m-%d %H:%i:%s'),
        'mysql_version', VERSION(),
        'mysql_user', CURRENT_USER(),
        'events', IFNULL(events, JSON_ARRAY()));
END;

CREATE FUNCTION ps_thread_trx_info (in_thread_id BIGINT UNSIGNED) RETURNS LONGTEXT
    NOT DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'The transactions of a thread and their statements as JSON.'
BEGIN
    DECLARE answer LONGTEXT;
    DECLARE longest INT DEFAULT sys.sys_get_config('ps_thread_trx_info.max_length', 65535);
    SELECT CONVERT(JSON_ARRAYAGG(JSON_OBJECT(
            'time', FORMAT_PICO_TIME(trx.TIMER_WAIT),
            'state', trx.STATE,
            'mode', trx.ACCESS_MODE,
            'autocommitted', trx.AUTOCOMMIT,
            'gtid', trx.GTID,
            'isolation', trx.ISOLATION_LEVEL,
            'statements_executed', IFNULL((
                SELECT JSON_ARRAYAGG(JSON_OBJECT(
                    'sql_text', work.SQL_TEXT,
                    'time', FORMAT_PICO_TIME(work.TIMER_WAIT),
                    'schema', work.CURRENT_SCHEMA,
                    'rows_examined', work.ROWS_EXAMINED,
                    'rows_affected', work.ROWS_AFFECTED,
                    'rows_sent', work.ROWS_SENT,
                    'tmp_tables', work.CREATED_TMP_TABLES,
                    'tmp_disk_tables', work.CREATED_TMP_DISK_TABLES,
                    'sort_rows', work.SORT_ROWS,
                    'sort_merge_passes', work.SORT_MERGE_PASSES))
                FROM performance_schema.events_statements_history AS work
                WHERE work.THREAD_ID = trx.THREAD_ID AND work.NESTING_EVENT_ID = trx.EVENT_ID), JSON_ARRAY()))), CHAR)
        INTO answer
    FROM performance_schema.events_transactions_history AS trx
    WHERE trx.THREAD_ID = in_thread_id;
    IF CHAR_LENGTH(answer) > longest THEN
        RETURN '{ "error": "Trx info truncated: the transactions of the thread are longer than max_length" }';
    END IF;
    RETURN answer;
END;

CREATE FUNCTION quote_identifier (in_identifier TEXT) RETURNS TEXT CHARSET utf8mb4
    DETERMINISTIC NO SQL SQL SECURITY INVOKER
    COMMENT 'A name as statements write it.'
RETURN CONCAT('`', REPLACE(in_identifier, '`', '``'), '`');

CREATE FUNCTION sys_get_config (in_variable_name VARCHAR(128), in_default_value VARCHAR(128)) RETURNS VARCHAR(128)
    DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'A value of sys_config, or the default where there is none.'
RETURN IFNULL((SELECT value FROM sys.sys_config WHERE variable = in_variable_name), in_default_value);

CREATE FUNCTION version_major () RETURNS TINYINT UNSIGNED
    NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
    COMMENT 'The first number of the version.'
RETURN SUBSTRING_INDEX(VERSION(), '.', 1);

CREATE FUNCTION version_minor () RETURNS TINYINT UNSIGNED
    NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
    COMMENT 'The second number of the version.'
RETURN SUBSTRING_INDEX(SUBSTRING_INDEX(VERSION(), '.', 2), '.', -1);

CREATE FUNCTION version_patch () RETURNS TINYINT UNSIGNED
    NOT DETERMINISTIC NO SQL SQL SECURITY INVOKER
    COMMENT 'The third number of the version.'
RETURN SUBSTRING_INDEX(SUBSTRING_INDEX(SUBSTRING_INDEX(VERSION(), '-', 1), '.', 3), '.', -1);
