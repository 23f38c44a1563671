//! More of MySQL 8.4's virtual tables, several columns a line, separated by `; `. See [`super::tables`] for the rest of the format.

pub(super) const INFORMATION_SCHEMA: &str = "
COLUMNS_EXTENSIONS
 TABLE_CATALOG =s !; TABLE_SCHEMA =s !; TABLE_NAME =s !; COLUMN_NAME =n; ENGINE_ATTRIBUTE json; SECONDARY_ENGINE_ATTRIBUTE json
TABLES_EXTENSIONS
 TABLE_CATALOG =s !; TABLE_SCHEMA =s !; TABLE_NAME =s !; ENGINE_ATTRIBUTE json; SECONDARY_ENGINE_ATTRIBUTE json
TABLE_CONSTRAINTS_EXTENSIONS
 CONSTRAINT_CATALOG =s !; CONSTRAINT_SCHEMA =s !; CONSTRAINT_NAME =n !; TABLE_NAME =s !; ENGINE_ATTRIBUTE json; SECONDARY_ENGINE_ATTRIBUTE json
TABLESPACES_EXTENSIONS
 TABLESPACE_NAME varchar(268)~b !; ENGINE_ATTRIBUTE json
SCHEMATA_EXTENSIONS
 CATALOG_NAME =s !; SCHEMA_NAME =s !; OPTIONS varchar(256)
VIEW_ROUTINE_USAGE
 TABLE_CATALOG =s !; TABLE_SCHEMA =s !; TABLE_NAME =s !; SPECIFIC_CATALOG =s !; SPECIFIC_SCHEMA =s !; SPECIFIC_NAME =n !
VIEW_TABLE_USAGE
 VIEW_CATALOG =s !; VIEW_SCHEMA =s !; VIEW_NAME =s !; TABLE_CATALOG =s !; TABLE_SCHEMA =s !; TABLE_NAME =s !
RESOURCE_GROUPS
 RESOURCE_GROUP_NAME =n !; RESOURCE_GROUP_TYPE enum('SYSTEM','USER')~b !; RESOURCE_GROUP_ENABLED tinyint(1) !; VCPU_IDS blob; THREAD_PRIORITY =i !
ST_GEOMETRY_COLUMNS
 TABLE_CATALOG =s !; TABLE_SCHEMA =s !; TABLE_NAME =s !; COLUMN_NAME =n; SRS_NAME varchar(80); SRS_ID =w; GEOMETRY_TYPE_NAME longtext~b
ST_SPATIAL_REFERENCE_SYSTEMS
 SRS_NAME varchar(80) !; SRS_ID =w !; ORGANIZATION varchar(256); ORGANIZATION_COORDSYS_ID =w; DEFINITION varchar(4096)~b !; DESCRIPTION varchar(2048)~b
ST_UNITS_OF_MEASURE
 UNIT_NAME varchar(255)~4; UNIT_TYPE varchar(7)~4; CONVERSION_FACTOR double; DESCRIPTION varchar(255)~4
GANNET_RECOVERY
 PHASE varchar(16) !; STATE enum('waiting','running','done') !; UNIT varchar(16) !; UNITS_DONE =u !; UNITS_TOTAL =u !; PERCENT double !
 UNITS_PER_SECOND double !; SECONDS double !; ETA_SECONDS double
PROFILING
 QUERY_ID =i !0; SEQ =i !0; STATE varchar(30) !0; DURATION decimal(9,6) !0; CPU_USER decimal(9,6) 0; CPU_SYSTEM decimal(9,6) 0; CONTEXT_VOLUNTARY =i 0
 CONTEXT_INVOLUNTARY =i 0; BLOCK_OPS_IN =i 0; BLOCK_OPS_OUT =i 0; MESSAGES_SENT =i 0; MESSAGES_RECEIVED =i 0; PAGE_FAULTS_MAJOR =i 0; PAGE_FAULTS_MINOR =i 0
 SWAPS =i 0; SOURCE_FUNCTION varchar(30) 0; SOURCE_FILE varchar(20) 0; SOURCE_LINE =i 0
