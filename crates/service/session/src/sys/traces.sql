-- Procedures that follow a statement or a thread for a while.

CREATE PROCEDURE ps_trace_statement_digest (IN in_digest VARCHAR(64), IN in_runtime INT, IN in_interval DECIMAL(2, 2),
        IN in_start_fresh BOOLEAN, IN in_auto_enable BOOLEAN)
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Collects the executions of a statement, by digest, and tells of them and of the longest one.'
BEGIN
    DECLARE began DATETIME(6) DEFAULT NOW(6);
    DECLARE longest LONGTEXT;
    DECLARE unexplained BOOLEAN DEFAULT FALSE;
    IF in_auto_enable THEN
        CALL sys.ps_setup_save(0);
        CALL sys.ps_setup_enable_consumer('events_statements');
        CALL sys.ps_setup_enable_consumer('events_stages');
        CALL sys.ps_setup_enable_instrument('statement/');
        CALL sys.ps_setup_enable_instrument('stage/');
    END IF;
    IF in_start_fresh THEN
        TRUNCATE TABLE performance_schema.events_statements_history_long;
        TRUNCATE TABLE performance_schema.events_stages_history_long;
    END IF;
    DROP TEMPORARY TABLE IF EXISTS sys.tmp_trace_statements, sys.tmp_trace_stages;
    CREATE TEMPORARY TABLE sys.tmp_trace_statements AS
        SELECT * FROM performance_schema.events_statements_history_long WHERE FALSE;
    ALTER TABLE sys.tmp_trace_statements ADD UNIQUE KEY (THREAD_ID, EVENT_ID);
    CREATE TEMPORARY TABLE sys.tmp_trace_stages AS
        SELECT * FROM performance_schema.events_stages_history_long WHERE FALSE;
    ALTER TABLE sys.tmp_trace_stages ADD UNIQUE KEY (THREAD_ID, EVENT_ID);
    WHILE TIMESTAMPDIFF(SECOND, began, NOW(6)) < in_runtime DO
        INSERT IGNORE INTO sys.tmp_trace_statements
        SELECT * FROM performance_schema.events_statements_history_long WHERE DIGEST = in_digest;
        INSERT IGNORE INTO sys.tmp_trace_stages
        SELECT stages.*
        FROM performance_schema.events_stages_history_long AS stages
            JOIN sys.tmp_trace_statements AS work
                ON work.THREAD_ID = stages.THREAD_ID AND work.EVENT_ID = stages.NESTING_EVENT_ID;
        DO SLEEP(in_interval);
    END WHILE;

    SELECT 'SUMMARY STATISTICS' AS `SUMMARY STATISTICS`;
    SELECT COUNT(*) AS executions,
        FORMAT_PICO_TIME(SUM(TIMER_WAIT)) AS exec_time,
        FORMAT_PICO_TIME(SUM(LOCK_TIME)) AS lock_time,
        SUM(ROWS_SENT) AS rows_sent,
        SUM(ROWS_AFFECTED) AS rows_affected,
        SUM(ROWS_EXAMINED) AS rows_examined,
        SUM(CREATED_TMP_TABLES) AS tmp_tables,
        SUM(NO_INDEX_USED) AS full_scans
    FROM sys.tmp_trace_statements;
    SELECT EVENT_NAME AS event_name, COUNT(*) AS count, FORMAT_PICO_TIME(SUM(TIMER_WAIT)) AS latency
    FROM sys.tmp_trace_stages
    GROUP BY EVENT_NAME
    ORDER BY SUM(TIMER_WAIT) DESC;
    SELECT 'LONGEST RUNNING STATEMENT' AS `LONGEST RUNNING STATEMENT`;
    SELECT THREAD_ID AS thread_id,
        FORMAT_PICO_TIME(TIMER_WAIT) AS exec_time,
        FORMAT_PICO_TIME(LOCK_TIME) AS lock_time,
        ROWS_SENT AS rows_sent,
        ROWS_AFFECTED AS rows_affected,
        ROWS_EXAMINED AS rows_examined,
        CREATED_TMP_TABLES AS tmp_tables,
        NO_INDEX_USED AS full_scan
    FROM sys.tmp_trace_statements
    ORDER BY TIMER_WAIT DESC
    LIMIT 1;
    SET longest = (SELECT SQL_TEXT FROM sys.tmp_trace_statements ORDER BY TIMER_WAIT DESC LIMIT 1);
    IF longest IS NOT NULL THEN
        SELECT longest AS sql_text;
        BEGIN
            -- It may be of a kind that has no plan, name what is gone, or be cut.
            DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET unexplained = TRUE;
            CALL sys.execute_prepared_stmt(CONCAT('EXPLAIN ', longest));
        END;
    END IF;
    DROP TEMPORARY TABLE sys.tmp_trace_statements, sys.tmp_trace_stages;
    IF in_auto_enable THEN
        CALL sys.ps_setup_reload_saved();
    END IF;
