-- Tables and indexes.

CREATE VIEW schema_auto_increment_columns AS
SELECT counted.TABLE_SCHEMA AS table_schema,
    counted.TABLE_NAME AS table_name,
    counted.COLUMN_NAME AS column_name,
    counted.DATA_TYPE AS data_type,
    counted.COLUMN_TYPE AS column_type,
    counted.is_unsigned = 0 AS is_signed,
    counted.is_unsigned AS is_unsigned,
    counted.max_value AS max_value,
    counted.AUTO_INCREMENT AS auto_increment,
    counted.AUTO_INCREMENT / counted.max_value AS auto_increment_ratio
FROM (
        SELECT col.TABLE_SCHEMA,
            col.TABLE_NAME,
            col.COLUMN_NAME,
            col.DATA_TYPE,
            col.COLUMN_TYPE,
            LOCATE('unsigned', col.COLUMN_TYPE) > 0 AS is_unsigned,
            tab.AUTO_INCREMENT,
            CASE col.DATA_TYPE
                WHEN 'tinyint' THEN 255
                WHEN 'smallint' THEN 65535
                WHEN 'mediumint' THEN 16777215
                WHEN 'int' THEN 4294967295
                WHEN 'bigint' THEN 18446744073709551615
            END >> (LOCATE('unsigned', col.COLUMN_TYPE) = 0) AS max_value
        FROM information_schema.COLUMNS AS col
            JOIN information_schema.TABLES AS tab
                ON tab.TABLE_SCHEMA = col.TABLE_SCHEMA AND tab.TABLE_NAME = col.TABLE_NAME
        WHERE col.EXTRA LIKE '%auto_increment%' AND tab.TABLE_TYPE = 'BASE TABLE'
            AND col.TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')
    ) AS counted
ORDER BY auto_increment_ratio DESC, counted.max_value;

CREATE PAIR schema_index_statistics AS
SELECT OBJECT_SCHEMA AS table_schema,
    OBJECT_NAME AS table_name,
    INDEX_NAME AS index_name,
    COUNT_FETCH AS rows_selected,
    @time(SUM_TIMER_FETCH) AS select_latency,
    COUNT_INSERT AS rows_inserted,
    @time(SUM_TIMER_INSERT) AS insert_latency,
    COUNT_UPDATE AS rows_updated,
    @time(SUM_TIMER_UPDATE) AS update_latency,
    COUNT_DELETE AS rows_deleted,
    @time(SUM_TIMER_DELETE) AS delete_latency
FROM performance_schema.table_io_waits_summary_by_index_usage
WHERE INDEX_NAME IS NOT NULL
ORDER BY SUM_TIMER_WAIT DESC;

CREATE VIEW schema_object_overview AS
SELECT db, object_type, COUNT(*) AS count
FROM (
        SELECT ROUTINE_SCHEMA AS db, ROUTINE_TYPE AS object_type FROM information_schema.ROUTINES
        UNION ALL
        SELECT TABLE_SCHEMA, TABLE_TYPE FROM information_schema.TABLES
        UNION ALL
        SELECT TABLE_SCHEMA, CONCAT('INDEX (', INDEX_TYPE, ')') FROM information_schema.STATISTICS
        UNION ALL
        SELECT TRIGGER_SCHEMA, 'TRIGGER' FROM information_schema.TRIGGERS
        UNION ALL
        SELECT EVENT_SCHEMA, 'EVENT' FROM information_schema.EVENTS
    ) AS objects
GROUP BY db, object_type
ORDER BY db, object_type;

-- One row an index, its columns in order.
CREATE VIEW x$schema_flattened_keys AS
SELECT TABLE_SCHEMA AS table_schema,
    TABLE_NAME AS table_name,
    INDEX_NAME AS index_name,
    MAX(NON_UNIQUE) AS non_unique,
    MAX(SUB_PART IS NOT NULL) AS subpart_exists,
    GROUP_CONCAT(COLUMN_NAME ORDER BY SEQ_IN_INDEX SEPARATOR ',') AS index_columns
FROM information_schema.STATISTICS
WHERE INDEX_TYPE = 'BTREE' AND COLUMN_NAME IS NOT NULL
    AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')
GROUP BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME;

-- An index is redundant beside one that begins with its columns; of two with the same columns, one that is not unique
-- beside one that is, else the one whose name comes later. A unique index is never redundant beside a longer one.
CREATE VIEW schema_redundant_indexes AS
SELECT less.table_schema AS table_schema,
    less.table_name AS table_name,
    less.index_name AS redundant_index_name,
    less.index_columns AS redundant_index_columns,
    less.non_unique AS redundant_index_non_unique,
    more.index_name AS dominant_index_name,
    more.index_columns AS dominant_index_columns,
    more.non_unique AS dominant_index_non_unique,
    IF(less.subpart_exists OR more.subpart_exists, 1, 0) AS subpart_exists,
    CONCAT('ALTER TABLE `', less.table_schema, '`.`', less.table_name, '` DROP INDEX `', less.index_name, '`')
        AS sql_drop_index
