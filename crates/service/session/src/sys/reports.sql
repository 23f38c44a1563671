-- Procedures that look, and tell.

CREATE PROCEDURE table_exists (IN in_db VARCHAR(64), IN in_table VARCHAR(64),
        OUT out_exists ENUM('', 'BASE TABLE', 'VIEW', 'TEMPORARY', 'SYSTEM VIEW'))
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'What kind of table has this name; an empty text where there is none.'
BEGIN
    DECLARE taken, refused BOOLEAN DEFAULT FALSE;
    DECLARE kind VARCHAR(64) DEFAULT '';
    DECLARE CONTINUE HANDLER FOR 1050 SET taken = TRUE;
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET refused = TRUE;
    SELECT IFNULL(MAX(TABLE_TYPE), '') INTO kind
    FROM information_schema.TABLES
    WHERE TABLE_SCHEMA = in_db AND TABLE_NAME = in_table;
    IF kind <> 'SYSTEM VIEW' THEN
        -- Temporary tables are in no list: the name of one cannot be given to another.
        SET @sys.statement = CONCAT('CREATE TEMPORARY TABLE ', sys.quote_identifier(in_db), '.',
            sys.quote_identifier(in_table), ' (n INT)');
        PREPARE attempt FROM @sys.statement;
        EXECUTE attempt;
        IF taken THEN
            SET kind = 'TEMPORARY';
        ELSEIF NOT refused THEN
            SET @sys.statement = CONCAT('DROP TEMPORARY TABLE ', sys.quote_identifier(in_db), '.',
                sys.quote_identifier(in_table));
            PREPARE attempt FROM @sys.statement;
            EXECUTE attempt;
        END IF;
        DEALLOCATE PREPARE attempt;
        SET @sys.statement = NULL;
    END IF;
    SET out_exists = kind;
END;

CREATE PROCEDURE execute_prepared_stmt (IN in_query LONGTEXT CHARACTER SET utf8mb4)
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Runs a statement that is given as text.'
BEGIN
    IF in_query IS NULL OR CHAR_LENGTH(in_query) < 4 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'The @sys.execute_prepared_stmt.sql must contain a query';
    END IF;
    SET @sys.execute_prepared_stmt.sql = in_query;
    IF @sys.debug = 'ON' THEN
        SELECT @sys.execute_prepared_stmt.sql AS Debug;
    END IF;
    PREPARE given FROM @sys.execute_prepared_stmt.sql;
    EXECUTE given;
    DEALLOCATE PREPARE given;
    SET @sys.execute_prepared_stmt.sql = NULL;
END;

CREATE PROCEDURE create_synonym_db (IN in_db_name VARCHAR(64), IN in_synonym VARCHAR(64))
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Makes a database that has a view for each table of another one.'
BEGIN
    DECLARE done BOOLEAN DEFAULT FALSE;
    DECLARE made INT DEFAULT 0;
    DECLARE chosen VARCHAR(64);
    DECLARE told VARCHAR(128);
    DECLARE found CURSOR FOR
        SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = in_db_name ORDER BY TABLE_NAME;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
    IF NOT EXISTS (SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = in_db_name) THEN
        SET told = CONCAT('Unknown database ', in_db_name);
        SIGNAL SQLSTATE 'HY000' SET MESSAGE_TEXT = told;
    END IF;
    IF EXISTS (SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = in_synonym) THEN
        SET told = CONCAT('Can\'t create database ', in_synonym, '; database exists');
        SIGNAL SQLSTATE 'HY000' SET MESSAGE_TEXT = told;
    END IF;
    CALL sys.execute_prepared_stmt(CONCAT('CREATE DATABASE ', sys.quote_identifier(in_synonym)));
    SET done = FALSE;
    OPEN found;
    FETCH found INTO chosen;
    WHILE NOT done DO
        CALL sys.execute_prepared_stmt(CONCAT('CREATE SQL SECURITY INVOKER VIEW ', sys.quote_identifier(in_synonym), '.',
            sys.quote_identifier(chosen), ' AS SELECT * FROM ', sys.quote_identifier(in_db_name), '.',
            sys.quote_identifier(chosen)));
        SET made = made + 1;
        FETCH found INTO chosen;
    END WHILE;
    CLOSE found;
    SELECT CONCAT('Created ', made, ' view', IF(made = 1, '', 's'), ' in the ', sys.quote_identifier(in_synonym),
        ' database') AS summary;
END;

CREATE PROCEDURE ps_statement_avg_latency_histogram ()
    DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'How average latencies of statements are spread, as a chart of texts.'
