-- Files and waits, of the whole server.

CREATE PAIR io_global_by_file_by_bytes AS
SELECT @path(FILE_NAME) AS file,
    COUNT_READ AS count_read,
    @bytes(SUM_NUMBER_OF_BYTES_READ) AS total_read,
    @bytes(IFNULL(SUM_NUMBER_OF_BYTES_READ / NULLIF(COUNT_READ, 0), 0)) AS avg_read,
    COUNT_WRITE AS count_write,
    @bytes(SUM_NUMBER_OF_BYTES_WRITE) AS total_written,
    @bytes(IFNULL(SUM_NUMBER_OF_BYTES_WRITE / NULLIF(COUNT_WRITE, 0), 0)) AS avg_write,
    @bytes(SUM_NUMBER_OF_BYTES_READ + SUM_NUMBER_OF_BYTES_WRITE) AS total,
    IFNULL(ROUND(100 * SUM_NUMBER_OF_BYTES_WRITE
        / NULLIF(SUM_NUMBER_OF_BYTES_READ + SUM_NUMBER_OF_BYTES_WRITE, 0), 2), 0) AS write_pct
FROM performance_schema.file_summary_by_instance
ORDER BY SUM_NUMBER_OF_BYTES_READ + SUM_NUMBER_OF_BYTES_WRITE DESC;

CREATE PAIR io_global_by_file_by_latency AS
SELECT @path(FILE_NAME) AS file,
    COUNT_STAR AS total,
    @time(SUM_TIMER_WAIT) AS total_latency,
    COUNT_READ AS count_read,
    @time(SUM_TIMER_READ) AS read_latency,
    COUNT_WRITE AS count_write,
    @time(SUM_TIMER_WRITE) AS write_latency,
    COUNT_MISC AS count_misc,
    @time(SUM_TIMER_MISC) AS misc_latency
FROM performance_schema.file_summary_by_instance
ORDER BY SUM_TIMER_WAIT DESC;

CREATE PAIR io_global_by_wait_by_bytes AS
SELECT SUBSTRING_INDEX(EVENT_NAME, '/', -2) AS event_name,
    COUNT_STAR AS total,
    @time(SUM_TIMER_WAIT) AS total_latency,
    @time(MIN_TIMER_WAIT) AS min_latency,
    @time(AVG_TIMER_WAIT) AS avg_latency,
    @time(MAX_TIMER_WAIT) AS max_latency,
    COUNT_READ AS count_read,
    @bytes(SUM_NUMBER_OF_BYTES_READ) AS total_read,
    @bytes(IFNULL(SUM_NUMBER_OF_BYTES_READ / NULLIF(COUNT_READ, 0), 0)) AS avg_read,
    COUNT_WRITE AS count_write,
    @bytes(SUM_NUMBER_OF_BYTES_WRITE) AS total_written,
    @bytes(IFNULL(SUM_NUMBER_OF_BYTES_WRITE / NULLIF(COUNT_WRITE, 0), 0)) AS avg_written,
    @bytes(SUM_NUMBER_OF_BYTES_READ + SUM_NUMBER_OF_BYTES_WRITE) AS total_requested
FROM performance_schema.file_summary_by_event_name
WHERE COUNT_STAR > 0
ORDER BY SUM_NUMBER_OF_BYTES_READ + SUM_NUMBER_OF_BYTES_WRITE DESC;

CREATE PAIR io_global_by_wait_by_latency AS
SELECT SUBSTRING_INDEX(EVENT_NAME, '/', -2) AS event_name,
    COUNT_STAR AS total,
    @time(SUM_TIMER_WAIT) AS total_latency,
    @time(AVG_TIMER_WAIT) AS avg_latency,
    @time(MAX_TIMER_WAIT) AS max_latency,
    @time(SUM_TIMER_READ) AS read_latency,
    @time(SUM_TIMER_WRITE) AS write_latency,
    @time(SUM_TIMER_MISC) AS misc_latency,
    COUNT_READ AS count_read,
    @bytes(SUM_NUMBER_OF_BYTES_READ) AS total_read,
    @bytes(IFNULL(SUM_NUMBER_OF_BYTES_READ / NULLIF(COUNT_READ, 0), 0)) AS avg_read,
    COUNT_WRITE AS count_write,
    @bytes(SUM_NUMBER_OF_BYTES_WRITE) AS total_written,
    @bytes(IFNULL(SUM_NUMBER_OF_BYTES_WRITE / NULLIF(COUNT_WRITE, 0), 0)) AS avg_written
FROM performance_schema.file_summary_by_event_name
WHERE COUNT_STAR > 0
ORDER BY SUM_TIMER_WAIT DESC;

