//! The virtual tables' columns, as MySQL 8.4 declares them.
//!
//! A table's name stands at the beginning of a line; its columns follow, indented: name, type, `!` for NOT NULL, `0` for an empty
//! default (an empty text, or 0). A column of type `=N` repeats type N of [`SHORT`]. Behind a type `~` names the collation, where it
//! is not the schema's own: `b` utf8mb3_bin, `a` ascii_general_ci, `4` utf8mb4_0900_ai_ci, `4b` utf8mb4_bin.

/// Types that occur often.
pub(super) const SHORT: &[(&str, &str)] = &[
    ("=n", "varchar(64)"),
    ("=b", "bigint"),
    ("=u", "bigint unsigned"),
    ("=i", "int"),
    ("=w", "int unsigned"),
    ("=l", "longtext"),
    ("=3", "varchar(3)"),
    ("=0", "binary(0)"),
    ("=d", "datetime"),
    ("=t", "timestamp"),
    ("=a", "varchar(288)"),
    ("=m", "text"),
    ("=s", "varchar(64)~b"),
    (
        "=q",
        "set('REAL_AS_FLOAT','PIPES_AS_CONCAT','ANSI_QUOTES','IGNORE_SPACE','NOT_USED','ONLY_FULL_GROUP_BY','NO_UNSIGNED_SUBTRACTION','NO_DIR_IN_CREATE','NOT_USED_9','NOT_USED_10','NOT_USED_11','NOT_USED_12','NOT_USED_13','NOT_USED_14','NOT_USED_15','NOT_USED_16','NOT_USED_17','NOT_USED_18','ANSI','NO_AUTO_VALUE_ON_ZERO','NO_BACKSLASH_ESCAPES','STRICT_TRANS_TABLES','STRICT_ALL_TABLES','NO_ZERO_IN_DATE','NO_ZERO_DATE','ALLOW_INVALID_DATES','ERROR_FOR_DIVISION_BY_ZERO','TRADITIONAL','NOT_USED_29','HIGH_NOT_PRECEDENCE','NO_ENGINE_SUBSTITUTION','PAD_CHAR_TO_FULL_LENGTH','TIME_TRUNCATE_FRACTIONAL')~b",
    ),
];

pub(super) const INFORMATION_SCHEMA: &str = "
SCHEMATA
 CATALOG_NAME =s !
 SCHEMA_NAME =s !
 DEFAULT_CHARACTER_SET_NAME =n !
 DEFAULT_COLLATION_NAME =n !
 SQL_PATH =0
 DEFAULT_ENCRYPTION enum('NO','YES')~b !
TABLES
 TABLE_CATALOG =s !
 TABLE_SCHEMA =s !
 TABLE_NAME =s !
 TABLE_TYPE enum('BASE TABLE','VIEW','SYSTEM VIEW')~b !
 ENGINE =n
 VERSION =i
 ROW_FORMAT enum('Fixed','Dynamic','Compressed','Redundant','Compact','Paged')~b
 TABLE_ROWS =u
 AVG_ROW_LENGTH =u
 DATA_LENGTH =u
 MAX_DATA_LENGTH =u
 INDEX_LENGTH =u
 DATA_FREE =u
 AUTO_INCREMENT =u
 CREATE_TIME =t !
 UPDATE_TIME =d
 CHECK_TIME =d
 TABLE_COLLATION =n
 CHECKSUM =b
 CREATE_OPTIONS varchar(256)
 TABLE_COMMENT =m