INNODB_TABLES
 TABLE_ID =u !; NAME varchar(655) !; FLAG =i !; N_COLS =i !; SPACE =b !; ROW_FORMAT varchar(12); ZIP_PAGE_SIZE =w !; SPACE_TYPE varchar(10)
 INSTANT_COLS =i !; TOTAL_ROW_VERSIONS =i !
INNODB_TABLESTATS
 TABLE_ID =u !; NAME varchar(193) !; STATS_INITIALIZED varchar(193) !; NUM_ROWS =u !; CLUST_INDEX_SIZE =u !; OTHER_INDEX_SIZE =u !
 MODIFIED_COUNTER =u !; AUTOINC =u !; REF_COUNT =i !
INNODB_COLUMNS
 TABLE_ID =u !; NAME varchar(193) !; POS =u !; MTYPE =i !; PRTYPE =i !; LEN =i !; HAS_DEFAULT =i !; DEFAULT_VALUE =m
INNODB_INDEXES
 INDEX_ID =u !; NAME varchar(193) !; TABLE_ID =u !; TYPE =i !; N_FIELDS =i !; PAGE_NO =i !; SPACE =i !; MERGE_THRESHOLD =i !
INNODB_FIELDS
 INDEX_ID =u; NAME =n !; POS =u !
INNODB_FOREIGN
 ID varchar(129); FOR_NAME varchar(129); REF_NAME varchar(129); N_COLS =b !; TYPE =u !
INNODB_FOREIGN_COLS
 ID varchar(129); FOR_COL_NAME =n !; REF_COL_NAME =n !; POS =w !
INNODB_VIRTUAL
 TABLE_ID =u !; POS =w !; BASE_POS =w !
INNODB_DATAFILES
 SPACE =b; PATH varchar(512) !
INNODB_TABLESPACES
 SPACE =w !; NAME varchar(655) !; FLAG =w !; ROW_FORMAT varchar(22); PAGE_SIZE =w !; ZIP_PAGE_SIZE =w !; SPACE_TYPE varchar(10); FS_BLOCK_SIZE =w !
 FILE_SIZE =u !; ALLOCATED_SIZE =u !; AUTOEXTEND_SIZE =u !; SERVER_VERSION varchar(10); SPACE_VERSION =w !; ENCRYPTION varchar(1); STATE varchar(10)
INNODB_TABLESPACES_BRIEF
 SPACE =b; NAME varchar(268) !; PATH varchar(512) !; FLAG =b; SPACE_TYPE varchar(7) !
INNODB_TEMP_TABLE_INFO
 TABLE_ID =u !; NAME =n; N_COLS =w !; SPACE =w !
INNODB_SESSION_TEMP_TABLESPACES
 ID =w !; SPACE =w !; PATH varchar(4001) !; SIZE =u !; STATE varchar(192) !; PURPOSE varchar(192) !
INNODB_METRICS
 NAME varchar(193) !; SUBSYSTEM varchar(193) !; COUNT =b !; MAX_COUNT =b; MIN_COUNT =b; AVG_COUNT float; COUNT_RESET =b !; MAX_COUNT_RESET =b
 MIN_COUNT_RESET =b; AVG_COUNT_RESET float; TIME_ENABLED =d; TIME_DISABLED =d; TIME_ELAPSED =b; TIME_RESET =d; STATUS varchar(193) !
 TYPE varchar(193) !; COMMENT varchar(193) !
INNODB_BUFFER_POOL_STATS
 POOL_ID =u !; POOL_SIZE =u !; FREE_BUFFERS =u !; DATABASE_PAGES =u !; OLD_DATABASE_PAGES =u !; MODIFIED_DATABASE_PAGES =u !; PENDING_DECOMPRESS =u !
 PENDING_READS =u !; PENDING_FLUSH_LRU =u !; PENDING_FLUSH_LIST =u !; PAGES_MADE_YOUNG =u !; PAGES_NOT_MADE_YOUNG =u !; PAGES_MADE_YOUNG_RATE float !
 PAGES_MADE_NOT_YOUNG_RATE float !; NUMBER_PAGES_READ =u !; NUMBER_PAGES_CREATED =u !; NUMBER_PAGES_WRITTEN =u !; PAGES_READ_RATE float !
 PAGES_CREATE_RATE float !; PAGES_WRITTEN_RATE float !; NUMBER_PAGES_GET =u !; HIT_RATE =u !; YOUNG_MAKE_PER_THOUSAND_GETS =u !
 NOT_YOUNG_MAKE_PER_THOUSAND_GETS =u !; NUMBER_PAGES_READ_AHEAD =u !; NUMBER_READ_AHEAD_EVICTED =u !; READ_AHEAD_RATE float !
 READ_AHEAD_EVICTED_RATE float !; LRU_IO_TOTAL =u !; LRU_IO_CURRENT =u !; UNCOMPRESS_TOTAL =u !; UNCOMPRESS_CURRENT =u !
