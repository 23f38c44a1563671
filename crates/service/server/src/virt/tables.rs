//! The virtual tables' columns, as MySQL 8.4 declares them.
//!
//! A table's name stands at the beginning of a line; its columns follow, indented: name, type, `!` for NOT NULL. A column
//! of type `=N` repeats type N of [`SHORT`].

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
];

pub(super) const INFORMATION_SCHEMA: &str = "
SCHEMATA
 CATALOG_NAME =n
 SCHEMA_NAME =n
 DEFAULT_CHARACTER_SET_NAME =n !
 DEFAULT_COLLATION_NAME =n !
 SQL_PATH =0
 DEFAULT_ENCRYPTION enum('NO','YES') !
TABLES
 TABLE_CATALOG =n
 TABLE_SCHEMA =n
 TABLE_NAME =n
 TABLE_TYPE enum('BASE TABLE','VIEW','SYSTEM VIEW') !
 ENGINE =n
 VERSION =i
 ROW_FORMAT enum('Fixed','Dynamic','Compressed','Redundant','Compact','Paged')
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
 TABLE_CATALOG =n
 TABLE_SCHEMA =n
 TABLE_NAME =n
 COLUMN_NAME =n
 ORDINAL_POSITION =w !
 COLUMN_DEFAULT =m
 IS_NULLABLE =3 !
 DATA_TYPE =l
 CHARACTER_MAXIMUM_LENGTH =b
 CHARACTER_OCTET_LENGTH =b
 NUMERIC_PRECISION =u
 NUMERIC_SCALE =u
 DATETIME_PRECISION =w
 CHARACTER_SET_NAME =n
 COLLATION_NAME =n
 COLUMN_TYPE mediumtext !
 COLUMN_KEY enum('','PRI','UNI','MUL') !
 EXTRA varchar(256)
 PRIVILEGES varchar(154)
 COLUMN_COMMENT =m !
 GENERATION_EXPRESSION =l !
 SRS_ID =w
STATISTICS
 TABLE_CATALOG =n
 TABLE_SCHEMA =n
 TABLE_NAME =n
 NON_UNIQUE =i !
 INDEX_SCHEMA =n
 INDEX_NAME =n
 SEQ_IN_INDEX =w !
 COLUMN_NAME =n
 COLLATION varchar(1)
 CARDINALITY =b
 SUB_PART =b
 PACKED =0
 NULLABLE =3 !
 INDEX_TYPE varchar(11) !
 COMMENT varchar(8) !
 INDEX_COMMENT varchar(2048) !
 IS_VISIBLE =3 !
 EXPRESSION =l
KEY_COLUMN_USAGE
 CONSTRAINT_CATALOG =n
 CONSTRAINT_SCHEMA =n
 CONSTRAINT_NAME =n
 TABLE_CATALOG =n
 TABLE_SCHEMA =n
 TABLE_NAME =n
 COLUMN_NAME =n
 ORDINAL_POSITION =w !
 POSITION_IN_UNIQUE_CONSTRAINT =w
 REFERENCED_TABLE_SCHEMA =n
 REFERENCED_TABLE_NAME =n
 REFERENCED_COLUMN_NAME =n
TABLE_CONSTRAINTS
 CONSTRAINT_CATALOG =n
 CONSTRAINT_SCHEMA =n
 CONSTRAINT_NAME =n
 TABLE_SCHEMA =n
 TABLE_NAME =n
 CONSTRAINT_TYPE varchar(11) !
 ENFORCED =3 !
REFERENTIAL_CONSTRAINTS
 CONSTRAINT_CATALOG =n
 CONSTRAINT_SCHEMA =n
 CONSTRAINT_NAME =n
 UNIQUE_CONSTRAINT_CATALOG =n
 UNIQUE_CONSTRAINT_SCHEMA =n
 UNIQUE_CONSTRAINT_NAME =n
 MATCH_OPTION enum('NONE','PARTIAL','FULL') !
 UPDATE_RULE enum('NO ACTION','RESTRICT','CASCADE','SET NULL','SET DEFAULT') !
 DELETE_RULE enum('NO ACTION','RESTRICT','CASCADE','SET NULL','SET DEFAULT') !
 TABLE_NAME =n
 REFERENCED_TABLE_NAME =n