COLUMNS
 TABLE_CATALOG =s !
 TABLE_SCHEMA =s !
 TABLE_NAME =s !
 COLUMN_NAME =n
 ORDINAL_POSITION =w !
 COLUMN_DEFAULT text~b
 IS_NULLABLE =3 !0
 DATA_TYPE longtext~b
 CHARACTER_MAXIMUM_LENGTH =b
 CHARACTER_OCTET_LENGTH =b
 NUMERIC_PRECISION =u
 NUMERIC_SCALE =u
 DATETIME_PRECISION =w
 CHARACTER_SET_NAME =n
 COLLATION_NAME =n
 COLUMN_TYPE mediumtext~b !
 COLUMN_KEY enum('','PRI','UNI','MUL')~b !
 EXTRA varchar(256)
 PRIVILEGES varchar(154)
 COLUMN_COMMENT text~b !
 GENERATION_EXPRESSION longtext~b !
 SRS_ID =w
STATISTICS
 TABLE_CATALOG =s !
 TABLE_SCHEMA =s !
 TABLE_NAME =s !
 NON_UNIQUE =i !0
 INDEX_SCHEMA =s !
 INDEX_NAME =n
 SEQ_IN_INDEX =w !
 COLUMN_NAME =n
 COLLATION varchar(1)
 CARDINALITY =b
 SUB_PART =b
 PACKED =0
 NULLABLE =3 !0
 INDEX_TYPE varchar(11)~b !0
 COMMENT varchar(8) !0
 INDEX_COMMENT varchar(2048)~b !
 IS_VISIBLE =3 !0
 EXPRESSION longtext~b
KEY_COLUMN_USAGE
 CONSTRAINT_CATALOG =s !
 CONSTRAINT_SCHEMA =s !
 CONSTRAINT_NAME =n
 TABLE_CATALOG =s !
 TABLE_SCHEMA =s !
 TABLE_NAME =s !
 COLUMN_NAME =n
 ORDINAL_POSITION =w !0
 POSITION_IN_UNIQUE_CONSTRAINT =w
 REFERENCED_TABLE_SCHEMA =s
 REFERENCED_TABLE_NAME =s
 REFERENCED_COLUMN_NAME =n
TABLE_CONSTRAINTS
 CONSTRAINT_CATALOG =s !
 CONSTRAINT_SCHEMA =s !
 CONSTRAINT_NAME =n
 TABLE_SCHEMA =s !
 TABLE_NAME =s !
 CONSTRAINT_TYPE varchar(11)~b !0
 ENFORCED =3~b !0
REFERENTIAL_CONSTRAINTS
 CONSTRAINT_CATALOG =s !
 CONSTRAINT_SCHEMA =s !
 CONSTRAINT_NAME =n
 UNIQUE_CONSTRAINT_CATALOG =s !
 UNIQUE_CONSTRAINT_SCHEMA =s !
 UNIQUE_CONSTRAINT_NAME =n
 MATCH_OPTION enum('NONE','PARTIAL','FULL')~b !
 UPDATE_RULE enum('NO ACTION','RESTRICT','CASCADE','SET NULL','SET DEFAULT')~b !
 DELETE_RULE enum('NO ACTION','RESTRICT','CASCADE','SET NULL','SET DEFAULT')~b !
 TABLE_NAME =s !
 REFERENCED_TABLE_NAME =s !
CHECK_CONSTRAINTS
 CONSTRAINT_CATALOG =s !
 CONSTRAINT_SCHEMA =s !
 CONSTRAINT_NAME =n !
 CHECK_CLAUSE longtext~b !
CHARACTER_SETS
 CHARACTER_SET_NAME =n !
 DEFAULT_COLLATE_NAME =n !
 DESCRIPTION varchar(2048) !
 MAXLEN =w !
COLLATIONS
 COLLATION_NAME =n !
 CHARACTER_SET_NAME =n !
 ID =u !0
 IS_DEFAULT =3 !0
 IS_COMPILED =3 !0
 SORTLEN =w !
 PAD_ATTRIBUTE enum('PAD SPACE','NO PAD')~b !
COLLATION_CHARACTER_SET_APPLICABILITY
 COLLATION_NAME =n !
 CHARACTER_SET_NAME =n !
ENGINES
 ENGINE =n !0
 SUPPORT varchar(8) !0
 COMMENT varchar(80) !0
 TRANSACTIONS =3 0
 XA =3 0
 SAVEPOINTS =3 0
