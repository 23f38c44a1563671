-- Statements, by digest.

CREATE PAIR statement_analysis AS
SELECT @text(DIGEST_TEXT) AS query,
    SCHEMA_NAME AS db,
    IF(SUM_NO_INDEX_USED + SUM_NO_GOOD_INDEX_USED > 0, '*', '') AS full_scan,
    COUNT_STAR AS exec_count,
    SUM_ERRORS AS err_count,
    SUM_WARNINGS AS warn_count,
    @time(SUM_TIMER_WAIT) AS total_latency,
    @time(MAX_TIMER_WAIT) AS max_latency,
    @time(AVG_TIMER_WAIT) AS avg_latency,
    @time(SUM_LOCK_TIME) AS lock_latency,
    @time(SUM_CPU_TIME) AS cpu_latency,
    SUM_ROWS_SENT AS rows_sent,
    ROUND(IFNULL(SUM_ROWS_SENT / NULLIF(COUNT_STAR, 0), 0)) AS rows_sent_avg,
    SUM_ROWS_EXAMINED AS rows_examined,
    ROUND(IFNULL(SUM_ROWS_EXAMINED / NULLIF(COUNT_STAR, 0), 0)) AS rows_examined_avg,
    SUM_ROWS_AFFECTED AS rows_affected,
    ROUND(IFNULL(SUM_ROWS_AFFECTED / NULLIF(COUNT_STAR, 0), 0)) AS rows_affected_avg,
    SUM_CREATED_TMP_TABLES AS tmp_tables,
    SUM_CREATED_TMP_DISK_TABLES AS tmp_disk_tables,
    SUM_SORT_ROWS AS rows_sorted,
    SUM_SORT_MERGE_PASSES AS sort_merge_passes,
    @bytes(MAX_CONTROLLED_MEMORY) AS max_controlled_memory,
    @bytes(MAX_TOTAL_MEMORY) AS max_total_memory,
    DIGEST AS digest,
    FIRST_SEEN AS first_seen,
    LAST_SEEN AS last_seen
FROM performance_schema.events_statements_summary_by_digest
ORDER BY SUM_TIMER_WAIT DESC;

CREATE PAIR statements_with_errors_or_warnings AS
SELECT @text(DIGEST_TEXT) AS query,
    SCHEMA_NAME AS db,
    COUNT_STAR AS exec_count,
    SUM_ERRORS AS errors,
    IFNULL(SUM_ERRORS / NULLIF(COUNT_STAR, 0), 0) * 100 AS error_pct,
    SUM_WARNINGS AS warnings,
    IFNULL(SUM_WARNINGS / NULLIF(COUNT_STAR, 0), 0) * 100 AS warning_pct,
    FIRST_SEEN AS first_seen,
    LAST_SEEN AS last_seen,
    DIGEST AS digest
FROM performance_schema.events_statements_summary_by_digest
WHERE SUM_ERRORS > 0 OR SUM_WARNINGS > 0
ORDER BY SUM_ERRORS DESC, SUM_WARNINGS DESC;

CREATE PAIR statements_with_full_table_scans AS
SELECT @text(DIGEST_TEXT) AS query,
    SCHEMA_NAME AS db,
    COUNT_STAR AS exec_count,
    @time(SUM_TIMER_WAIT) AS total_latency,
    SUM_NO_INDEX_USED AS no_index_used_count,
    SUM_NO_GOOD_INDEX_USED AS no_good_index_used_count,
    ROUND(IFNULL(SUM_NO_INDEX_USED / NULLIF(COUNT_STAR, 0), 0) * 100) AS no_index_used_pct,
    SUM_ROWS_SENT AS rows_sent,
    SUM_ROWS_EXAMINED AS rows_examined,
    ROUND(IFNULL(SUM_ROWS_SENT / NULLIF(COUNT_STAR, 0), 0)) AS rows_sent_avg,
    ROUND(IFNULL(SUM_ROWS_EXAMINED / NULLIF(COUNT_STAR, 0), 0)) AS rows_examined_avg,
    FIRST_SEEN AS first_seen,
    LAST_SEEN AS last_seen,
    DIGEST AS digest
FROM performance_schema.events_statements_summary_by_digest
WHERE (SUM_NO_INDEX_USED > 0 OR SUM_NO_GOOD_INDEX_USED > 0) AND DIGEST_TEXT NOT LIKE 'SHOW%'
ORDER BY ROUND(IFNULL(SUM_NO_INDEX_USED / NULLIF(COUNT_STAR, 0), 0) * 100) DESC, SUM_TIMER_WAIT DESC;