CHECK_CONSTRAINTS
 CONSTRAINT_CATALOG =n
 CONSTRAINT_SCHEMA =n
 CONSTRAINT_NAME =n
 CHECK_CLAUSE =l !
CHARACTER_SETS
 CHARACTER_SET_NAME =n !
 DEFAULT_COLLATE_NAME =n !
 DESCRIPTION varchar(2048) !
 MAXLEN =w !
COLLATIONS
 COLLATION_NAME =n !
 CHARACTER_SET_NAME =n !
 ID =u !
 IS_DEFAULT =3 !
 IS_COMPILED =3 !
 SORTLEN =w !
 PAD_ATTRIBUTE enum('PAD SPACE','NO PAD') !
COLLATION_CHARACTER_SET_APPLICABILITY
 COLLATION_NAME =n !
 CHARACTER_SET_NAME =n !
ENGINES
 ENGINE =n !
 SUPPORT varchar(8) !
 COMMENT varchar(80) !
 TRANSACTIONS =3
 XA =3
 SAVEPOINTS =3
PROCESSLIST
 ID =u !
 USER varchar(32) !
 HOST varchar(261) !
 DB =n
 COMMAND varchar(16) !
 TIME =i !
 STATE =n
 INFO =l
PLUGINS
 PLUGIN_NAME =n !
 PLUGIN_VERSION varchar(20) !
 PLUGIN_STATUS varchar(10) !
 PLUGIN_TYPE varchar(80) !
 PLUGIN_TYPE_VERSION varchar(20) !
 PLUGIN_LIBRARY =n
 PLUGIN_LIBRARY_VERSION varchar(20)
 PLUGIN_AUTHOR =n
 PLUGIN_DESCRIPTION =l
 PLUGIN_LICENSE varchar(80)
 LOAD_OPTION =n !
APPLICABLE_ROLES
 USER varchar(97)
 HOST varchar(256)
 GRANTEE varchar(97)
 GRANTEE_HOST varchar(256)
 ROLE_NAME varchar(255)
 ROLE_HOST varchar(256)
 IS_GRANTABLE =3 !
 IS_DEFAULT =3
 IS_MANDATORY =3 !
ADMINISTRABLE_ROLE_AUTHORIZATIONS
 USER varchar(97)
 HOST varchar(256)
 GRANTEE varchar(97)
 GRANTEE_HOST varchar(256)
 ROLE_NAME varchar(255)
 ROLE_HOST varchar(256)
 IS_GRANTABLE =3 !
 IS_DEFAULT =3
 IS_MANDATORY =3 !
ENABLED_ROLES
 ROLE_NAME varchar(255)
 ROLE_HOST varchar(255)
 IS_DEFAULT =3
 IS_MANDATORY =3 !
ROLE_TABLE_GRANTS
 GRANTOR varchar(97)
 GRANTOR_HOST varchar(256)
 GRANTEE char(32) !
 GRANTEE_HOST char(255) !
 TABLE_CATALOG =3 !
 TABLE_SCHEMA char(64) !
 TABLE_NAME char(64) !
 PRIVILEGE_TYPE set('Select','Insert','Update','Delete','Create','Drop','Grant','References','Index','Alter','Create View','Show view','Trigger') !
 IS_GRANTABLE =3 !
ROLE_COLUMN_GRANTS
 GRANTOR varchar(97)
 GRANTOR_HOST varchar(256)
 GRANTEE char(32) !
 GRANTEE_HOST char(255) !
 TABLE_CATALOG =3 !
 TABLE_SCHEMA char(64) !
 TABLE_NAME char(64) !
 COLUMN_NAME char(64) !
 PRIVILEGE_TYPE set('Select','Insert','Update','References') !
 IS_GRANTABLE =3 !
ROLE_ROUTINE_GRANTS
 GRANTOR varchar(97)
 GRANTOR_HOST varchar(256)
 GRANTEE char(32) !
 GRANTEE_HOST char(255) !
 SPECIFIC_CATALOG =3 !
 SPECIFIC_SCHEMA char(64) !
 SPECIFIC_NAME char(64) !
 ROUTINE_CATALOG =3 !
 ROUTINE_SCHEMA char(64) !
 ROUTINE_NAME char(64) !
 PRIVILEGE_TYPE set('Execute','Alter Routine','Grant') !
 IS_GRANTABLE =3 !