BEGIN
    DECLARE buckets INT DEFAULT 16;
    DECLARE least, most, width, total, highest DECIMAL(65, 4) DEFAULT 0;
    DECLARE unit VARCHAR(2) DEFAULT 'us';
    DECLARE divisor INT DEFAULT 1;
    DECLARE chart LONGTEXT DEFAULT '';
    SELECT IFNULL(MIN(avg_us), 0), IFNULL(MAX(avg_us), 0), IFNULL(SUM(cnt), 0)
        INTO least, most, total
    FROM sys.x$ps_digest_avg_latency_distribution;
    SET width = GREATEST((most - least) / (buckets - 1), 1);
    IF width > 10000 THEN
        SET unit = 'ms', divisor = 1000;
    END IF;
    WITH RECURSIVE numbers (n) AS (
            SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < buckets
        ), counted AS (
            SELECT n, IFNULL(SUM(spread.cnt), 0) AS cnt
            FROM numbers
                LEFT JOIN sys.x$ps_digest_avg_latency_distribution AS spread
                    ON FLOOR((spread.avg_us - least) / width) = n
            GROUP BY n
        ), scaled AS (
            SELECT n, cnt, ROUND(cnt * 40 / GREATEST(MAX(cnt) OVER (), 40)) AS bar FROM counted
        )
    SELECT GROUP_CONCAT(CONCAT(
            RPAD(CONCAT('(', ROUND((least + n * width) / divisor), ' - ', ROUND((least + (n + 1) * width) / divisor),
                unit, ')'), 24, ' '),
            RPAD(cnt, 8, ' '), '| ', REPEAT('#', bar)) ORDER BY n SEPARATOR '\n')
        INTO chart
    FROM scaled;
    SELECT CONCAT('\n  # = at least one statement\n\n', chart, '\n\n  Total Statements: ', ROUND(total), '; Buckets: ',
        buckets, '; Bucket Size: ', ROUND(width / divisor), ' ', unit, ';\n')
        AS `Performance Schema Statement Digest Average Latency Histogram`;
END;