INNODB_BUFFER_PAGE
 POOL_ID =u !; BLOCK_ID =u !; SPACE =u !; PAGE_NUMBER =u !; PAGE_TYPE =n; FLUSH_TYPE =u !; FIX_COUNT =u !; IS_HASHED =3; NEWEST_MODIFICATION =u !
 OLDEST_MODIFICATION =u !; ACCESS_TIME =u !; TABLE_NAME varchar(1024); INDEX_NAME varchar(1024); NUMBER_RECORDS =u !; DATA_SIZE =u !
 COMPRESSED_SIZE =u !; PAGE_STATE =n; IO_FIX =n; IS_OLD =3; FREE_PAGE_CLOCK =u !; IS_STALE =3
INNODB_BUFFER_PAGE_LRU
 POOL_ID =u !; LRU_POSITION =u !; SPACE =u !; PAGE_NUMBER =u !; PAGE_TYPE =n; FLUSH_TYPE =u !; FIX_COUNT =u !; IS_HASHED =3; NEWEST_MODIFICATION =u !
 OLDEST_MODIFICATION =u !; ACCESS_TIME =u !; TABLE_NAME varchar(1024); INDEX_NAME varchar(1024); NUMBER_RECORDS =u !; DATA_SIZE =u !
 COMPRESSED_SIZE =u !; COMPRESSED =3; IO_FIX =n; IS_OLD =3; FREE_PAGE_CLOCK =u !
INNODB_CACHED_INDEXES
 SPACE_ID =w !; INDEX_ID =u !; N_CACHED_PAGES =u !
INNODB_CMP
 page_size =i !; compress_ops =i !; compress_ops_ok =i !; compress_time =i !; uncompress_ops =i !; uncompress_time =i !
INNODB_CMP_RESET
 page_size =i !; compress_ops =i !; compress_ops_ok =i !; compress_time =i !; uncompress_ops =i !; uncompress_time =i !
INNODB_CMPMEM
 page_size =i !; buffer_pool_instance =i !; pages_used =i !; pages_free =i !; relocation_ops =b !; relocation_time =i !
INNODB_CMPMEM_RESET
 page_size =i !; buffer_pool_instance =i !; pages_used =i !; pages_free =i !; relocation_ops =b !; relocation_time =i !
INNODB_CMP_PER_INDEX
 database_name varchar(192) !; table_name varchar(192) !; index_name varchar(192) !; compress_ops =i !; compress_ops_ok =i !; compress_time =i !
 uncompress_ops =i !; uncompress_time =i !
INNODB_CMP_PER_INDEX_RESET
 database_name varchar(192) !; table_name varchar(192) !; index_name varchar(192) !; compress_ops =i !; compress_ops_ok =i !; compress_time =i !
 uncompress_ops =i !; uncompress_time =i !
INNODB_FT_CONFIG
 KEY varchar(193) !; VALUE varchar(193) !
INNODB_FT_DEFAULT_STOPWORD
 value varchar(18) !
INNODB_FT_DELETED
 DOC_ID =u !
INNODB_FT_BEING_DELETED
 DOC_ID =u !
INNODB_FT_INDEX_CACHE
 WORD varchar(337) !; FIRST_DOC_ID =u !; LAST_DOC_ID =u !; DOC_COUNT =u !; DOC_ID =u !; POSITION =u !
INNODB_FT_INDEX_TABLE
 WORD varchar(337) !; FIRST_DOC_ID =u !; LAST_DOC_ID =u !; DOC_COUNT =u !; DOC_ID =u !; POSITION =u !
";