USER_ATTRIBUTES
 USER char(32) !
 HOST char(255) !
 ATTRIBUTE =l
USER_PRIVILEGES
 GRANTEE varchar(292) !
 TABLE_CATALOG varchar(512) !
 PRIVILEGE_TYPE =n !
 IS_GRANTABLE =3 !
SCHEMA_PRIVILEGES
 GRANTEE varchar(292) !
 TABLE_CATALOG varchar(512) !
 TABLE_SCHEMA =n !
 PRIVILEGE_TYPE =n !
 IS_GRANTABLE =3 !
TABLE_PRIVILEGES
 GRANTEE varchar(292) !
 TABLE_CATALOG varchar(512) !
 TABLE_SCHEMA =n !
 TABLE_NAME =n !
 PRIVILEGE_TYPE =n !
 IS_GRANTABLE =3 !
COLUMN_PRIVILEGES
 GRANTEE varchar(292) !
 TABLE_CATALOG varchar(512) !
 TABLE_SCHEMA =n !
 TABLE_NAME =n !
 COLUMN_NAME =n !
 PRIVILEGE_TYPE =n !
 IS_GRANTABLE =3 !
VIEWS
 TABLE_CATALOG =n
 TABLE_SCHEMA =n
 TABLE_NAME =n
 VIEW_DEFINITION =l
 CHECK_OPTION enum('NONE','LOCAL','CASCADED')
 IS_UPDATABLE enum('NO','YES')
 DEFINER =a
 SECURITY_TYPE varchar(7)
 CHARACTER_SET_CLIENT =n !
 COLLATION_CONNECTION =n !
ROUTINES
 SPECIFIC_NAME =n !
 ROUTINE_CATALOG =n
 ROUTINE_SCHEMA =n
 ROUTINE_NAME =n !
 ROUTINE_TYPE enum('FUNCTION','PROCEDURE') !
 DATA_TYPE =l
 CHARACTER_MAXIMUM_LENGTH =b
 CHARACTER_OCTET_LENGTH =b
 NUMERIC_PRECISION =w
 NUMERIC_SCALE =w
 DATETIME_PRECISION =w
 CHARACTER_SET_NAME =n
 COLLATION_NAME =n
 DTD_IDENTIFIER =l
 ROUTINE_BODY varchar(8) !
 ROUTINE_DEFINITION =l
 EXTERNAL_NAME =0
 EXTERNAL_LANGUAGE =n !
 PARAMETER_STYLE =3 !
 IS_DETERMINISTIC =3 !
 SQL_DATA_ACCESS enum('CONTAINS SQL','NO SQL','READS SQL DATA','MODIFIES SQL DATA') !
 SQL_PATH =0
 SECURITY_TYPE enum('DEFAULT','INVOKER','DEFINER') !
 CREATED =t !
 LAST_ALTERED =t !
 SQL_MODE varchar(520) !
 ROUTINE_COMMENT =m !
 DEFINER =a !
 CHARACTER_SET_CLIENT =n !
 COLLATION_CONNECTION =n !
 DATABASE_COLLATION =n !
PARAMETERS
 SPECIFIC_CATALOG =n
 SPECIFIC_SCHEMA =n
 SPECIFIC_NAME =n !
 ORDINAL_POSITION =u !
 PARAMETER_MODE varchar(5)
 PARAMETER_NAME =n
 DATA_TYPE =l
 CHARACTER_MAXIMUM_LENGTH =b
 CHARACTER_OCTET_LENGTH =b
 NUMERIC_PRECISION =w
 NUMERIC_SCALE =b
 DATETIME_PRECISION =w
 CHARACTER_SET_NAME =n
 COLLATION_NAME =n
 DTD_IDENTIFIER mediumtext !
 ROUTINE_TYPE enum('FUNCTION','PROCEDURE') !
