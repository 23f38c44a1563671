-- What hosts and users do. NULL as host or user is what the server does by itself: `background`.

CREATE PAIR host_summary_by_statement_latency AS
SELECT IFNULL(HOST, 'background') AS host,
    SUM(COUNT_STAR) AS total,
    @time(SUM(SUM_TIMER_WAIT)) AS total_latency,
    @time(MAX(MAX_TIMER_WAIT)) AS max_latency,
    @time(SUM(SUM_LOCK_TIME)) AS lock_latency,
    @time(SUM(SUM_CPU_TIME)) AS cpu_latency,
    SUM(SUM_ROWS_SENT) AS rows_sent,
    SUM(SUM_ROWS_EXAMINED) AS rows_examined,
    SUM(SUM_ROWS_AFFECTED) AS rows_affected,
    SUM(SUM_NO_INDEX_USED + SUM_NO_GOOD_INDEX_USED) AS full_scans
FROM performance_schema.events_statements_summary_by_host_by_event_name
GROUP BY IFNULL(HOST, 'background')
ORDER BY SUM(SUM_TIMER_WAIT) DESC;

CREATE PAIR host_summary_by_statement_type AS
SELECT IFNULL(HOST, 'background') AS host,
    SUBSTRING_INDEX(EVENT_NAME, '/', -1) AS statement,
    COUNT_STAR AS total,
    @time(SUM_TIMER_WAIT) AS total_latency,
    @time(MAX_TIMER_WAIT) AS max_latency,
    @time(SUM_LOCK_TIME) AS lock_latency,
    @time(SUM_CPU_TIME) AS cpu_latency,
    SUM_ROWS_SENT AS rows_sent,
    SUM_ROWS_EXAMINED AS rows_examined,
    SUM_ROWS_AFFECTED AS rows_affected,
    SUM_NO_INDEX_USED + SUM_NO_GOOD_INDEX_USED AS full_scans
FROM performance_schema.events_statements_summary_by_host_by_event_name
WHERE COUNT_STAR > 0
ORDER BY IFNULL(HOST, 'background'), SUM_TIMER_WAIT DESC;

CREATE PAIR host_summary_by_stages AS
SELECT IFNULL(HOST, 'background') AS host,
    EVENT_NAME AS event_name,
    COUNT_STAR AS total,
    @time(SUM_TIMER_WAIT) AS total_latency,
    @time(AVG_TIMER_WAIT) AS avg_latency
FROM performance_schema.events_stages_summary_by_host_by_event_name
WHERE SUM_TIMER_WAIT > 0
ORDER BY IFNULL(HOST, 'background'), SUM_TIMER_WAIT DESC;

CREATE PAIR host_summary_by_file_io AS
SELECT IFNULL(HOST, 'background') AS host,
    SUM(COUNT_STAR) AS ios,
    @time(SUM(SUM_TIMER_WAIT)) AS io_latency
FROM performance_schema.events_waits_summary_by_host_by_event_name
WHERE EVENT_NAME LIKE 'wait/io/file/%'
GROUP BY IFNULL(HOST, 'background')
ORDER BY SUM(SUM_TIMER_WAIT) DESC;

CREATE PAIR host_summary_by_file_io_type AS
SELECT IFNULL(HOST, 'background') AS host,
    EVENT_NAME AS event_name,
    COUNT_STAR AS total,
    @time(SUM_TIMER_WAIT) AS total_latency,
    @time(MAX_TIMER_WAIT) AS max_latency
FROM performance_schema.events_waits_summary_by_host_by_event_name
WHERE EVENT_NAME LIKE 'wait/io/file/%' AND COUNT_STAR > 0
ORDER BY IFNULL(HOST, 'background'), SUM_TIMER_WAIT DESC;

CREATE PAIR memory_by_host_by_current_bytes AS
SELECT IFNULL(HOST, 'background') AS host,
    SUM(CURRENT_COUNT_USED) AS current_count_used,
    @bytes(SUM(CURRENT_NUMBER_OF_BYTES_USED)) AS current_allocated,
    @bytes(IFNULL(SUM(CURRENT_NUMBER_OF_BYTES_USED) / NULLIF(SUM(CURRENT_COUNT_USED), 0), 0)) AS current_avg_alloc,
    @bytes(MAX(CURRENT_NUMBER_OF_BYTES_USED)) AS current_max_alloc,
    @bytes(SUM(SUM_NUMBER_OF_BYTES_ALLOC)) AS total_allocated
