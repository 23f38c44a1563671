-- The table of settings, its triggers, its first rows. Each is made where it is missing.

CREATE TABLE IF NOT EXISTS sys.sys_config (
    variable VARCHAR(128) NOT NULL PRIMARY KEY,
    value VARCHAR(128),
    set_time TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    set_by VARCHAR(128)
);
INSERT IGNORE INTO sys.sys_config (variable, value) VALUES
    ('diagnostics.allow_i_s_tables', 'OFF'),
    ('diagnostics.include_raw', 'OFF'),
    ('ps_thread_trx_info.max_length', '65535'),
    ('statement_performance_analyzer.limit', '100'),
    ('statement_performance_analyzer.view', NULL),
    ('statement_truncate_len', '64');
CREATE DEFINER = 'mysql.sys'@'localhost' TRIGGER IF NOT EXISTS sys.sys_config_insert_set_user
    BEFORE INSERT ON sys.sys_config FOR EACH ROW
    SET NEW.set_by = IF(@sys.ignore_sys_config_triggers <=> TRUE, NEW.set_by, USER());
CREATE DEFINER = 'mysql.sys'@'localhost' TRIGGER IF NOT EXISTS sys.sys_config_update_set_user
    BEFORE UPDATE ON sys.sys_config FOR EACH ROW
    SET NEW.set_by = IF(@sys.ignore_sys_config_triggers <=> TRUE, NEW.set_by, USER());