CREATE PAIR statements_with_sorting AS
SELECT @text(DIGEST_TEXT) AS query,
    SCHEMA_NAME AS db,
    COUNT_STAR AS exec_count,
    @time(SUM_TIMER_WAIT) AS total_latency,
    SUM_SORT_MERGE_PASSES AS sort_merge_passes,
    ROUND(IFNULL(SUM_SORT_MERGE_PASSES / NULLIF(COUNT_STAR, 0), 0)) AS avg_sort_merges,
    SUM_SORT_SCAN AS sorts_using_scans,
    SUM_SORT_RANGE AS sort_using_range,
    SUM_SORT_ROWS AS rows_sorted,
    ROUND(IFNULL(SUM_SORT_ROWS / NULLIF(COUNT_STAR, 0), 0)) AS avg_rows_sorted,
    FIRST_SEEN AS first_seen,
    LAST_SEEN AS last_seen,
    DIGEST AS digest
FROM performance_schema.events_statements_summary_by_digest
WHERE SUM_SORT_ROWS > 0
ORDER BY SUM_TIMER_WAIT DESC;

CREATE PAIR statements_with_temp_tables AS
SELECT @text(DIGEST_TEXT) AS query,
    SCHEMA_NAME AS db,
    COUNT_STAR AS exec_count,
    @time(SUM_TIMER_WAIT) AS total_latency,
    SUM_CREATED_TMP_TABLES AS memory_tmp_tables,
    SUM_CREATED_TMP_DISK_TABLES AS disk_tmp_tables,
    ROUND(IFNULL(SUM_CREATED_TMP_TABLES / NULLIF(COUNT_STAR, 0), 0)) AS avg_tmp_tables_per_query,
    ROUND(IFNULL(SUM_CREATED_TMP_DISK_TABLES / NULLIF(SUM_CREATED_TMP_TABLES, 0), 0) * 100) AS tmp_tables_to_disk_pct,
    FIRST_SEEN AS first_seen,
    LAST_SEEN AS last_seen,
    DIGEST AS digest
FROM performance_schema.events_statements_summary_by_digest
WHERE SUM_CREATED_TMP_TABLES > 0
ORDER BY SUM_CREATED_TMP_DISK_TABLES DESC, SUM_CREATED_TMP_TABLES DESC;

-- How many digests have which average latency, in microseconds.
CREATE VIEW x$ps_digest_avg_latency_distribution AS
SELECT COUNT(*) AS cnt,
    ROUND(AVG_TIMER_WAIT / 1000000) AS avg_us
FROM performance_schema.events_statements_summary_by_digest
GROUP BY ROUND(AVG_TIMER_WAIT / 1000000);

-- The least of these latencies that 95 % of the digests do not exceed.
CREATE VIEW x$ps_digest_95th_percentile_by_avg_us AS
SELECT ranked.avg_us AS avg_us,
    IFNULL(ranked.below / NULLIF(ranked.digests, 0), 0) AS percentile
FROM (
        SELECT avg_us,
            SUM(cnt) OVER (ORDER BY avg_us) AS below,
            SUM(cnt) OVER () AS digests
        FROM sys.x$ps_digest_avg_latency_distribution
    ) AS ranked
WHERE IFNULL(ranked.below / NULLIF(ranked.digests, 0), 0) > 0.95
ORDER BY IFNULL(ranked.below / NULLIF(ranked.digests, 0), 0)
LIMIT 1;

CREATE PAIR statements_with_runtimes_in_95th_percentile AS
SELECT @text(work.DIGEST_TEXT) AS query,
    work.SCHEMA_NAME AS db,
    IF(work.SUM_NO_INDEX_USED + work.SUM_NO_GOOD_INDEX_USED > 0, '*', '') AS full_scan,
    work.COUNT_STAR AS exec_count,
    work.SUM_ERRORS AS err_count,
    work.SUM_WARNINGS AS warn_count,
    @time(work.SUM_TIMER_WAIT) AS total_latency,
    @time(work.MAX_TIMER_WAIT) AS max_latency,
    @time(work.AVG_TIMER_WAIT) AS avg_latency,
    work.SUM_ROWS_SENT AS rows_sent,
    ROUND(IFNULL(work.SUM_ROWS_SENT / NULLIF(work.COUNT_STAR, 0), 0)) AS rows_sent_avg,
    work.SUM_ROWS_EXAMINED AS rows_examined,
    ROUND(IFNULL(work.SUM_ROWS_EXAMINED / NULLIF(work.COUNT_STAR, 0), 0)) AS rows_examined_avg,
    work.FIRST_SEEN AS first_seen,
    work.LAST_SEEN AS last_seen,
    work.DIGEST AS digest
FROM performance_schema.events_statements_summary_by_digest AS work
    JOIN sys.x$ps_digest_95th_percentile_by_avg_us AS slow
        ON ROUND(work.AVG_TIMER_WAIT / 1000000) >= slow.avg_us
ORDER BY work.AVG_TIMER_WAIT DESC;