TRIGGERS
 TRIGGER_CATALOG =n
 TRIGGER_SCHEMA =n
 TRIGGER_NAME =n !
 EVENT_MANIPULATION enum('INSERT','UPDATE','DELETE') !
 EVENT_OBJECT_CATALOG =n
 EVENT_OBJECT_SCHEMA =n
 EVENT_OBJECT_TABLE =n
 ACTION_ORDER =w !
 ACTION_CONDITION =0
 ACTION_STATEMENT =l !
 ACTION_ORIENTATION =3 !
 ACTION_TIMING enum('BEFORE','AFTER') !
 ACTION_REFERENCE_OLD_TABLE =0
 ACTION_REFERENCE_NEW_TABLE =0
 ACTION_REFERENCE_OLD_ROW =3 !
 ACTION_REFERENCE_NEW_ROW =3 !
 CREATED timestamp(2) !
 SQL_MODE varchar(520) !
 DEFINER =a !
 CHARACTER_SET_CLIENT =n !
 COLLATION_CONNECTION =n !
 DATABASE_COLLATION =n !
EVENTS
 EVENT_CATALOG =n
 EVENT_SCHEMA =n
 EVENT_NAME =n !
 DEFINER =a !
 TIME_ZONE =n !
 EVENT_BODY =3 !
 EVENT_DEFINITION =l !
 EVENT_TYPE varchar(9) !
 EXECUTE_AT =d
 INTERVAL_VALUE varchar(256)
 INTERVAL_FIELD varchar(18)
 SQL_MODE varchar(520) !
 STARTS =d
 ENDS =d
 STATUS varchar(21) !
 ON_COMPLETION varchar(12) !
 CREATED =t !
 LAST_ALTERED =t !
 LAST_EXECUTED =d
 EVENT_COMMENT varchar(2048) !
 ORIGINATOR =w !
 CHARACTER_SET_CLIENT =n !
 COLLATION_CONNECTION =n !
 DATABASE_COLLATION =n !
PARTITIONS
 TABLE_CATALOG =n
 TABLE_SCHEMA =n
 TABLE_NAME =n
 PARTITION_NAME =n
 SUBPARTITION_NAME =n
 PARTITION_ORDINAL_POSITION =w
 SUBPARTITION_ORDINAL_POSITION =w
 PARTITION_METHOD varchar(13)
 SUBPARTITION_METHOD varchar(13)
 PARTITION_EXPRESSION varchar(2048)
 SUBPARTITION_EXPRESSION varchar(2048)
 PARTITION_DESCRIPTION =m
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
 PARTITION_COMMENT =m !
 NODEGROUP varchar(256)
 TABLESPACE_NAME varchar(268)
FILES
 FILE_ID =b
 FILE_NAME =m
 FILE_TYPE varchar(256)
 TABLESPACE_NAME varchar(268) !
 TABLE_CATALOG char(0) !
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
 SCHEMA_NAME =n !
 TABLE_NAME =n !
 COLUMN_NAME =n !
 HISTOGRAM json !
OPTIMIZER_TRACE
 QUERY =l !
 TRACE =l !
 MISSING_BYTES_BEYOND_MAX_MEM_SIZE =i !
 INSUFFICIENT_PRIVILEGES tinyint !
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
 WORD varchar(128)
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
 SET_USER char(32)
 SET_HOST char(255)
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
 USER varchar(32)
 HOST varchar(261)
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
 Host char(255) !
 Db char(64) !
 User char(32) !
 Select_priv enum('N','Y') !
 Insert_priv enum('N','Y') !
 Update_priv enum('N','Y') !
 Delete_priv enum('N','Y') !
 Create_priv enum('N','Y') !
 Drop_priv enum('N','Y') !
 Grant_priv enum('N','Y') !
 References_priv enum('N','Y') !
 Index_priv enum('N','Y') !
 Alter_priv enum('N','Y') !
 Create_tmp_table_priv enum('N','Y') !
 Lock_tables_priv enum('N','Y') !
 Create_view_priv enum('N','Y') !
 Show_view_priv enum('N','Y') !
 Create_routine_priv enum('N','Y') !
 Alter_routine_priv enum('N','Y') !
 Execute_priv enum('N','Y') !
 Event_priv enum('N','Y') !
 Trigger_priv enum('N','Y') !
tables_priv
 Host char(255) !
 Db char(64) !
 User char(32) !
 Table_name char(64) !
 Grantor varchar(288) !
 Timestamp =t !
 Table_priv set('Select','Insert','Update','Delete','Create','Drop','Grant','References','Index','Alter','Create View','Show view','Trigger') !
 Column_priv set('Select','Insert','Update','References') !