CREATE PROCEDURE statement_performance_analyzer (
        IN in_action ENUM('snapshot', 'overall', 'delta', 'create_table', 'create_tmp', 'save', 'cleanup'),
        IN in_table VARCHAR(129),
        IN in_views SET('with_runtimes_in_95th_percentile', 'analysis', 'with_errors_or_warnings',
            'with_full_table_scans', 'with_sorting', 'with_temp_tables', 'custom'))
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Keeps snapshots of the digests, and reports on one or on the difference of two.'
BEGIN
    DECLARE quoted, told VARCHAR(300);
    DECLARE digests VARCHAR(100) DEFAULT '`performance_schema`.`events_statements_summary_by_digest`';
    DECLARE percentile VARCHAR(100) DEFAULT '`sys`.`x$ps_digest_95th_percentile_by_avg_us`';
    DECLARE spread VARCHAR(100) DEFAULT '`sys`.`x$ps_digest_avg_latency_distribution`';
    DECLARE longest INT DEFAULT IFNULL(@sys.statement_performance_analyzer.limit,
        sys.sys_get_config('statement_performance_analyzer.limit', 100));
    DECLARE query, inner_query LONGTEXT;
    DECLARE report, heading VARCHAR(200);
    DECLARE todo INT DEFAULT 0;
    DECLARE has_snapshot BOOLEAN DEFAULT TRUE;

    IF in_table IS NOT NULL AND in_table <> 'NOW()' THEN
        SET quoted = IF(LOCATE('.', in_table) > 0,
            CONCAT(sys.quote_identifier(SUBSTRING_INDEX(in_table, '.', 1)), '.',
                sys.quote_identifier(SUBSTRING(in_table, LOCATE('.', in_table) + 1))),
            sys.quote_identifier(in_table));
    END IF;
    IF in_action IN ('create_table', 'create_tmp', 'save', 'delta') AND quoted IS NULL THEN
        SET told = CONCAT('The in_table argument must name a table for the action ', in_action);
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = told;
    END IF;
    BEGIN
        DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET has_snapshot = FALSE;
        SET todo = (SELECT 1 FROM sys.tmp_digests LIMIT 1);
    END;
    IF in_action IN ('delta', 'save') AND NOT has_snapshot THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'There is no snapshot: call the procedure with ''snapshot'' first';
    END IF;

    IF in_action IN ('create_table', 'create_tmp') THEN
        CALL sys.execute_prepared_stmt(CONCAT('CREATE ', IF(in_action = 'create_tmp', 'TEMPORARY ', ''), 'TABLE ', quoted,
            ' AS SELECT * FROM ', digests, ' WHERE FALSE'));
    ELSEIF in_action = 'snapshot' OR (in_action = 'overall' AND (in_table = 'NOW()' OR NOT has_snapshot)) THEN
        DROP TEMPORARY TABLE IF EXISTS sys.tmp_digests;
        CALL sys.execute_prepared_stmt(CONCAT('CREATE TEMPORARY TABLE sys.tmp_digests AS SELECT * FROM ',
            IFNULL(quoted, digests)));
    ELSEIF in_action = 'save' THEN
        CALL sys.execute_prepared_stmt(CONCAT('DELETE FROM ', quoted));
        CALL sys.execute_prepared_stmt(CONCAT('INSERT INTO ', quoted, ' SELECT * FROM sys.tmp_digests'));
    ELSEIF in_action = 'cleanup' THEN
        DROP TEMPORARY TABLE IF EXISTS sys.tmp_digests, sys.tmp_digests_report, sys.tmp_digests_spread;
    END IF;

    IF in_action IN ('overall', 'delta') THEN
        DROP TEMPORARY TABLE IF EXISTS sys.tmp_digests_report, sys.tmp_digests_spread;
        IF in_action = 'delta' THEN
            SELECT /*+ SET_VAR(group_concat_max_len = 1000000) */ GROUP_CONCAT(CASE
                    WHEN COLUMN_NAME = 'AVG_TIMER_WAIT' THEN CONCAT(
                        'IFNULL(ROUND((late.SUM_TIMER_WAIT - IFNULL(early.SUM_TIMER_WAIT, 0))',
                        ' / NULLIF(late.COUNT_STAR - IFNULL(early.COUNT_STAR, 0), 0)), 0) AS AVG_TIMER_WAIT')
                    WHEN COLUMN_NAME LIKE 'SUM%' OR COLUMN_NAME LIKE 'COUNT%' THEN
                        CONCAT('late.', COLUMN_NAME, ' - IFNULL(early.', COLUMN_NAME, ', 0) AS ', COLUMN_NAME)
                    ELSE CONCAT('late.', COLUMN_NAME)
                    END ORDER BY ORDINAL_POSITION SEPARATOR ', ')
                INTO query
            FROM information_schema.COLUMNS
            WHERE TABLE_SCHEMA = 'performance_schema' AND TABLE_NAME = 'events_statements_summary_by_digest';
            CALL sys.execute_prepared_stmt(CONCAT('CREATE TEMPORARY TABLE sys.tmp_digests_report AS SELECT ', query,
                ' FROM sys.tmp_digests AS late LEFT JOIN ', quoted,
                ' AS early ON early.SCHEMA_NAME <=> late.SCHEMA_NAME AND early.DIGEST <=> late.DIGEST',
                ' WHERE late.COUNT_STAR > IFNULL(early.COUNT_STAR, 0)'));
        ELSE
            CALL sys.execute_prepared_stmt(CONCAT('CREATE TEMPORARY TABLE sys.tmp_digests_report AS SELECT * FROM ',
                IFNULL(quoted, 'sys.tmp_digests')));
        END IF;
        -- A query names a temporary table once.
        CREATE TEMPORARY TABLE sys.tmp_digests_spread AS SELECT * FROM sys.tmp_digests_report;
        SET todo = 1;
        WHILE todo <= 7 DO
            SET report = ELT(todo, 'with_runtimes_in_95th_percentile', 'analysis', 'with_errors_or_warnings',
                'with_full_table_scans', 'with_sorting', 'with_temp_tables', 'custom');
            IF FIND_IN_SET(report, in_views) THEN
                SET heading = ELT(todo, 'Queries with Runtime in 95th Percentile',
                    CONCAT('Top ', longest, ' Queries Ordered by Total Latency'),
                    CONCAT('Top ', longest, ' Queries with Errors'),
                    CONCAT('Top ', longest, ' Queries with Full Table Scan'),
                    CONCAT('Top ', longest, ' Queries with Sorting'),
                    CONCAT('Top ', longest, ' Queries with Internal Temporary Tables'),
                    CONCAT('Top ', longest, ' Queries Using Custom View'));
                SET query = IF(report = 'custom',
                    IFNULL(@sys.statement_performance_analyzer.view,
                        sys.sys_get_config('statement_performance_analyzer.view', NULL)),
                    CONCAT('sys.', IF(report = 'analysis', 'statement_', 'statements_'), report));
                IF query IS NULL THEN
                    SIGNAL SQLSTATE '45000' SET
                        MESSAGE_TEXT = 'The custom report needs a view in @sys.statement_performance_analyzer.view';
                END IF;
                IF query NOT LIKE 'SELECT%' THEN
                    SET query = (SELECT VIEW_DEFINITION FROM information_schema.VIEWS
                        WHERE TABLE_SCHEMA = SUBSTRING_INDEX(query, '.', 1)
                            AND TABLE_NAME = SUBSTRING(query, LOCATE('.', query) + 1));
                END IF;
                SET inner_query = REPLACE(
                    (SELECT VIEW_DEFINITION FROM information_schema.VIEWS
                        WHERE TABLE_SCHEMA = 'sys' AND TABLE_NAME = 'x$ps_digest_95th_percentile_by_avg_us'),
                    CONCAT('from ', spread),
                    CONCAT('from (', (SELECT VIEW_DEFINITION FROM information_schema.VIEWS
                        WHERE TABLE_SCHEMA = 'sys' AND TABLE_NAME = 'x$ps_digest_avg_latency_distribution'),
                        ') `spread`'));
                SET inner_query = REPLACE(REPLACE(inner_query, spread, '`spread`'), digests, '`sys`.`tmp_digests_spread`');
                SET query = REPLACE(query, percentile, CONCAT('(', inner_query, ')'));
                SET query = REPLACE(query, digests, '`sys`.`tmp_digests_report`');
                SELECT heading AS `Next Output`;
                CALL sys.execute_prepared_stmt(
                    IF(query LIKE '% limit %', query, CONCAT('SELECT * FROM (', query, ') AS report LIMIT ', longest)));
            END IF;
            SET todo = todo + 1;
        END WHILE;
        DROP TEMPORARY TABLE sys.tmp_digests_report, sys.tmp_digests_spread;
    END IF;