FROM performance_schema.memory_summary_by_host_by_event_name
GROUP BY IFNULL(HOST, 'background')
ORDER BY SUM(CURRENT_NUMBER_OF_BYTES_USED) DESC;

CREATE PAIR waits_by_host_by_latency AS
SELECT IFNULL(HOST, 'background') AS host,
    EVENT_NAME AS event,
    COUNT_STAR AS total,
    @time(SUM_TIMER_WAIT) AS total_latency,
    @time(AVG_TIMER_WAIT) AS avg_latency,
    @time(MAX_TIMER_WAIT) AS max_latency
FROM performance_schema.events_waits_summary_by_host_by_event_name
WHERE SUM_TIMER_WAIT > 0 AND EVENT_NAME <> 'idle'
ORDER BY IFNULL(HOST, 'background'), SUM_TIMER_WAIT DESC;

CREATE PAIR host_summary AS
SELECT connections.host AS host,
    IFNULL(work.total, 0) AS statements,
    @time(IFNULL(work.total_latency, 0)) AS statement_latency,
    @time(IFNULL(work.total_latency / NULLIF(work.total, 0), 0)) AS statement_avg_latency,
    IFNULL(work.full_scans, 0) AS table_scans,
    IFNULL(files.ios, 0) AS file_ios,
    @time(IFNULL(files.io_latency, 0)) AS file_io_latency,
    connections.current_connections AS current_connections,
    connections.total_connections AS total_connections,
    connections.unique_users AS unique_users,
    @bytes(IFNULL(memory.current_allocated, 0)) AS current_memory,
    @bytes(IFNULL(memory.total_allocated, 0)) AS total_memory_allocated
FROM (
        SELECT IFNULL(HOST, 'background') AS host,
            SUM(CURRENT_CONNECTIONS) AS current_connections,
            SUM(TOTAL_CONNECTIONS) AS total_connections,
            COUNT(DISTINCT USER) AS unique_users
        FROM performance_schema.accounts
        GROUP BY IFNULL(HOST, 'background')
    ) AS connections
    LEFT JOIN sys.x$host_summary_by_statement_latency AS work ON work.host = connections.host
    LEFT JOIN sys.x$host_summary_by_file_io AS files ON files.host = connections.host
    LEFT JOIN sys.x$memory_by_host_by_current_bytes AS memory ON memory.host = connections.host;

CREATE PAIR user_summary_by_statement_latency AS
SELECT IFNULL(USER, 'background') AS user,
    SUM(COUNT_STAR) AS total,
    @time(SUM(SUM_TIMER_WAIT)) AS total_latency,
    @time(MAX(MAX_TIMER_WAIT)) AS max_latency,
    @time(SUM(SUM_LOCK_TIME)) AS lock_latency,
    @time(SUM(SUM_CPU_TIME)) AS cpu_latency,
    SUM(SUM_ROWS_SENT) AS rows_sent,
    SUM(SUM_ROWS_EXAMINED) AS rows_examined,
    SUM(SUM_ROWS_AFFECTED) AS rows_affected,
    SUM(SUM_NO_INDEX_USED + SUM_NO_GOOD_INDEX_USED) AS full_scans
FROM performance_schema.events_statements_summary_by_user_by_event_name
GROUP BY IFNULL(USER, 'background')
ORDER BY SUM(SUM_TIMER_WAIT) DESC;

CREATE PAIR user_summary_by_statement_type AS
SELECT IFNULL(USER, 'background') AS user,
    SUBSTRING_INDEX(EVENT_NAME, '/', -1) AS statement,
    COUNT_STAR AS total,
    @time(SUM_TIMER_WAIT) AS total_latency,
    @time(MAX_TIMER_WAIT) AS max_latency,
    @time(SUM_LOCK_TIME) AS lock_latency,
    @time(SUM_CPU_TIME) AS cpu_latency,
    SUM_ROWS_SENT AS rows_sent,
    SUM_ROWS_EXAMINED AS rows_examined,
    SUM_ROWS_AFFECTED AS rows_affected,
    SUM_NO_INDEX_USED + SUM_NO_GOOD_INDEX_USED AS full_scans
FROM performance_schema.events_statements_summary_by_user_by_event_name
WHERE COUNT_STAR > 0
ORDER BY IFNULL(USER, 'background'), SUM_TIMER_WAIT DESC;

CREATE PAIR user_summary_by_stages AS
SELECT IFNULL(USER, 'background') AS user,
    EVENT_NAME AS event_name,
    COUNT_STAR AS total,
    @time(SUM_TIMER_WAIT) AS total_latency,
    @time(AVG_TIMER_WAIT) AS avg_latency