pub(super) const PERFORMANCE_SCHEMA: &str = "
threads
 THREAD_ID =u !; NAME varchar(128) !; TYPE varchar(10) !; PROCESSLIST_ID =u; PROCESSLIST_USER varchar(32)~4b; PROCESSLIST_HOST varchar(255)~a; PROCESSLIST_DB =n
 PROCESSLIST_COMMAND varchar(16); PROCESSLIST_TIME =b; PROCESSLIST_STATE =n; PROCESSLIST_INFO =l; PARENT_THREAD_ID =u; ROLE =n
 INSTRUMENTED enum('YES','NO') !; HISTORY enum('YES','NO') !; CONNECTION_TYPE varchar(16); THREAD_OS_ID =u; RESOURCE_GROUP =n
 EXECUTION_ENGINE enum('PRIMARY','SECONDARY'); CONTROLLED_MEMORY =u !; MAX_CONTROLLED_MEMORY =u !; TOTAL_MEMORY =u !; MAX_TOTAL_MEMORY =u !
 TELEMETRY_ACTIVE enum('YES','NO') !
data_locks
 ENGINE varchar(32) !; ENGINE_LOCK_ID varchar(128) !; ENGINE_TRANSACTION_ID =u; THREAD_ID =u; EVENT_ID =u; OBJECT_SCHEMA =n; OBJECT_NAME =n
 PARTITION_NAME =n; SUBPARTITION_NAME =n; INDEX_NAME =n; OBJECT_INSTANCE_BEGIN =u !; LOCK_TYPE varchar(32) !; LOCK_MODE varchar(32) !
 LOCK_STATUS varchar(32) !; LOCK_DATA varchar(8192)
data_lock_waits
 ENGINE varchar(32) !; REQUESTING_ENGINE_LOCK_ID varchar(128) !; REQUESTING_ENGINE_TRANSACTION_ID =u; REQUESTING_THREAD_ID =u; REQUESTING_EVENT_ID =u
 REQUESTING_OBJECT_INSTANCE_BEGIN =u !; BLOCKING_ENGINE_LOCK_ID varchar(128) !; BLOCKING_ENGINE_TRANSACTION_ID =u; BLOCKING_THREAD_ID =u
 BLOCKING_EVENT_ID =u; BLOCKING_OBJECT_INSTANCE_BEGIN =u !
metadata_locks
 OBJECT_TYPE varchar(64) !; OBJECT_SCHEMA =n; OBJECT_NAME =n; COLUMN_NAME =n; OBJECT_INSTANCE_BEGIN =u !; LOCK_TYPE varchar(32) !
 LOCK_DURATION varchar(32) !; LOCK_STATUS varchar(32) !; SOURCE =n; OWNER_THREAD_ID =u; OWNER_EVENT_ID =u
setup_actors
 HOST char(255)~a !; USER char(32)~4b !; ROLE char(32)~4b !; ENABLED enum('YES','NO') !; HISTORY enum('YES','NO') !
setup_consumers
 NAME =n !; ENABLED enum('YES','NO') !
setup_instruments
 NAME varchar(128) !; ENABLED enum('YES','NO') !; TIMED enum('YES','NO'); PROPERTIES varchar(96) !; FLAGS varchar(96); VOLATILITY =i !; DOCUMENTATION =l
setup_objects
 OBJECT_TYPE enum('EVENT','FUNCTION','PROCEDURE','TABLE','TRIGGER') !; OBJECT_SCHEMA =n; OBJECT_NAME =n !; ENABLED enum('YES','NO') !; TIMED enum('YES','NO') !
setup_threads
 NAME varchar(128) !; ENABLED enum('YES','NO') !; HISTORY enum('YES','NO') !; PROPERTIES varchar(96) !; VOLATILITY =i !; DOCUMENTATION =l
accounts
 USER char(32)~4b; HOST char(255)~a; CURRENT_CONNECTIONS =b !; TOTAL_CONNECTIONS =b !; MAX_SESSION_CONTROLLED_MEMORY =u !; MAX_SESSION_TOTAL_MEMORY =u !
users
 USER char(32)~4b; CURRENT_CONNECTIONS =b !; TOTAL_CONNECTIONS =b !; MAX_SESSION_CONTROLLED_MEMORY =u !; MAX_SESSION_TOTAL_MEMORY =u !