CREATE PAIR io_by_thread_by_latency AS
SELECT MAX(IF(threads.PROCESSLIST_ID IS NULL,
        SUBSTRING_INDEX(threads.NAME, '/', -1),
        CONCAT(threads.PROCESSLIST_USER, '@', CONVERT(threads.PROCESSLIST_HOST USING utf8mb4)))) AS user,
    SUM(waits.COUNT_STAR) AS total,
    @time(SUM(waits.SUM_TIMER_WAIT)) AS total_latency,
    @time(MIN(waits.MIN_TIMER_WAIT)) AS min_latency,
    @time(AVG(waits.AVG_TIMER_WAIT)) AS avg_latency,
    @time(MAX(waits.MAX_TIMER_WAIT)) AS max_latency,
    waits.THREAD_ID AS thread_id,
    MAX(threads.PROCESSLIST_ID) AS processlist_id
FROM performance_schema.events_waits_summary_by_thread_by_event_name AS waits
    LEFT JOIN performance_schema.threads AS threads ON threads.THREAD_ID = waits.THREAD_ID
WHERE waits.EVENT_NAME LIKE 'wait/io/file/%' AND waits.SUM_TIMER_WAIT > 0
GROUP BY waits.THREAD_ID
ORDER BY SUM(waits.SUM_TIMER_WAIT) DESC;

CREATE PAIR latest_file_io AS
SELECT IF(threads.PROCESSLIST_ID IS NULL,
        CONCAT(SUBSTRING_INDEX(threads.NAME, '/', -1), ':', waits.THREAD_ID),
        CONCAT(threads.PROCESSLIST_USER, '@', CONVERT(threads.PROCESSLIST_HOST USING utf8mb4), ':',
            threads.PROCESSLIST_ID)) AS thread,
    @path(waits.OBJECT_NAME) AS file,
    @time(waits.TIMER_WAIT) AS latency,
    waits.OPERATION AS operation,
    @bytes(waits.NUMBER_OF_BYTES) AS requested
FROM performance_schema.events_waits_history_long AS waits
    LEFT JOIN performance_schema.threads AS threads ON threads.THREAD_ID = waits.THREAD_ID
WHERE waits.EVENT_NAME LIKE 'wait/io/file/%' AND waits.OBJECT_NAME IS NOT NULL
ORDER BY waits.TIMER_START;

CREATE PAIR waits_global_by_latency AS
SELECT EVENT_NAME AS events,
    COUNT_STAR AS total,
    @time(SUM_TIMER_WAIT) AS total_latency,
    @time(AVG_TIMER_WAIT) AS avg_latency,
    @time(MAX_TIMER_WAIT) AS max_latency
FROM performance_schema.events_waits_summary_global_by_event_name
WHERE SUM_TIMER_WAIT > 0 AND EVENT_NAME <> 'idle'
ORDER BY SUM_TIMER_WAIT DESC;

CREATE PAIR wait_classes_global_by_latency AS
SELECT SUBSTRING_INDEX(EVENT_NAME, '/', 3) AS event_class,
    SUM(COUNT_STAR) AS total,
    @time(SUM(SUM_TIMER_WAIT)) AS total_latency,
    @time(MIN(MIN_TIMER_WAIT)) AS min_latency,
    @time(IFNULL(SUM(SUM_TIMER_WAIT) / NULLIF(SUM(COUNT_STAR), 0), 0)) AS avg_latency,
    @time(MAX(MAX_TIMER_WAIT)) AS max_latency
FROM performance_schema.events_waits_summary_global_by_event_name
WHERE SUM_TIMER_WAIT > 0 AND EVENT_NAME <> 'idle'
GROUP BY SUBSTRING_INDEX(EVENT_NAME, '/', 3)
ORDER BY SUM(SUM_TIMER_WAIT) DESC;

CREATE PAIR wait_classes_global_by_avg_latency AS
SELECT SUBSTRING_INDEX(EVENT_NAME, '/', 3) AS event_class,
    SUM(COUNT_STAR) AS total,
    @time(SUM(SUM_TIMER_WAIT)) AS total_latency,
    @time(MIN(MIN_TIMER_WAIT)) AS min_latency,
    @time(IFNULL(SUM(SUM_TIMER_WAIT) / NULLIF(SUM(COUNT_STAR), 0), 0)) AS avg_latency,
    @time(MAX(MAX_TIMER_WAIT)) AS max_latency
FROM performance_schema.events_waits_summary_global_by_event_name
WHERE SUM_TIMER_WAIT > 0 AND EVENT_NAME <> 'idle'
GROUP BY SUBSTRING_INDEX(EVENT_NAME, '/', 3)
ORDER BY IFNULL(SUM(SUM_TIMER_WAIT) / NULLIF(SUM(COUNT_STAR), 0), 0) DESC;