END;

CREATE PROCEDURE diagnostics (IN in_max_runtime INT UNSIGNED, IN in_interval INT UNSIGNED,
        IN in_auto_config ENUM('current', 'medium', 'full'))
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'A report of the server: its variables, sessions, locks and figures, and how they change for a while.'
BEGIN
    DECLARE began DATETIME(6) DEFAULT NOW(6);
    DECLARE rounds INT DEFAULT 0;
    DECLARE pause DECIMAL(20, 6);
    DECLARE log_bin_was BOOLEAN DEFAULT @@session.sql_log_bin;
    DECLARE reads_dictionary, keeps_raw VARCHAR(3);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        DROP TEMPORARY TABLE IF EXISTS sys.tmp_metrics_first, sys.tmp_metrics_last, sys.tmp_digests_first;
        RESIGNAL;
    END;
    SET in_max_runtime = IFNULL(in_max_runtime, 60), in_interval = IFNULL(in_interval, 30);
    IF in_max_runtime = 0 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'in_max_runtime must be greater than 0';
    ELSEIF in_interval = 0 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'in_interval must be greater than 0';
    ELSEIF in_max_runtime < in_interval THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'in_max_runtime must be greater than or equal to in_interval';
    END IF;
    SET reads_dictionary = IFNULL(@sys.diagnostics.allow_i_s_tables,
            sys.sys_get_config('diagnostics.allow_i_s_tables', 'OFF')),
        keeps_raw = IFNULL(@sys.diagnostics.include_raw, sys.sys_get_config('diagnostics.include_raw', 'OFF'));
    IF log_bin_was THEN
        SET SESSION sql_log_bin = 0;
    END IF;
    IF in_auto_config <> 'current' THEN
        CALL sys.ps_setup_save(0);
        CALL sys.ps_setup_enable_consumer(IF(in_auto_config = 'full', '', 'history'));
        CALL sys.ps_setup_enable_instrument(IF(in_auto_config = 'full', '', 'statement/'));
    END IF;

    SELECT 'Report' AS `The following output is`, @@hostname AS Hostname, @@port AS Port, @@server_uuid AS `Server UUID`,
        VERSION() AS `MySQL Version`, NOW() AS `Report Time`, CURRENT_USER() AS `Current User`;
    SELECT 'Configuration' AS `The following output is`;
    SELECT LOWER(VARIABLE_NAME) AS Variable_name, VARIABLE_VALUE AS Variable_value
    FROM performance_schema.global_variables
    ORDER BY VARIABLE_NAME;
    SELECT 'What performance_schema collects' AS `The following output is`;
    CALL sys.ps_setup_show_enabled(FALSE, TRUE);
    IF reads_dictionary = 'ON' THEN
        SELECT 'Storage engines and sizes of schemas' AS `The following output is`;
        SELECT TABLE_SCHEMA, ENGINE, COUNT(*) AS NUM_TABLES, FORMAT_BYTES(SUM(DATA_LENGTH)) AS DATA_LENGTH,
            FORMAT_BYTES(SUM(INDEX_LENGTH)) AS INDEX_LENGTH
        FROM information_schema.TABLES
        WHERE TABLE_TYPE = 'BASE TABLE'
        GROUP BY TABLE_SCHEMA, ENGINE;
        SELECT * FROM sys.schema_object_overview;
        SELECT * FROM sys.schema_unused_indexes;
        SELECT * FROM sys.schema_redundant_indexes;
        SELECT * FROM sys.schema_auto_increment_columns;
    END IF;

    DROP TEMPORARY TABLE IF EXISTS sys.tmp_metrics_first, sys.tmp_metrics_last, sys.tmp_digests_first;
    CREATE TEMPORARY TABLE sys.tmp_metrics_first AS SELECT * FROM sys.metrics;
    CALL sys.statement_performance_analyzer('create_tmp', 'sys.tmp_digests_first', NULL);
    CALL sys.statement_performance_analyzer('snapshot', NULL, NULL);
    CALL sys.statement_performance_analyzer('save', 'sys.tmp_digests_first', NULL);
    REPEAT
        SET rounds = rounds + 1;
        SELECT rounds AS Round, NOW() AS `Iteration Time`;
        SELECT * FROM sys.session;
        SELECT * FROM sys.innodb_lock_waits;
        SELECT * FROM sys.schema_table_lock_waits;
        SHOW ENGINE INNODB STATUS;
        IF keeps_raw = 'ON' THEN
            SELECT * FROM sys.x$processlist;
            SELECT * FROM sys.metrics;
        END IF;
        SET pause = LEAST(in_interval, in_max_runtime - TIMESTAMPDIFF(MICROSECOND, began, NOW(6)) / 1000000);
        IF pause > 0 THEN
            DO SLEEP(pause);
        END IF;
    UNTIL TIMESTAMPDIFF(SECOND, began, NOW(6)) >= in_max_runtime END REPEAT;

    CREATE TEMPORARY TABLE sys.tmp_metrics_last AS SELECT * FROM sys.metrics;
    SELECT 'Metrics, and how they changed' AS `The following output is`;
    SELECT late.Variable_name, late.Variable_value,
        IF(late.Variable_value REGEXP '^-?[0-9]+([.][0-9]+)?$' AND early.Variable_value REGEXP '^-?[0-9]+([.][0-9]+)?$',
            late.Variable_value - early.Variable_value, NULL) AS Delta,
        late.Type, late.Enabled
    FROM sys.tmp_metrics_last AS late
        LEFT JOIN sys.tmp_metrics_first AS early
            ON early.Variable_name = late.Variable_name AND early.Type = late.Type
    ORDER BY late.Type, late.Variable_name;
    SELECT 'Memory, files, waits, accounts' AS `The following output is`;
    SELECT * FROM sys.memory_global_total;
    SELECT * FROM sys.memory_global_by_current_bytes;
    SELECT * FROM sys.io_global_by_file_by_latency;
    SELECT * FROM sys.io_global_by_wait_by_latency;
    SELECT * FROM sys.waits_global_by_latency;
    SELECT * FROM sys.user_summary;
    SELECT * FROM sys.host_summary;
    SELECT * FROM sys.schema_table_statistics;
    SELECT 'Statements since the start' AS `The following output is`;
    CALL sys.statement_performance_analyzer('snapshot', NULL, NULL);
    CALL sys.statement_performance_analyzer('overall', NULL,
        'with_runtimes_in_95th_percentile,analysis,with_errors_or_warnings,with_full_table_scans,with_sorting,with_temp_tables');
    SELECT 'Statements of these rounds' AS `The following output is`;
    CALL sys.statement_performance_analyzer('delta', 'sys.tmp_digests_first', 'with_runtimes_in_95th_percentile,analysis');
    CALL sys.statement_performance_analyzer('cleanup', NULL, NULL);
    DROP TEMPORARY TABLE sys.tmp_metrics_first, sys.tmp_metrics_last, sys.tmp_digests_first;

    IF in_auto_config <> 'current' THEN
        CALL sys.ps_setup_reload_saved();
    END IF;
    IF log_bin_was THEN
        SET SESSION sql_log_bin = 1;
    END IF;
    SELECT CONCAT('End of the report after ', rounds, ' round', IF(rounds = 1, '', 's')) AS summary;
END;