PROCESSLIST
 ID =u !0
 USER varchar(32) !0
 HOST varchar(261) !0
 DB =n 0
 COMMAND varchar(16) !0
 TIME =i !0
 STATE =n 0
 INFO varchar(65535) 0
PLUGINS
 PLUGIN_NAME =n !0
 PLUGIN_VERSION varchar(20) !0
 PLUGIN_STATUS varchar(10) !0
 PLUGIN_TYPE varchar(80) !0
 PLUGIN_TYPE_VERSION varchar(20) !0
 PLUGIN_LIBRARY =n 0
 PLUGIN_LIBRARY_VERSION varchar(20) 0
 PLUGIN_AUTHOR =n 0
 PLUGIN_DESCRIPTION varchar(65535) 0
 PLUGIN_LICENSE varchar(80) 0
 LOAD_OPTION =n !0
APPLICABLE_ROLES
 USER varchar(97)
 HOST varchar(256)
 GRANTEE varchar(97)~4
 GRANTEE_HOST varchar(256)~4
 ROLE_NAME varchar(255)~4
 ROLE_HOST varchar(256)~4
 IS_GRANTABLE =3 !0
 IS_DEFAULT =3
 IS_MANDATORY =3 !0
ADMINISTRABLE_ROLE_AUTHORIZATIONS
 USER varchar(97)
 HOST varchar(256)
 GRANTEE varchar(97)~4
 GRANTEE_HOST varchar(256)~4
 ROLE_NAME varchar(255)~4
 ROLE_HOST varchar(256)~4
 IS_GRANTABLE =3 !0
 IS_DEFAULT =3
 IS_MANDATORY =3 !0
ENABLED_ROLES
 ROLE_NAME varchar(255)~4
 ROLE_HOST varchar(255)~4
 IS_DEFAULT =3
 IS_MANDATORY =3 !0
ROLE_TABLE_GRANTS
 GRANTOR varchar(97)
 GRANTOR_HOST varchar(256)
 GRANTEE char(32)~b !0
 GRANTEE_HOST char(255)~a !0
 TABLE_CATALOG =3 !0
 TABLE_SCHEMA char(64)~b !0
 TABLE_NAME char(64)~b !0
 PRIVILEGE_TYPE set('Select','Insert','Update','Delete','Create','Drop','Grant','References','Index','Alter','Create View','Show view','Trigger') !0
 IS_GRANTABLE =3 !0
ROLE_COLUMN_GRANTS
 GRANTOR varchar(97)
 GRANTOR_HOST varchar(256)
 GRANTEE char(32)~b !0
 GRANTEE_HOST char(255)~a !0
 TABLE_CATALOG =3 !0
 TABLE_SCHEMA char(64)~b !0
 TABLE_NAME char(64)~b !0
 COLUMN_NAME char(64)~b !0
 PRIVILEGE_TYPE set('Select','Insert','Update','References') !0
 IS_GRANTABLE =3 !0
ROLE_ROUTINE_GRANTS
 GRANTOR varchar(97)
 GRANTOR_HOST varchar(256)
 GRANTEE char(32)~b !0
 GRANTEE_HOST char(255)~a !0
 SPECIFIC_CATALOG =3 !0
 SPECIFIC_SCHEMA char(64)~b !0
 SPECIFIC_NAME char(64) !0
 ROUTINE_CATALOG =3 !0
 ROUTINE_SCHEMA char(64)~b !0
 ROUTINE_NAME char(64) !0
 PRIVILEGE_TYPE set('Execute','Alter Routine','Grant') !0
 IS_GRANTABLE =3 !0
USER_ATTRIBUTES
 USER char(32)~b !0
 HOST char(255)~a !0
 ATTRIBUTE longtext~4b