END;

CREATE PROCEDURE ps_trace_thread (IN in_thread_id BIGINT UNSIGNED, IN in_outfile VARCHAR(255),
        IN in_max_runtime DECIMAL(20, 2), IN in_interval DECIMAL(20, 2), IN in_start_fresh BOOLEAN,
        IN in_auto_setup BOOLEAN, IN in_debug BOOLEAN)
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Collects the events of a thread and writes them to a file, as a graph in the language of dot.'
BEGIN
    DECLARE began DATETIME(6) DEFAULT NOW(6);
    DECLARE here BOOLEAN DEFAULT TRUE;
    IF in_auto_setup THEN
        CALL sys.ps_setup_save(0);
        CALL sys.ps_setup_enable_consumer('');
        CALL sys.ps_setup_enable_instrument('');
    END IF;
    IF in_start_fresh THEN
        TRUNCATE TABLE performance_schema.events_statements_history_long;
        TRUNCATE TABLE performance_schema.events_stages_history_long;
        TRUNCATE TABLE performance_schema.events_waits_history_long;
    END IF;
    DROP TEMPORARY TABLE IF EXISTS sys.tmp_trace_events;
    CREATE TEMPORARY TABLE sys.tmp_trace_events (
        event_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
        nesting_event_id BIGINT UNSIGNED,
        kind VARCHAR(16) NOT NULL,
        label LONGTEXT,
        timer_wait BIGINT UNSIGNED
    );
    SELECT CONCAT('Data collection starting for THREAD_ID = ', in_thread_id) AS Info;
    WHILE here AND TIMESTAMPDIFF(MICROSECOND, began, NOW(6)) < in_max_runtime * 1000000 DO
        INSERT IGNORE INTO sys.tmp_trace_events
        SELECT EVENT_ID, NESTING_EVENT_ID, 'statement', SQL_TEXT, TIMER_WAIT
        FROM performance_schema.events_statements_history_long
        WHERE THREAD_ID = in_thread_id
        UNION ALL
        SELECT EVENT_ID, NESTING_EVENT_ID, 'stage', EVENT_NAME, TIMER_WAIT
        FROM performance_schema.events_stages_history_long
        WHERE THREAD_ID = in_thread_id
        UNION ALL
        SELECT EVENT_ID, NESTING_EVENT_ID, 'wait',
            IF(in_debug, CONCAT_WS(' ', EVENT_NAME, OPERATION, OBJECT_NAME, NUMBER_OF_BYTES), EVENT_NAME), TIMER_WAIT
        FROM performance_schema.events_waits_history_long
        WHERE THREAD_ID = in_thread_id;
        SET here = EXISTS (SELECT 1 FROM performance_schema.threads WHERE THREAD_ID = in_thread_id);
        DO SLEEP(in_interval);
    END WHILE;
    SELECT /*+ SET_VAR(group_concat_max_len = 100000000) */ CONCAT('digraph thread_', in_thread_id, ' {\nrankdir=LR; nodesep=0.10;\n',
        IFNULL(GROUP_CONCAT(CONCAT(
            event_id, ' [shape=box, style=filled, fillcolor=',
            ELT(FIELD(kind, 'statement', 'stage', 'wait'), 'lightblue', 'palegreen', 'lightgray'),
            ', label="', REPLACE(REPLACE(LEFT(IFNULL(label, ''), 200), '\\', '\\\\'), '"', '\\"'), '\\n',
            FORMAT_PICO_TIME(timer_wait), '"];\n',
            IF(nesting_event_id IS NULL, '', CONCAT(nesting_event_id, ' -> ', event_id, ';\n')))
            ORDER BY event_id SEPARATOR ''), ''), '}\n')
        INTO @sys.graph
    FROM sys.tmp_trace_events;
    DROP TEMPORARY TABLE sys.tmp_trace_events;
    IF in_auto_setup THEN
        CALL sys.ps_setup_reload_saved();
    END IF;
    CALL sys.execute_prepared_stmt(CONCAT('SELECT @sys.graph INTO OUTFILE ', QUOTE(in_outfile),
        ' FIELDS ESCAPED BY \'\' LINES TERMINATED BY \'\''));
    SET @sys.graph = NULL;
    SELECT CONCAT('Stack trace written to: ', in_outfile) AS Info
    UNION ALL
    SELECT CONCAT('Convert to PDF: dot -Tpdf -o stack.pdf ', in_outfile)
    UNION ALL
    SELECT CONCAT('Convert to PNG: dot -Tpng -o stack.png ', in_outfile);
END;