FROM sys.x$schema_flattened_keys AS less
    JOIN sys.x$schema_flattened_keys AS more
        ON more.table_schema = less.table_schema AND more.table_name = less.table_name
        AND more.index_name <> less.index_name
WHERE less.index_name <> 'PRIMARY'
    AND (
        (less.index_columns = more.index_columns
            AND (less.non_unique > more.non_unique
                OR (less.non_unique = more.non_unique
                    AND (more.index_name = 'PRIMARY' OR less.index_name > more.index_name))))
        OR (less.non_unique = 1
            AND LEFT(more.index_columns, CHAR_LENGTH(less.index_columns) + 1) = CONCAT(less.index_columns, ','))
    );

CREATE VIEW schema_unused_indexes AS
SELECT used.OBJECT_SCHEMA AS object_schema,
    used.OBJECT_NAME AS object_name,
    used.INDEX_NAME AS index_name
FROM performance_schema.table_io_waits_summary_by_index_usage AS used
    JOIN information_schema.STATISTICS AS known
        ON known.TABLE_SCHEMA = used.OBJECT_SCHEMA AND known.TABLE_NAME = used.OBJECT_NAME
        AND known.INDEX_NAME = used.INDEX_NAME
WHERE used.COUNT_STAR = 0 AND used.OBJECT_SCHEMA <> 'mysql' AND used.INDEX_NAME <> 'PRIMARY'
    AND known.SEQ_IN_INDEX = 1 AND known.NON_UNIQUE = 1
ORDER BY used.OBJECT_SCHEMA, used.OBJECT_NAME;

CREATE PAIR schema_tables_with_full_table_scans AS
SELECT OBJECT_SCHEMA AS object_schema,
    OBJECT_NAME AS object_name,
    COUNT_READ AS rows_full_scanned,
    @time(SUM_TIMER_WAIT) AS latency
FROM performance_schema.table_io_waits_summary_by_index_usage
WHERE INDEX_NAME IS NULL AND COUNT_READ > 0
ORDER BY COUNT_READ DESC;

-- Input and output of the files of a table.
CREATE VIEW x$ps_schema_table_statistics_io AS
SELECT sys.extract_schema_from_file_name(FILE_NAME) AS table_schema,
    sys.extract_table_from_file_name(FILE_NAME) AS table_name,
    SUM(COUNT_READ) AS count_read,
    SUM(SUM_NUMBER_OF_BYTES_READ) AS sum_number_of_bytes_read,
    SUM(SUM_TIMER_READ) AS sum_timer_read,
    SUM(COUNT_WRITE) AS count_write,
    SUM(SUM_NUMBER_OF_BYTES_WRITE) AS sum_number_of_bytes_write,
    SUM(SUM_TIMER_WRITE) AS sum_timer_write,
    SUM(COUNT_MISC) AS count_misc,
    SUM(SUM_TIMER_MISC) AS sum_timer_misc
FROM performance_schema.file_summary_by_instance
GROUP BY sys.extract_schema_from_file_name(FILE_NAME), sys.extract_table_from_file_name(FILE_NAME);

CREATE PAIR schema_table_statistics AS
SELECT rows_of.OBJECT_SCHEMA AS table_schema,
    rows_of.OBJECT_NAME AS table_name,
    @time(rows_of.SUM_TIMER_WAIT) AS total_latency,
    rows_of.COUNT_FETCH AS rows_fetched,
    @time(rows_of.SUM_TIMER_FETCH) AS fetch_latency,
    rows_of.COUNT_INSERT AS rows_inserted,
    @time(rows_of.SUM_TIMER_INSERT) AS insert_latency,
    rows_of.COUNT_UPDATE AS rows_updated,
    @time(rows_of.SUM_TIMER_UPDATE) AS update_latency,
    rows_of.COUNT_DELETE AS rows_deleted,
    @time(rows_of.SUM_TIMER_DELETE) AS delete_latency,
    files.count_read AS io_read_requests,
    @bytes(files.sum_number_of_bytes_read) AS io_read,
    @time(files.sum_timer_read) AS io_read_latency,
    files.count_write AS io_write_requests,
    @bytes(files.sum_number_of_bytes_write) AS io_write,
    @time(files.sum_timer_write) AS io_write_latency,
    files.count_misc AS io_misc_requests,
    @time(files.sum_timer_misc) AS io_misc_latency
FROM performance_schema.table_io_waits_summary_by_table AS rows_of
    LEFT JOIN sys.x$ps_schema_table_statistics_io AS files
        ON files.table_schema = rows_of.OBJECT_SCHEMA AND files.table_name = rows_of.OBJECT_NAME