USER_PRIVILEGES
 GRANTEE varchar(292) !0
 TABLE_CATALOG varchar(512) !0
 PRIVILEGE_TYPE =n !0
 IS_GRANTABLE =3 !0
SCHEMA_PRIVILEGES
 GRANTEE varchar(292) !0
 TABLE_CATALOG varchar(512) !0
 TABLE_SCHEMA =n !0
 PRIVILEGE_TYPE =n !0
 IS_GRANTABLE =3 !0
TABLE_PRIVILEGES
 GRANTEE varchar(292) !0
 TABLE_CATALOG varchar(512) !0
 TABLE_SCHEMA =n !0
 TABLE_NAME =n !0
 PRIVILEGE_TYPE =n !0
 IS_GRANTABLE =3 !0
COLUMN_PRIVILEGES
 GRANTEE varchar(292) !0
 TABLE_CATALOG varchar(512) !0
 TABLE_SCHEMA =n !0
 TABLE_NAME =n !0
 COLUMN_NAME =n !0
 PRIVILEGE_TYPE =n !0
 IS_GRANTABLE =3 !0
VIEWS
 TABLE_CATALOG =s !
 TABLE_SCHEMA =s !
 TABLE_NAME =s !
 VIEW_DEFINITION longtext~b
 CHECK_OPTION enum('NONE','LOCAL','CASCADED')~b
 IS_UPDATABLE enum('NO','YES')~b
 DEFINER varchar(288)~b
 SECURITY_TYPE varchar(7)~b
 CHARACTER_SET_CLIENT =n !
 COLLATION_CONNECTION =n !
ROUTINES
 SPECIFIC_NAME =n !
 ROUTINE_CATALOG =s !
 ROUTINE_SCHEMA =s !
 ROUTINE_NAME =n !
 ROUTINE_TYPE enum('FUNCTION','PROCEDURE')~b !
 DATA_TYPE longtext~b
 CHARACTER_MAXIMUM_LENGTH =b
 CHARACTER_OCTET_LENGTH =b
 NUMERIC_PRECISION =w
 NUMERIC_SCALE =w
 DATETIME_PRECISION =w
 CHARACTER_SET_NAME =n
 COLLATION_NAME =n
 DTD_IDENTIFIER longtext~b
 ROUTINE_BODY varchar(8) !0
 ROUTINE_DEFINITION longtext~b
 EXTERNAL_NAME =0
 EXTERNAL_LANGUAGE =s !
 PARAMETER_STYLE =3 !0
 IS_DETERMINISTIC =3 !0
 SQL_DATA_ACCESS enum('CONTAINS SQL','NO SQL','READS SQL DATA','MODIFIES SQL DATA')~b !
 SQL_PATH =0
 SECURITY_TYPE enum('DEFAULT','INVOKER','DEFINER')~b !
 CREATED =t !
 LAST_ALTERED =t !
 SQL_MODE =q !
 ROUTINE_COMMENT text~b !
 DEFINER varchar(288)~b !
 CHARACTER_SET_CLIENT =n !
 COLLATION_CONNECTION =n !
 DATABASE_COLLATION =n !
PARAMETERS
 SPECIFIC_CATALOG =s !
 SPECIFIC_SCHEMA =s !
 SPECIFIC_NAME =n !
 ORDINAL_POSITION =u !0
 PARAMETER_MODE varchar(5)~b
 PARAMETER_NAME =n
 DATA_TYPE longtext~b
 CHARACTER_MAXIMUM_LENGTH =b
 CHARACTER_OCTET_LENGTH =b
 NUMERIC_PRECISION =w
 NUMERIC_SCALE =b
 DATETIME_PRECISION =w
 CHARACTER_SET_NAME =n
 COLLATION_NAME =n
 DTD_IDENTIFIER mediumtext~b !
 ROUTINE_TYPE enum('FUNCTION','PROCEDURE')~b !
