-- What performance_schema collects: switched, shown, saved, forgotten.

CREATE PROCEDURE ps_setup_disable_background_threads ()
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Disables the instrumentation of all background threads.'
BEGIN
    UPDATE performance_schema.threads SET INSTRUMENTED = 'NO' WHERE TYPE = 'BACKGROUND' AND INSTRUMENTED <> 'NO';
    SELECT CONCAT('Disabled ', @rows := ROW_COUNT(), ' background thread', IF(@rows = 1, '', 's')) AS summary;
END;

CREATE PROCEDURE ps_setup_disable_consumer (IN consumer VARCHAR(128))
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Disables the consumers whose name has the text in it.'
BEGIN
    UPDATE performance_schema.setup_consumers SET ENABLED = 'NO'
    WHERE NAME LIKE CONCAT('%', consumer, '%') AND ENABLED <> 'NO';
    SELECT CONCAT('Disabled ', @rows := ROW_COUNT(), ' consumer', IF(@rows = 1, '', 's')) AS summary;
END;

CREATE PROCEDURE ps_setup_disable_instrument (IN in_pattern VARCHAR(128))
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Disables the instruments whose name has the text in it.'
BEGIN
    UPDATE performance_schema.setup_instruments SET ENABLED = 'NO', TIMED = 'NO'
    WHERE NAME LIKE CONCAT('%', in_pattern, '%') AND ENABLED <> 'NO';
    SELECT CONCAT('Disabled ', @rows := ROW_COUNT(), ' instrument', IF(@rows = 1, '', 's')) AS summary;
END;

CREATE PROCEDURE ps_setup_disable_thread (IN in_connection_id BIGINT)
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Disables the instrumentation of a connection.'
BEGIN
    UPDATE performance_schema.threads SET INSTRUMENTED = 'NO'
    WHERE PROCESSLIST_ID = in_connection_id AND INSTRUMENTED <> 'NO';
    SELECT CONCAT('Disabled ', @rows := ROW_COUNT(), ' thread', IF(@rows = 1, '', 's')) AS summary;
END;

CREATE PROCEDURE ps_setup_show_disabled_consumers ()
    DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'The consumers that are disabled.'
BEGIN
    SELECT NAME AS disabled_consumers
    FROM performance_schema.setup_consumers
    WHERE ENABLED = 'NO'
    ORDER BY NAME;
END;

CREATE PROCEDURE ps_setup_show_disabled_instruments ()
    DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'The instruments that are disabled.'
BEGIN
    SELECT NAME AS disabled_instruments, TIMED AS timed
    FROM performance_schema.setup_instruments
    WHERE ENABLED = 'NO'
    ORDER BY NAME;
END;

CREATE PROCEDURE ps_setup_show_disabled (IN in_show_instruments BOOLEAN, IN in_show_threads BOOLEAN)
    NOT DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'All that is disabled: accounts, objects, consumers, and if wanted threads and instruments.'