hosts
 HOST char(255)~a; CURRENT_CONNECTIONS =b !; TOTAL_CONNECTIONS =b !; MAX_SESSION_CONTROLLED_MEMORY =u !; MAX_SESSION_TOTAL_MEMORY =u !
user_variables_by_thread
 THREAD_ID =u !; VARIABLE_NAME =n !; VARIABLE_VALUE longblob
keyring_keys
 KEY_ID varchar(255) !; KEY_OWNER varchar(255); BACKEND_KEY_ID varchar(255)
replication_connection_configuration
 CHANNEL_NAME char(64) !; HOST char(255)~a !; PORT =i !; USER char(32)~4b !; NETWORK_INTERFACE char(60) !; AUTO_POSITION enum('1','0') !
replication_connection_status
 CHANNEL_NAME char(64) !; GROUP_NAME char(36) !; SOURCE_UUID char(36) !; THREAD_ID =u; SERVICE_STATE enum('ON','OFF','CONNECTING') !
 COUNT_RECEIVED_HEARTBEATS =u !; LAST_HEARTBEAT_TIMESTAMP timestamp(6) !; RECEIVED_TRANSACTION_SET =l !; LAST_ERROR_NUMBER =i !
 LAST_ERROR_MESSAGE varchar(1024) !; LAST_ERROR_TIMESTAMP timestamp(6) !
replication_applier_status
 CHANNEL_NAME char(64) !; SERVICE_STATE enum('ON','OFF') !; REMAINING_DELAY =w; COUNT_TRANSACTIONS_RETRIES =u !
replication_group_members
 CHANNEL_NAME char(64) !; MEMBER_ID char(36) !; MEMBER_HOST char(255) !; MEMBER_PORT =i; MEMBER_STATE char(64) !; MEMBER_ROLE char(64) !
 MEMBER_VERSION char(64) !; MEMBER_COMMUNICATION_STACK char(64) !
clone_status
 ID =i; PID =i; STATE char(16); BEGIN_TIME timestamp(3); END_TIME timestamp(3); SOURCE varchar(512); DESTINATION varchar(512); ERROR_NO =i
 ERROR_MESSAGE varchar(512); BINLOG_FILE varchar(512); BINLOG_POSITION =b; GTID_EXECUTED varchar(4096)
";

/// Empty ones: what they would hold is not here, or not kept in tables.
pub(super) const MYSQL: &str = "
func
 name char(64) !; ret tinyint !; dl char(128) !; type enum('function','aggregate') !
plugin
 name =n !; dl varchar(128) !
servers
 Server_name char(64) !; Host char(255)~a !; Db char(64) !; Username char(64) !; Password char(64) !; Port =i !; Socket char(64) !
 Wrapper char(64) !; Owner char(64) !
component
 component_id =w !; component_group_id =w !; component_urn =m !
time_zone
 Time_zone_id =w !; Use_leap_seconds enum('Y','N') !
time_zone_leap_second
 Transition_time =b !; Correction =i !
time_zone_name
 Name char(64) !; Time_zone_id =w !
time_zone_transition
 Time_zone_id =w !; Transition_time =b !; Transition_type_id =w !
time_zone_transition_type
 Time_zone_id =w !; Transition_type_id =w !; Offset =i !; Is_DST tinyint unsigned !; Abbreviation char(8) !
help_topic
 help_topic_id =w !; name char(64) !; help_category_id smallint unsigned !; description =m !; example =m !; url =m !
help_category
 help_category_id smallint unsigned !; name char(64) !; parent_category_id smallint unsigned; url =m !
help_relation
 help_topic_id =w !; help_keyword_id =w !
help_keyword
 help_keyword_id =w !; name char(64) !
general_log
 event_time timestamp(6) !; user_host mediumtext !; thread_id =u !; server_id =w !; command_type =n !; argument mediumblob !
slow_log
 start_time timestamp(6) !; user_host mediumtext !; query_time time(6) !; lock_time time(6) !; rows_sent =i !; rows_examined =i !
 db varchar(512) !; last_insert_id =i !; insert_id =i !; server_id =w !; sql_text mediumblob !; thread_id =u !
gtid_executed
 source_uuid char(36) !; interval_start =b !; interval_end =b !; gtid_tag char(32) !
";