TRIGGERS
 TRIGGER_CATALOG =s !
 TRIGGER_SCHEMA =s !
 TRIGGER_NAME =n !
 EVENT_MANIPULATION enum('INSERT','UPDATE','DELETE')~b !
 EVENT_OBJECT_CATALOG =s !
 EVENT_OBJECT_SCHEMA =s !
 EVENT_OBJECT_TABLE =s !
 ACTION_ORDER =w !
 ACTION_CONDITION =0
 ACTION_STATEMENT longtext~b !
 ACTION_ORIENTATION =3 !0
 ACTION_TIMING enum('BEFORE','AFTER')~b !
 ACTION_REFERENCE_OLD_TABLE =0
 ACTION_REFERENCE_NEW_TABLE =0
 ACTION_REFERENCE_OLD_ROW =3 !0
 ACTION_REFERENCE_NEW_ROW =3 !0
 CREATED timestamp(2) !
 SQL_MODE =q !
 DEFINER varchar(288)~b !
 CHARACTER_SET_CLIENT =n !
 COLLATION_CONNECTION =n !
 DATABASE_COLLATION =n !
EVENTS
 EVENT_CATALOG =s !
 EVENT_SCHEMA =s !
 EVENT_NAME =n !
 DEFINER varchar(288)~b !
 TIME_ZONE =s !
 EVENT_BODY =3 !0
 EVENT_DEFINITION longtext~b !
 EVENT_TYPE varchar(9) !0
 EXECUTE_AT =d
 INTERVAL_VALUE varchar(256)
 INTERVAL_FIELD enum('YEAR','QUARTER','MONTH','DAY','HOUR','MINUTE','WEEK','SECOND','MICROSECOND','YEAR_MONTH','DAY_HOUR','DAY_MINUTE','DAY_SECOND','HOUR_MINUTE','HOUR_SECOND','MINUTE_SECOND','DAY_MICROSECOND','HOUR_MICROSECOND','MINUTE_MICROSECOND','SECOND_MICROSECOND')~b
 SQL_MODE =q !
 STARTS =d
 ENDS =d
 STATUS varchar(21)~b !0
 ON_COMPLETION varchar(12) !0
 CREATED =t !
 LAST_ALTERED =t !
 LAST_EXECUTED =d
 EVENT_COMMENT varchar(2048)~b !
 ORIGINATOR =w !
 CHARACTER_SET_CLIENT =n !
 COLLATION_CONNECTION =n !
 DATABASE_COLLATION =n !
PARTITIONS
 TABLE_CATALOG =s !
 TABLE_SCHEMA =s !
 TABLE_NAME =s !
 PARTITION_NAME =n
 SUBPARTITION_NAME =n
 PARTITION_ORDINAL_POSITION =w
 SUBPARTITION_ORDINAL_POSITION =w
 PARTITION_METHOD varchar(13)
 SUBPARTITION_METHOD varchar(13)
 PARTITION_EXPRESSION varchar(2048)~b
 SUBPARTITION_EXPRESSION varchar(2048)~b
 PARTITION_DESCRIPTION text~b
 TABLE_ROWS =u
 AVG_ROW_LENGTH =u
 DATA_LENGTH =u
 MAX_DATA_LENGTH =u
 INDEX_LENGTH =u
 DATA_FREE =u
 CREATE_TIME =t !
 UPDATE_TIME =d
 CHECK_TIME =d
 CHECKSUM =b
 PARTITION_COMMENT text~b !
 NODEGROUP varchar(256)
 TABLESPACE_NAME varchar(268)~b