BEGIN
    SELECT @@performance_schema AS performance_schema_enabled;
    SELECT CONCAT('''', USER, '''@''', CONVERT(HOST USING utf8mb4), '''') AS disabled_users
    FROM performance_schema.setup_actors
    WHERE ENABLED = 'NO'
    ORDER BY USER, HOST;
    SELECT OBJECT_TYPE AS object_type,
        CONCAT(OBJECT_SCHEMA, '.', OBJECT_NAME) AS objects,
        ENABLED AS enabled,
        TIMED AS timed
    FROM performance_schema.setup_objects
    WHERE ENABLED = 'NO'
    ORDER BY OBJECT_TYPE, OBJECT_SCHEMA, OBJECT_NAME;
    CALL sys.ps_setup_show_disabled_consumers();
    IF in_show_threads THEN
        SELECT IF(PROCESSLIST_ID IS NULL, REPLACE(NAME, 'thread/', ''),
                CONCAT(PROCESSLIST_USER, '@', CONVERT(PROCESSLIST_HOST USING utf8mb4))) AS disabled_threads,
            TYPE AS thread_type
        FROM performance_schema.threads
        WHERE INSTRUMENTED = 'NO'
        ORDER BY TYPE, disabled_threads;
    END IF;
    IF in_show_instruments THEN
        CALL sys.ps_setup_show_disabled_instruments();
    END IF;
END;

CREATE PROCEDURE ps_setup_enable_background_threads ()
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Enables the instrumentation of all background threads.'
BEGIN
    UPDATE performance_schema.threads SET INSTRUMENTED = 'YES' WHERE TYPE = 'BACKGROUND' AND INSTRUMENTED <> 'YES';
    SELECT CONCAT('Enabled ', @rows := ROW_COUNT(), ' background thread', IF(@rows = 1, '', 's')) AS summary;
END;

CREATE PROCEDURE ps_setup_enable_consumer (IN consumer VARCHAR(128))
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Enables the consumers whose name has the text in it.'
BEGIN
    UPDATE performance_schema.setup_consumers SET ENABLED = 'YES'
    WHERE NAME LIKE CONCAT('%', consumer, '%') AND ENABLED <> 'YES';
    SELECT CONCAT('Enabled ', @rows := ROW_COUNT(), ' consumer', IF(@rows = 1, '', 's')) AS summary;
END;

CREATE PROCEDURE ps_setup_enable_instrument (IN in_pattern VARCHAR(128))
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Enables the instruments whose name has the text in it.'
BEGIN
    UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES'
    WHERE NAME LIKE CONCAT('%', in_pattern, '%') AND ENABLED <> 'YES';
    SELECT CONCAT('Enabled ', @rows := ROW_COUNT(), ' instrument', IF(@rows = 1, '', 's')) AS summary;
END;

CREATE PROCEDURE ps_setup_enable_thread (IN in_connection_id BIGINT)
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Enables the instrumentation of a connection.'
BEGIN
    UPDATE performance_schema.threads SET INSTRUMENTED = 'YES'
    WHERE PROCESSLIST_ID = in_connection_id AND INSTRUMENTED <> 'YES';
    SELECT CONCAT('Enabled ', @rows := ROW_COUNT(), ' thread', IF(@rows = 1, '', 's')) AS summary;
END;

CREATE PROCEDURE ps_setup_show_enabled_consumers ()
    DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'The consumers that are enabled.'
BEGIN
    SELECT NAME AS enabled_consumers
    FROM performance_schema.setup_consumers
    WHERE sys.ps_is_consumer_enabled(NAME) = 'YES'
    ORDER BY NAME;
END;

CREATE PROCEDURE ps_setup_show_enabled_instruments ()
    DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'The instruments that are enabled.'
BEGIN
    SELECT NAME AS enabled_instruments, TIMED AS timed
    FROM performance_schema.setup_instruments
    WHERE ENABLED = 'YES'
    ORDER BY NAME;
END;

CREATE PROCEDURE ps_setup_show_enabled (IN in_show_instruments BOOLEAN, IN in_show_threads BOOLEAN)
    NOT DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
    COMMENT 'All that is enabled: accounts, objects, consumers, and if wanted threads and instruments.'
BEGIN
    SELECT @@performance_schema AS performance_schema_enabled;
    SELECT CONCAT('''', USER, '''@''', CONVERT(HOST USING utf8mb4), '''') AS enabled_users
    FROM performance_schema.setup_actors
    WHERE ENABLED = 'YES'
    ORDER BY USER, HOST;
    SELECT OBJECT_TYPE AS object_type,
        CONCAT(OBJECT_SCHEMA, '.', OBJECT_NAME) AS objects,
        ENABLED AS enabled,
        TIMED AS timed
    FROM performance_schema.setup_objects
    WHERE ENABLED = 'YES'
    ORDER BY OBJECT_TYPE, OBJECT_SCHEMA, OBJECT_NAME;
    CALL sys.ps_setup_show_enabled_consumers();
    IF in_show_threads THEN
        SELECT IF(PROCESSLIST_ID IS NULL, REPLACE(NAME, 'thread/', ''),
                CONCAT(PROCESSLIST_USER, '@', CONVERT(PROCESSLIST_HOST USING utf8mb4))) AS enabled_threads,
            TYPE AS thread_type
        FROM performance_schema.threads
        WHERE INSTRUMENTED = 'YES'
        ORDER BY TYPE, enabled_threads;
    END IF;
    IF in_show_instruments THEN
        CALL sys.ps_setup_show_enabled_instruments();
    END IF;
END;

CREATE PROCEDURE ps_setup_save (IN in_timeout INT)
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Keeps what is collected, until ps_setup_reload_saved() or the end of the connection.'
BEGIN
    DECLARE got INT DEFAULT GET_LOCK('sys.ps_setup_save', in_timeout);
    IF got IS NULL OR got <> 1 THEN
        SIGNAL SQLSTATE '90000' SET
            MESSAGE_TEXT = 'Could not lock the sys.ps_setup_save user lock, another thread has a saved configuration';
    END IF;
    DROP TEMPORARY TABLE IF EXISTS sys.saved_actors, sys.saved_objects, sys.saved_consumers, sys.saved_instruments,
        sys.saved_threads;
    CREATE TEMPORARY TABLE sys.saved_actors AS SELECT * FROM performance_schema.setup_actors;
    CREATE TEMPORARY TABLE sys.saved_objects AS SELECT * FROM performance_schema.setup_objects;
    CREATE TEMPORARY TABLE sys.saved_consumers AS SELECT * FROM performance_schema.setup_consumers;
    CREATE TEMPORARY TABLE sys.saved_instruments AS
        SELECT NAME, ENABLED, TIMED FROM performance_schema.setup_instruments;
    CREATE TEMPORARY TABLE sys.saved_threads AS SELECT THREAD_ID, INSTRUMENTED FROM performance_schema.threads;
END;

CREATE PROCEDURE ps_setup_reload_saved ()
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Puts back what ps_setup_save() has kept.'
BEGIN
    IF IS_USED_LOCK('sys.ps_setup_save') IS NULL OR IS_USED_LOCK('sys.ps_setup_save') <> CONNECTION_ID() THEN
        SIGNAL SQLSTATE '90001' SET
            MESSAGE_TEXT = 'No configuration was saved in this connection: call sys.ps_setup_save() first';
    END IF;
    TRUNCATE TABLE performance_schema.setup_actors;
    INSERT INTO performance_schema.setup_actors SELECT * FROM sys.saved_actors;
    TRUNCATE TABLE performance_schema.setup_objects;
    INSERT INTO performance_schema.setup_objects SELECT * FROM sys.saved_objects;
    UPDATE performance_schema.setup_consumers
    SET ENABLED = (SELECT saved.ENABLED FROM sys.saved_consumers AS saved WHERE saved.NAME = setup_consumers.NAME);
    UPDATE performance_schema.setup_instruments
    SET ENABLED = IFNULL(
            (SELECT saved.ENABLED FROM sys.saved_instruments AS saved WHERE saved.NAME = setup_instruments.NAME), ENABLED),
        TIMED = IF(TIMED IS NULL, NULL, ENABLED);
    UPDATE performance_schema.threads
    SET INSTRUMENTED = IFNULL(
            (SELECT saved.INSTRUMENTED FROM sys.saved_threads AS saved WHERE saved.THREAD_ID = threads.THREAD_ID),
            INSTRUMENTED);
    DROP TEMPORARY TABLE sys.saved_actors, sys.saved_objects, sys.saved_consumers, sys.saved_instruments,
        sys.saved_threads;
    DO RELEASE_LOCK('sys.ps_setup_save');
END;

CREATE PROCEDURE ps_setup_reset_to_default (IN in_verbose BOOLEAN)
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Collects what a server collects that nobody has set up.'
BEGIN
    IF in_verbose THEN
        SELECT 'Resetting: setup_actors' AS status;
    END IF;
    TRUNCATE TABLE performance_schema.setup_actors;
    INSERT INTO performance_schema.setup_actors () VALUES ();
    IF in_verbose THEN
        SELECT 'Resetting: setup_objects' AS status;
    END IF;
    TRUNCATE TABLE performance_schema.setup_objects;
    INSERT INTO performance_schema.setup_objects
    SELECT kinds.kind, homes.name, '%', homes.shown, homes.shown
    FROM (VALUES ROW('EVENT'), ROW('FUNCTION'), ROW('PROCEDURE'), ROW('TABLE'), ROW('TRIGGER')) AS kinds (kind)
        JOIN (VALUES ROW('mysql', 'NO'), ROW('performance_schema', 'NO'), ROW('information_schema', 'NO'),
            ROW('%', 'YES')) AS homes (name, shown);
    IF in_verbose THEN
        SELECT 'Resetting: setup_consumers' AS status;
    END IF;
    UPDATE performance_schema.setup_consumers
    SET ENABLED = IF(NAME LIKE '%history_long' OR NAME LIKE 'events_waits%' OR NAME LIKE 'events_stages%'
            OR NAME = 'events_statements_cpu', 'NO', 'YES');
    IF in_verbose THEN
        SELECT 'Resetting: setup_instruments' AS status;
    END IF;
    UPDATE performance_schema.setup_instruments
    SET ENABLED = sys.ps_is_instrument_default_enabled(NAME), TIMED = IF(TIMED IS NULL, NULL, ENABLED)
    WHERE ENABLED <> sys.ps_is_instrument_default_enabled(NAME);
    IF in_verbose THEN
        SELECT 'Resetting: threads' AS status;
    END IF;
    UPDATE performance_schema.threads SET INSTRUMENTED = 'YES', HISTORY = 'YES' WHERE 'NO' IN (INSTRUMENTED, HISTORY);
END;

CREATE PROCEDURE ps_truncate_all_tables (IN in_verbose BOOLEAN)
    NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Forgets what was collected: the summaries and histories of performance_schema.'
BEGIN
    DECLARE done BOOLEAN DEFAULT FALSE;
    DECLARE emptied INT DEFAULT 0;
    DECLARE kept BOOLEAN;
    DECLARE chosen VARCHAR(64);
    DECLARE found CURSOR FOR
        SELECT TABLE_NAME FROM information_schema.TABLES
        WHERE TABLE_SCHEMA = 'performance_schema'
            AND (TABLE_NAME LIKE '%summary%' OR TABLE_NAME LIKE '%history%')
        ORDER BY TABLE_NAME;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
    OPEN found;
    FETCH found INTO chosen;
    WHILE NOT done DO
        IF in_verbose THEN
            SELECT CONCAT('Running: TRUNCATE TABLE performance_schema.', chosen) AS status;
        END IF;
        SET @sys.statement = CONCAT('TRUNCATE TABLE performance_schema.', chosen);
        SET kept = FALSE;
        BEGIN
            DECLARE CONTINUE HANDLER FOR 1683 SET kept = TRUE;
            PREPARE truncation FROM @sys.statement;
            EXECUTE truncation;
            DEALLOCATE PREPARE truncation;
        END;
        SET emptied = emptied + IF(kept, 0, 1);
        FETCH found INTO chosen;
    END WHILE;
    CLOSE found;
    SET @sys.statement = NULL;
    SELECT CONCAT('Truncated ', emptied, ' tables') AS summary;
END;