FROM performance_schema.events_stages_summary_by_user_by_event_name
WHERE SUM_TIMER_WAIT > 0
ORDER BY IFNULL(USER, 'background'), SUM_TIMER_WAIT DESC;

CREATE PAIR user_summary_by_file_io AS
SELECT IFNULL(USER, 'background') AS user,
    SUM(COUNT_STAR) AS ios,
    @time(SUM(SUM_TIMER_WAIT)) AS io_latency
FROM performance_schema.events_waits_summary_by_user_by_event_name
WHERE EVENT_NAME LIKE 'wait/io/file/%'
GROUP BY IFNULL(USER, 'background')
ORDER BY SUM(SUM_TIMER_WAIT) DESC;

CREATE PAIR user_summary_by_file_io_type AS
SELECT IFNULL(USER, 'background') AS user,
    EVENT_NAME AS event_name,
    COUNT_STAR AS total,
    @time(SUM_TIMER_WAIT) AS latency,
    @time(MAX_TIMER_WAIT) AS max_latency
FROM performance_schema.events_waits_summary_by_user_by_event_name
WHERE EVENT_NAME LIKE 'wait/io/file/%' AND COUNT_STAR > 0
ORDER BY IFNULL(USER, 'background'), SUM_TIMER_WAIT DESC;

CREATE PAIR memory_by_user_by_current_bytes AS
SELECT IFNULL(USER, 'background') AS user,
    SUM(CURRENT_COUNT_USED) AS current_count_used,
    @bytes(SUM(CURRENT_NUMBER_OF_BYTES_USED)) AS current_allocated,
    @bytes(IFNULL(SUM(CURRENT_NUMBER_OF_BYTES_USED) / NULLIF(SUM(CURRENT_COUNT_USED), 0), 0)) AS current_avg_alloc,
    @bytes(MAX(CURRENT_NUMBER_OF_BYTES_USED)) AS current_max_alloc,
    @bytes(SUM(SUM_NUMBER_OF_BYTES_ALLOC)) AS total_allocated
FROM performance_schema.memory_summary_by_user_by_event_name
GROUP BY IFNULL(USER, 'background')
ORDER BY SUM(CURRENT_NUMBER_OF_BYTES_USED) DESC;

CREATE PAIR waits_by_user_by_latency AS
SELECT IFNULL(USER, 'background') AS user,
    EVENT_NAME AS event,
    COUNT_STAR AS total,
    @time(SUM_TIMER_WAIT) AS total_latency,
    @time(AVG_TIMER_WAIT) AS avg_latency,
    @time(MAX_TIMER_WAIT) AS max_latency
FROM performance_schema.events_waits_summary_by_user_by_event_name
WHERE SUM_TIMER_WAIT > 0 AND EVENT_NAME <> 'idle'
ORDER BY IFNULL(USER, 'background'), SUM_TIMER_WAIT DESC;

CREATE PAIR user_summary AS
SELECT connections.user AS user,
    IFNULL(work.total, 0) AS statements,
    @time(IFNULL(work.total_latency, 0)) AS statement_latency,
    @time(IFNULL(work.total_latency / NULLIF(work.total, 0), 0)) AS statement_avg_latency,
    IFNULL(work.full_scans, 0) AS table_scans,
    IFNULL(files.ios, 0) AS file_ios,
    @time(IFNULL(files.io_latency, 0)) AS file_io_latency,
    connections.current_connections AS current_connections,
    connections.total_connections AS total_connections,
    connections.unique_hosts AS unique_hosts,
    @bytes(IFNULL(memory.current_allocated, 0)) AS current_memory,
    @bytes(IFNULL(memory.total_allocated, 0)) AS total_memory_allocated
FROM (
        SELECT IFNULL(USER, 'background') AS user,
            SUM(CURRENT_CONNECTIONS) AS current_connections,
            SUM(TOTAL_CONNECTIONS) AS total_connections,
            COUNT(DISTINCT HOST) AS unique_hosts
        FROM performance_schema.accounts
        GROUP BY IFNULL(USER, 'background')
    ) AS connections
    LEFT JOIN sys.x$user_summary_by_statement_latency AS work ON work.user = connections.user
    LEFT JOIN sys.x$user_summary_by_file_io AS files ON files.user = connections.user
    LEFT JOIN sys.x$memory_by_user_by_current_bytes AS memory ON memory.user = connections.user;