FILES
 FILE_ID =b
 FILE_NAME text~b
 FILE_TYPE varchar(256)
 TABLESPACE_NAME varchar(268)~b !
 TABLE_CATALOG char(0) !0
 TABLE_SCHEMA =0
 TABLE_NAME =0
 LOGFILE_GROUP_NAME varchar(256)
 LOGFILE_GROUP_NUMBER =b
 ENGINE =n !
 FULLTEXT_KEYS =0
 DELETED_ROWS =0
 UPDATE_COUNT =0
 FREE_EXTENTS =b
 TOTAL_EXTENTS =b
 EXTENT_SIZE =b
 INITIAL_SIZE =b
 MAXIMUM_SIZE =b
 AUTOEXTEND_SIZE =b
 CREATION_TIME =0
 LAST_UPDATE_TIME =0
 LAST_ACCESS_TIME =0
 RECOVER_TIME =0
 TRANSACTION_COUNTER =0
 VERSION =b
 ROW_FORMAT varchar(256)
 TABLE_ROWS =0
 AVG_ROW_LENGTH =0
 DATA_LENGTH =0
 MAX_DATA_LENGTH =0
 INDEX_LENGTH =0
 DATA_FREE =b
 CREATE_TIME =0
 UPDATE_TIME =0
 CHECK_TIME =0
 CHECKSUM =0
 STATUS varchar(256)
 EXTRA varchar(256)
COLUMN_STATISTICS
 SCHEMA_NAME =s !
 TABLE_NAME =s !
 COLUMN_NAME =n !
 HISTOGRAM json !
OPTIMIZER_TRACE
 QUERY varchar(65535) !0
 TRACE varchar(65535) !0
 MISSING_BYTES_BEYOND_MAX_MEM_SIZE =i !0
 INSUFFICIENT_PRIVILEGES tinyint(1) !0
INNODB_TRX
 trx_id =u !
 trx_state varchar(13) !
 trx_started =d !
 trx_requested_lock_id varchar(126)
 trx_wait_started =d
 trx_weight =u !
 trx_mysql_thread_id =u !
 trx_query varchar(1024)
 trx_operation_state =n
 trx_tables_in_use =u !
 trx_tables_locked =u !
 trx_lock_structs =u !
 trx_lock_memory_bytes =u !
 trx_rows_locked =u !
 trx_rows_modified =u !
 trx_concurrency_tickets =u !
 trx_isolation_level varchar(16) !
 trx_unique_checks =i !
 trx_foreign_key_checks =i !
 trx_last_foreign_key_error varchar(256)
 trx_adaptive_hash_latched =i !
 trx_adaptive_hash_timeout =u !
 trx_is_read_only =i !
 trx_autocommit_non_locking =i !
 trx_schedule_weight =u
KEYWORDS
 WORD varchar(128)~4
 RESERVED =i
";

pub(super) const PERFORMANCE_SCHEMA: &str = "
persisted_variables
 VARIABLE_NAME =n !
 VARIABLE_VALUE varchar(1024)
variables_info
 VARIABLE_NAME =n !
 VARIABLE_SOURCE enum('COMPILED','GLOBAL','SERVER','EXPLICIT','EXTRA','USER','LOGIN','COMMAND_LINE','PERSISTED','DYNAMIC')
 VARIABLE_PATH varchar(1024)
 MIN_VALUE =n
 MAX_VALUE =n
 SET_TIME timestamp(6)
 SET_USER char(32)~4b
 SET_HOST char(255)~a