ORDER BY rows_of.SUM_TIMER_WAIT DESC;

CREATE PAIR schema_table_statistics_with_buffer AS
SELECT rows_of.OBJECT_SCHEMA AS table_schema,
    rows_of.OBJECT_NAME AS table_name,
    rows_of.COUNT_FETCH AS rows_fetched,
    @time(rows_of.SUM_TIMER_FETCH) AS fetch_latency,
    rows_of.COUNT_INSERT AS rows_inserted,
    @time(rows_of.SUM_TIMER_INSERT) AS insert_latency,
    rows_of.COUNT_UPDATE AS rows_updated,
    @time(rows_of.SUM_TIMER_UPDATE) AS update_latency,
    rows_of.COUNT_DELETE AS rows_deleted,
    @time(rows_of.SUM_TIMER_DELETE) AS delete_latency,
    files.count_read AS io_read_requests,
    @bytes(files.sum_number_of_bytes_read) AS io_read,
    @time(files.sum_timer_read) AS io_read_latency,
    files.count_write AS io_write_requests,
    @bytes(files.sum_number_of_bytes_write) AS io_write,
    @time(files.sum_timer_write) AS io_write_latency,
    files.count_misc AS io_misc_requests,
    @time(files.sum_timer_misc) AS io_misc_latency,
    @bytes(cached.allocated) AS innodb_buffer_allocated,
    @bytes(cached.data) AS innodb_buffer_data,
    @bytes(cached.allocated - cached.data) AS innodb_buffer_free,
    cached.pages AS innodb_buffer_pages,
    cached.pages_hashed AS innodb_buffer_pages_hashed,
    cached.pages_old AS innodb_buffer_pages_old,
    cached.rows_cached AS innodb_buffer_rows_cached
FROM performance_schema.table_io_waits_summary_by_table AS rows_of
    LEFT JOIN sys.x$ps_schema_table_statistics_io AS files
        ON files.table_schema = rows_of.OBJECT_SCHEMA AND files.table_name = rows_of.OBJECT_NAME
    LEFT JOIN sys.x$innodb_buffer_stats_by_table AS cached
        ON cached.object_schema = rows_of.OBJECT_SCHEMA AND cached.object_name = rows_of.OBJECT_NAME
ORDER BY rows_of.SUM_TIMER_WAIT DESC;

CREATE PAIR schema_table_lock_waits AS
SELECT waits.OBJECT_SCHEMA AS object_schema,
    waits.OBJECT_NAME AS object_name,
    waits.OWNER_THREAD_ID AS waiting_thread_id,
    waiter.PROCESSLIST_ID AS waiting_pid,
    sys.ps_thread_account(waits.OWNER_THREAD_ID) AS waiting_account,
    waits.LOCK_TYPE AS waiting_lock_type,
    waits.LOCK_DURATION AS waiting_lock_duration,
    @text(waiter.PROCESSLIST_INFO) AS waiting_query,
    waiter.PROCESSLIST_TIME AS waiting_query_secs,
    running.ROWS_AFFECTED AS waiting_query_rows_affected,
    running.ROWS_EXAMINED AS waiting_query_rows_examined,
    holds.OWNER_THREAD_ID AS blocking_thread_id,
    holder.PROCESSLIST_ID AS blocking_pid,
    sys.ps_thread_account(holds.OWNER_THREAD_ID) AS blocking_account,
    holds.LOCK_TYPE AS blocking_lock_type,
    holds.LOCK_DURATION AS blocking_lock_duration,
    CONCAT('KILL QUERY ', holder.PROCESSLIST_ID) AS sql_kill_blocking_query,
    CONCAT('KILL ', holder.PROCESSLIST_ID) AS sql_kill_blocking_connection
FROM performance_schema.metadata_locks AS waits
    JOIN performance_schema.metadata_locks AS holds
        ON holds.OBJECT_TYPE = waits.OBJECT_TYPE AND holds.OBJECT_SCHEMA = waits.OBJECT_SCHEMA
        AND holds.OBJECT_NAME = waits.OBJECT_NAME AND holds.LOCK_STATUS = 'GRANTED'
    JOIN performance_schema.threads AS waiter ON waiter.THREAD_ID = waits.OWNER_THREAD_ID
    JOIN performance_schema.threads AS holder ON holder.THREAD_ID = holds.OWNER_THREAD_ID
    LEFT JOIN performance_schema.events_statements_current AS running
        ON running.THREAD_ID = waits.OWNER_THREAD_ID AND running.END_EVENT_ID IS NULL
        AND running.NESTING_EVENT_LEVEL = 0
WHERE waits.LOCK_STATUS = 'PENDING' AND waits.OBJECT_TYPE = 'TABLE';