columns_priv
 Host char(255) !
 Db char(64) !
 User char(32) !
 Table_name char(64) !
 Column_name char(64) !
 Timestamp =t !
 Column_priv set('Select','Insert','Update','References') !
procs_priv
 Host char(255) !
 Db char(64) !
 User char(32) !
 Routine_name char(64) !
 Routine_type enum('FUNCTION','PROCEDURE') !
 Grantor varchar(288) !
 Proc_priv set('Execute','Alter Routine','Grant') !
 Timestamp =t !
proxies_priv
 Host char(255) !
 User char(32) !
 Proxied_host char(255) !
 Proxied_user char(32) !
 With_grant tinyint !
 Grantor varchar(288) !
 Timestamp =t !
innodb_table_stats
 database_name =n !
 table_name varchar(199) !
 last_update =t !
 n_rows =u !
 clustered_index_size =u !
 sum_of_other_index_sizes =u !
innodb_index_stats
 database_name =n !
 table_name varchar(199) !
 index_name =n !
 last_update =t !
 stat_name =n !
 stat_value =u !
 sample_size =u
 stat_description varchar(1024) !
role_edges
 FROM_HOST char(255) !
 FROM_USER char(32) !
 TO_HOST char(255) !
 TO_USER char(32) !
 WITH_ADMIN_OPTION enum('N','Y') !
default_roles
 HOST char(255) !
 USER char(32) !
 DEFAULT_ROLE_HOST char(255) !
 DEFAULT_ROLE_USER char(32) !
global_grants
 USER char(32) !
 HOST char(255) !
 PRIV char(32) !
 WITH_GRANT_OPTION enum('N','Y') !
password_history
 Host char(255) !
 User char(32) !
 Password_timestamp timestamp(6) !
 Password =m
help_topic
 help_topic_id =w !
 name char(64) !
 help_category_id smallint !
 description =m !
 example =m !
 url =m !
help_category
 help_category_id smallint !
 name char(64) !
 parent_category_id smallint
 url =m !
help_keyword
 help_keyword_id =w !
 name char(64) !
help_relation
 help_topic_id =w !
 help_keyword_id =w !
user
 Host char(255) !
 User char(32) !
 Select_priv enum('N','Y') !
 Insert_priv enum('N','Y') !
 Update_priv enum('N','Y') !
 Delete_priv enum('N','Y') !
 Create_priv enum('N','Y') !
 Drop_priv enum('N','Y') !
 Reload_priv enum('N','Y') !
 Shutdown_priv enum('N','Y') !
 Process_priv enum('N','Y') !
 File_priv enum('N','Y') !
 Grant_priv enum('N','Y') !
 References_priv enum('N','Y') !
 Index_priv enum('N','Y') !
 Alter_priv enum('N','Y') !
 Show_db_priv enum('N','Y') !
 Super_priv enum('N','Y') !
 Create_tmp_table_priv enum('N','Y') !
 Lock_tables_priv enum('N','Y') !
 Execute_priv enum('N','Y') !
 Repl_slave_priv enum('N','Y') !
 Repl_client_priv enum('N','Y') !
 Create_view_priv enum('N','Y') !
 Show_view_priv enum('N','Y') !
 Create_routine_priv enum('N','Y') !
 Alter_routine_priv enum('N','Y') !
 Create_user_priv enum('N','Y') !
 Event_priv enum('N','Y') !
 Trigger_priv enum('N','Y') !
 Create_tablespace_priv enum('N','Y') !
 ssl_type enum('','ANY','X509','SPECIFIED') !
 ssl_cipher blob !
 x509_issuer blob !
 x509_subject blob !
 max_questions =w !
 max_updates =w !
 max_connections =w !
 max_user_connections =w !
 plugin char(64) !
 authentication_string =m
 password_expired enum('N','Y') !
 password_last_changed =t
 password_lifetime smallint
 account_locked enum('N','Y') !
 Create_role_priv enum('N','Y') !
 Drop_role_priv enum('N','Y') !
 Password_reuse_history smallint
 Password_reuse_time smallint
 Password_require_current enum('N','Y')
 User_attributes json
component
 component_id =w !
 component_group_id =w !
 component_urn =m !
";
