-- Memory: of threads, of the server, of the buffer pool.

CREATE PAIR memory_by_thread_by_current_bytes AS
SELECT memory.THREAD_ID AS thread_id,
    MAX(IF(threads.NAME <> 'thread/sql/one_connection',
        REPLACE(threads.NAME, 'thread/', ''),
        CONCAT(threads.PROCESSLIST_USER, '@', CONVERT(threads.PROCESSLIST_HOST USING utf8mb4)))) AS user,
    SUM(memory.CURRENT_COUNT_USED) AS current_count_used,
    @bytes(SUM(memory.CURRENT_NUMBER_OF_BYTES_USED)) AS current_allocated,
    @bytes(IFNULL(SUM(memory.CURRENT_NUMBER_OF_BYTES_USED) / NULLIF(SUM(memory.CURRENT_COUNT_USED), 0), 0))
        AS current_avg_alloc,
    @bytes(MAX(memory.CURRENT_NUMBER_OF_BYTES_USED)) AS current_max_alloc,
    @bytes(SUM(memory.SUM_NUMBER_OF_BYTES_ALLOC)) AS total_allocated
FROM performance_schema.memory_summary_by_thread_by_event_name AS memory
    LEFT JOIN performance_schema.threads AS threads ON threads.THREAD_ID = memory.THREAD_ID
GROUP BY memory.THREAD_ID
ORDER BY SUM(memory.CURRENT_NUMBER_OF_BYTES_USED) DESC;

CREATE PAIR memory_global_by_current_bytes AS
SELECT EVENT_NAME AS event_name,
    CURRENT_COUNT_USED AS current_count,
    @bytes(CURRENT_NUMBER_OF_BYTES_USED) AS current_alloc,
    @bytes(IFNULL(CURRENT_NUMBER_OF_BYTES_USED / NULLIF(CURRENT_COUNT_USED, 0), 0)) AS current_avg_alloc,
    HIGH_COUNT_USED AS high_count,
    @bytes(HIGH_NUMBER_OF_BYTES_USED) AS high_alloc,
    @bytes(IFNULL(HIGH_NUMBER_OF_BYTES_USED / NULLIF(HIGH_COUNT_USED, 0), 0)) AS high_avg_alloc
FROM performance_schema.memory_summary_global_by_event_name
WHERE CURRENT_NUMBER_OF_BYTES_USED > 0
ORDER BY CURRENT_NUMBER_OF_BYTES_USED DESC;

CREATE PAIR memory_global_total AS
SELECT @bytes(SUM(CURRENT_NUMBER_OF_BYTES_USED)) AS total_allocated
FROM performance_schema.memory_summary_global_by_event_name;

CREATE PAIR innodb_buffer_stats_by_table AS
SELECT IF(LOCATE('.', pages.TABLE_NAME) = 0, 'InnoDB System',
        REPLACE(SUBSTRING_INDEX(pages.TABLE_NAME, '.', 1), '`', '')) AS object_schema,
    REPLACE(SUBSTRING_INDEX(pages.TABLE_NAME, '.', -1), '`', '') AS object_name,
    @bytes(SUM(IF(pages.COMPRESSED_SIZE = 0, 16384, pages.COMPRESSED_SIZE))) AS allocated,
    @bytes(SUM(pages.DATA_SIZE)) AS data,
    COUNT(*) AS pages,
    COUNT(IF(pages.IS_HASHED = 'YES', 1, NULL)) AS pages_hashed,
    COUNT(IF(pages.IS_OLD = 'YES', 1, NULL)) AS pages_old,
    ROUND(IFNULL(SUM(pages.NUMBER_RECORDS) / NULLIF(COUNT(DISTINCT pages.INDEX_NAME), 0), 0)) AS rows_cached
FROM information_schema.INNODB_BUFFER_PAGE AS pages
WHERE pages.TABLE_NAME IS NOT NULL
GROUP BY IF(LOCATE('.', pages.TABLE_NAME) = 0, 'InnoDB System',
        REPLACE(SUBSTRING_INDEX(pages.TABLE_NAME, '.', 1), '`', '')),
    REPLACE(SUBSTRING_INDEX(pages.TABLE_NAME, '.', -1), '`', '')
ORDER BY SUM(IF(pages.COMPRESSED_SIZE = 0, 16384, pages.COMPRESSED_SIZE)) DESC;

CREATE PAIR innodb_buffer_stats_by_schema AS
SELECT IF(LOCATE('.', pages.TABLE_NAME) = 0, 'InnoDB System',
        REPLACE(SUBSTRING_INDEX(pages.TABLE_NAME, '.', 1), '`', '')) AS object_schema,
    @bytes(SUM(IF(pages.COMPRESSED_SIZE = 0, 16384, pages.COMPRESSED_SIZE))) AS allocated,
    @bytes(SUM(pages.DATA_SIZE)) AS data,
    COUNT(*) AS pages,
    COUNT(IF(pages.IS_HASHED = 'YES', 1, NULL)) AS pages_hashed,
    COUNT(IF(pages.IS_OLD = 'YES', 1, NULL)) AS pages_old,
    ROUND(IFNULL(SUM(pages.NUMBER_RECORDS) / NULLIF(COUNT(DISTINCT pages.INDEX_NAME), 0), 0)) AS rows_cached
FROM information_schema.INNODB_BUFFER_PAGE AS pages
WHERE pages.TABLE_NAME IS NOT NULL
GROUP BY IF(LOCATE('.', pages.TABLE_NAME) = 0, 'InnoDB System',
    REPLACE(SUBSTRING_INDEX(pages.TABLE_NAME, '.', 1), '`', ''))
ORDER BY SUM(IF(pages.COMPRESSED_SIZE = 0, 16384, pages.COMPRESSED_SIZE)) DESC;