events_statements_summary_by_digest
 SCHEMA_NAME =n
 DIGEST =n
 DIGEST_TEXT =l
 COUNT_STAR =u !
 SUM_TIMER_WAIT =u !
 MIN_TIMER_WAIT =u !
 AVG_TIMER_WAIT =u !
 MAX_TIMER_WAIT =u !
 SUM_LOCK_TIME =u !
 SUM_ERRORS =u !
 SUM_WARNINGS =u !
 SUM_ROWS_AFFECTED =u !
 SUM_ROWS_SENT =u !
 SUM_ROWS_EXAMINED =u !
 SUM_CREATED_TMP_DISK_TABLES =u !
 SUM_CREATED_TMP_TABLES =u !
 SUM_SELECT_FULL_JOIN =u !
 SUM_SELECT_FULL_RANGE_JOIN =u !
 SUM_SELECT_RANGE =u !
 SUM_SELECT_RANGE_CHECK =u !
 SUM_SELECT_SCAN =u !
 SUM_SORT_MERGE_PASSES =u !
 SUM_SORT_RANGE =u !
 SUM_SORT_ROWS =u !
 SUM_SORT_SCAN =u !
 SUM_NO_INDEX_USED =u !
 SUM_NO_GOOD_INDEX_USED =u !
 SUM_CPU_TIME =u !
 MAX_CONTROLLED_MEMORY =u !
 MAX_TOTAL_MEMORY =u !
 COUNT_SECONDARY =u !
 FIRST_SEEN timestamp(6) !
 LAST_SEEN timestamp(6) !
 QUANTILE_95 =u !
 QUANTILE_99 =u !
 QUANTILE_999 =u !
 QUERY_SAMPLE_TEXT =l
 QUERY_SAMPLE_SEEN timestamp(6) !
 QUERY_SAMPLE_TIMER_WAIT =u !
global_status
 VARIABLE_NAME =n !
 VARIABLE_VALUE varchar(1024)
session_status
 VARIABLE_NAME =n !
 VARIABLE_VALUE varchar(1024)
global_variables
 VARIABLE_NAME =n !
 VARIABLE_VALUE varchar(1024)
session_variables
 VARIABLE_NAME =n !
 VARIABLE_VALUE varchar(1024)
processlist
 ID =u !
 USER varchar(32)~4b
 HOST varchar(261)~a
 DB =n
 COMMAND varchar(16)
 TIME =b
 STATE =n
 INFO =l
 EXECUTION_ENGINE enum('PRIMARY','SECONDARY')
events_waits_summary_global_by_event_name
 EVENT_NAME varchar(128) !
 COUNT_STAR =u !
 SUM_TIMER_WAIT =u !
 MIN_TIMER_WAIT =u !
 AVG_TIMER_WAIT =u !
 MAX_TIMER_WAIT =u !
session_account_connect_attrs
 PROCESSLIST_ID =u !
 ATTR_NAME varchar(32) !
 ATTR_VALUE varchar(1024)
 ORDINAL_POSITION =i
session_connect_attrs
 PROCESSLIST_ID =u !
 ATTR_NAME varchar(32) !
 ATTR_VALUE varchar(1024)
 ORDINAL_POSITION =i
";

pub(super) const MYSQL: &str = "
db
 Host char(255)~a !0
 Db char(64)~b !0
 User char(32)~b !0
 Select_priv enum('N','Y') !0
 Insert_priv enum('N','Y') !0
 Update_priv enum('N','Y') !0
 Delete_priv enum('N','Y') !0
 Create_priv enum('N','Y') !0
 Drop_priv enum('N','Y') !0
 Grant_priv enum('N','Y') !0
 References_priv enum('N','Y') !0
 Index_priv enum('N','Y') !0
 Alter_priv enum('N','Y') !0
 Create_tmp_table_priv enum('N','Y') !0
 Lock_tables_priv enum('N','Y') !0
 Create_view_priv enum('N','Y') !0
 Show_view_priv enum('N','Y') !0
 Create_routine_priv enum('N','Y') !0
 Alter_routine_priv enum('N','Y') !0
 Execute_priv enum('N','Y') !0
 Event_priv enum('N','Y') !0
 Trigger_priv enum('N','Y') !0
tables_priv
 Host char(255)~a !0
 Db char(64)~b !0
 User char(32)~b !0
 Table_name char(64)~b !0
 Grantor varchar(288)~b !0
 Timestamp =t !
 Table_priv set('Select','Insert','Update','Delete','Create','Drop','Grant','References','Index','Alter','Create View','Show view','Trigger') !
 Column_priv set('Select','Insert','Update','References') !
columns_priv
 Host char(255)~a !0
 Db char(64)~b !0
 User char(32)~b !0
 Table_name char(64)~b !0
 Column_name char(64)~b !0
 Timestamp =t !
 Column_priv set('Select','Insert','Update','References') !
procs_priv
 Host char(255)~a !0
 Db char(64)~b !0
 User char(32)~b !0
 Routine_name char(64) !0
 Routine_type enum('FUNCTION','PROCEDURE') !
 Grantor varchar(288)~b !0
 Proc_priv set('Execute','Alter Routine','Grant') !
 Timestamp =t !
proxies_priv
 Host char(255)~a !0
 User char(32)~b !0
 Proxied_host char(255)~a !0
 Proxied_user char(32)~b !0
 With_grant tinyint !
 Grantor varchar(288)~b !0
 Timestamp =t !
innodb_table_stats
 database_name =s !
 table_name varchar(199)~b !
 last_update =t !
 n_rows =u !
 clustered_index_size =u !
 sum_of_other_index_sizes =u !
innodb_index_stats
 database_name =s !
 table_name varchar(199)~b !
 index_name =s !
 last_update =t !
 stat_name =s !
 stat_value =u !
 sample_size =u
 stat_description varchar(1024)~b !
role_edges
 FROM_HOST char(255)~a !0
 FROM_USER char(32)~b !0
 TO_HOST char(255)~a !0
 TO_USER char(32)~b !0
 WITH_ADMIN_OPTION enum('N','Y') !0
default_roles
 HOST char(255)~a !0
 USER char(32)~b !0
 DEFAULT_ROLE_HOST char(255)~a !0
 DEFAULT_ROLE_USER char(32)~b !0
global_grants
 USER char(32)~b !0
 HOST char(255)~a !0
 PRIV char(32) !
 WITH_GRANT_OPTION enum('N','Y') !0
password_history
 Host char(255)~a !0
 User char(32)~b !0
 Password_timestamp timestamp(6) !
 Password text~b
user
 Host char(255)~a !0
 User char(32)~b !0
 Select_priv enum('N','Y') !0
 Insert_priv enum('N','Y') !0
 Update_priv enum('N','Y') !0
 Delete_priv enum('N','Y') !0
 Create_priv enum('N','Y') !0
 Drop_priv enum('N','Y') !0
 Reload_priv enum('N','Y') !0
 Shutdown_priv enum('N','Y') !0
 Process_priv enum('N','Y') !0
 File_priv enum('N','Y') !0
 Grant_priv enum('N','Y') !0
 References_priv enum('N','Y') !0
 Index_priv enum('N','Y') !0
 Alter_priv enum('N','Y') !0
 Show_db_priv enum('N','Y') !0
 Super_priv enum('N','Y') !0
 Create_tmp_table_priv enum('N','Y') !0
 Lock_tables_priv enum('N','Y') !0
 Execute_priv enum('N','Y') !0
 Repl_slave_priv enum('N','Y') !0
 Repl_client_priv enum('N','Y') !0
 Create_view_priv enum('N','Y') !0
 Show_view_priv enum('N','Y') !0
 Create_routine_priv enum('N','Y') !0
 Alter_routine_priv enum('N','Y') !0
 Create_user_priv enum('N','Y') !0
 Event_priv enum('N','Y') !0
 Trigger_priv enum('N','Y') !0
 Create_tablespace_priv enum('N','Y') !0
 ssl_type enum('','ANY','X509','SPECIFIED') !
 ssl_cipher blob !
 x509_issuer blob !
 x509_subject blob !
 max_questions =w !0
 max_updates =w !0
 max_connections =w !0
 max_user_connections =w !0
 plugin char(64)~b !0
 authentication_string text~b
 password_expired enum('N','Y') !0
 password_last_changed =t
 password_lifetime smallint unsigned
 account_locked enum('N','Y') !0
 Create_role_priv enum('N','Y') !0
 Drop_role_priv enum('N','Y') !0
 Password_reuse_history smallint unsigned
 Password_reuse_time smallint unsigned
 Password_require_current enum('N','Y')
 User_attributes json
";
