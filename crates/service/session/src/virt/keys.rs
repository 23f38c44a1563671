//! The keys of the tables of `mysql` and `performance_schema`, as MySQL shows them. No row is found by them: rows are
//! made when they are asked for.

use gannet_schema::{Index, IndexKind, IndexPart, Method, RowSource, Table};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// `schema.table`, and its keys with their columns; `!` marks what is unique beside PRIMARY.
const KEYS: &str = "\
mysql.columns_priv PRIMARY(Host,User,Db,Table_name,Column_name)
mysql.component PRIMARY(component_id)
mysql.db PRIMARY(Host,User,Db) User(User)
mysql.default_roles PRIMARY(HOST,USER,DEFAULT_ROLE_HOST,DEFAULT_ROLE_USER)
mysql.func PRIMARY(name)
mysql.global_grants PRIMARY(USER,HOST,PRIV)
mysql.gtid_executed PRIMARY(source_uuid,gtid_tag,interval_start)
mysql.help_category PRIMARY(help_category_id) !name(name)
mysql.help_keyword PRIMARY(help_keyword_id) !name(name)
mysql.help_relation PRIMARY(help_keyword_id,help_topic_id)
mysql.help_topic PRIMARY(help_topic_id) !name(name)
mysql.innodb_index_stats PRIMARY(database_name,table_name,index_name,stat_name)
mysql.innodb_table_stats PRIMARY(database_name,table_name)
mysql.password_history PRIMARY(Host,User,Password_timestamp)
mysql.plugin PRIMARY(name)
mysql.procs_priv PRIMARY(Host,User,Db,Routine_name,Routine_type) Grantor(Grantor)
mysql.proxies_priv PRIMARY(Host,User,Proxied_host,Proxied_user) Grantor(Grantor)
mysql.replication_asynchronous_connection_failover
+ PRIMARY(Channel_name,Host,Port,Network_namespace,Managed_name) Channel_name(Channel_name,Managed_name)
mysql.replication_asynchronous_connection_failover_managed PRIMARY(Channel_name,Managed_name)
mysql.role_edges PRIMARY(FROM_HOST,FROM_USER,TO_HOST,TO_USER)
mysql.servers PRIMARY(Server_name)
mysql.slave_master_info PRIMARY(Channel_name)
mysql.slave_relay_log_info PRIMARY(Channel_name)
mysql.slave_worker_info PRIMARY(Channel_name,Id)
mysql.tables_priv PRIMARY(Host,User,Db,Table_name) Grantor(Grantor)
mysql.time_zone PRIMARY(Time_zone_id)
mysql.time_zone_leap_second PRIMARY(Transition_time)
mysql.time_zone_name PRIMARY(Name)
mysql.time_zone_transition PRIMARY(Time_zone_id,Transition_time)
mysql.time_zone_transition_type PRIMARY(Time_zone_id,Transition_type_id)
mysql.user PRIMARY(Host,User)
performance_schema.accounts !ACCOUNT(USER,HOST)
performance_schema.cond_instances PRIMARY(OBJECT_INSTANCE_BEGIN) NAME(NAME)
performance_schema.data_lock_waits PRIMARY(REQUESTING_ENGINE_LOCK_ID,BLOCKING_ENGINE_LOCK_ID,ENGINE)
+ BLOCKING_ENGINE_LOCK_ID(BLOCKING_ENGINE_LOCK_ID,ENGINE)
+ BLOCKING_ENGINE_TRANSACTION_ID(BLOCKING_ENGINE_TRANSACTION_ID,ENGINE)
+ BLOCKING_THREAD_ID(BLOCKING_THREAD_ID,BLOCKING_EVENT_ID)
+ REQUESTING_ENGINE_LOCK_ID(REQUESTING_ENGINE_LOCK_ID,ENGINE)
+ REQUESTING_ENGINE_TRANSACTION_ID(REQUESTING_ENGINE_TRANSACTION_ID,ENGINE)
+ REQUESTING_THREAD_ID(REQUESTING_THREAD_ID,REQUESTING_EVENT_ID)
performance_schema.data_locks PRIMARY(ENGINE_LOCK_ID,ENGINE)
+ ENGINE_TRANSACTION_ID(ENGINE_TRANSACTION_ID,ENGINE)
+ OBJECT_SCHEMA(OBJECT_SCHEMA,OBJECT_NAME,PARTITION_NAME,SUBPARTITION_NAME) THREAD_ID(THREAD_ID,EVENT_ID)
performance_schema.error_log PRIMARY(LOGGED) ERROR_CODE(ERROR_CODE) PRIO(PRIO) SUBSYSTEM(SUBSYSTEM)
+ THREAD_ID(THREAD_ID)
performance_schema.events_errors_summary_by_account_by_error !ACCOUNT(USER,HOST,ERROR_NUMBER)
performance_schema.events_errors_summary_by_host_by_error !HOST(HOST,ERROR_NUMBER)
performance_schema.events_errors_summary_by_thread_by_error !THREAD_ID(THREAD_ID,ERROR_NUMBER)
performance_schema.events_errors_summary_by_user_by_error !USER(USER,ERROR_NUMBER)
performance_schema.events_errors_summary_global_by_error !ERROR_NUMBER(ERROR_NUMBER)
performance_schema.events_stages_current PRIMARY(THREAD_ID,EVENT_ID)
performance_schema.events_stages_history PRIMARY(THREAD_ID,EVENT_ID)
performance_schema.events_stages_summary_by_account_by_event_name !ACCOUNT(USER,HOST,EVENT_NAME)
performance_schema.events_stages_summary_by_host_by_event_name !HOST(HOST,EVENT_NAME)
performance_schema.events_stages_summary_by_thread_by_event_name PRIMARY(THREAD_ID,EVENT_NAME)
performance_schema.events_stages_summary_by_user_by_event_name !USER(USER,EVENT_NAME)
performance_schema.events_stages_summary_global_by_event_name PRIMARY(EVENT_NAME)
performance_schema.events_statements_current PRIMARY(THREAD_ID,EVENT_ID)
performance_schema.events_statements_histogram_by_digest !SCHEMA_NAME(SCHEMA_NAME,DIGEST,BUCKET_NUMBER)
performance_schema.events_statements_histogram_global PRIMARY(BUCKET_NUMBER)
performance_schema.events_statements_history PRIMARY(THREAD_ID,EVENT_ID)
performance_schema.events_statements_summary_by_account_by_event_name !ACCOUNT(USER,HOST,EVENT_NAME)
performance_schema.events_statements_summary_by_digest !SCHEMA_NAME(SCHEMA_NAME,DIGEST)
performance_schema.events_statements_summary_by_host_by_event_name !HOST(HOST,EVENT_NAME)
performance_schema.events_statements_summary_by_program PRIMARY(OBJECT_TYPE,OBJECT_SCHEMA,OBJECT_NAME)
performance_schema.events_statements_summary_by_thread_by_event_name PRIMARY(THREAD_ID,EVENT_NAME)
performance_schema.events_statements_summary_by_user_by_event_name !USER(USER,EVENT_NAME)
performance_schema.events_statements_summary_global_by_event_name PRIMARY(EVENT_NAME)
performance_schema.events_transactions_current PRIMARY(THREAD_ID,EVENT_ID)
performance_schema.events_transactions_history PRIMARY(THREAD_ID,EVENT_ID)
performance_schema.events_transactions_summary_by_account_by_event_name !ACCOUNT(USER,HOST,EVENT_NAME)
performance_schema.events_transactions_summary_by_host_by_event_name !HOST(HOST,EVENT_NAME)
performance_schema.events_transactions_summary_by_thread_by_event_name PRIMARY(THREAD_ID,EVENT_NAME)
performance_schema.events_transactions_summary_by_user_by_event_name !USER(USER,EVENT_NAME)
performance_schema.events_transactions_summary_global_by_event_name PRIMARY(EVENT_NAME)
performance_schema.events_waits_current PRIMARY(THREAD_ID,EVENT_ID)
performance_schema.events_waits_history PRIMARY(THREAD_ID,EVENT_ID)
performance_schema.events_waits_summary_by_account_by_event_name !ACCOUNT(USER,HOST,EVENT_NAME)
performance_schema.events_waits_summary_by_host_by_event_name !HOST(HOST,EVENT_NAME)
performance_schema.events_waits_summary_by_instance PRIMARY(OBJECT_INSTANCE_BEGIN) EVENT_NAME(EVENT_NAME)
performance_schema.events_waits_summary_by_thread_by_event_name PRIMARY(THREAD_ID,EVENT_NAME)
performance_schema.events_waits_summary_by_user_by_event_name !USER(USER,EVENT_NAME)
performance_schema.events_waits_summary_global_by_event_name PRIMARY(EVENT_NAME)
performance_schema.file_instances PRIMARY(FILE_NAME) EVENT_NAME(EVENT_NAME)
performance_schema.file_summary_by_event_name PRIMARY(EVENT_NAME)
performance_schema.file_summary_by_instance PRIMARY(OBJECT_INSTANCE_BEGIN) EVENT_NAME(EVENT_NAME)
+ FILE_NAME(FILE_NAME)
performance_schema.global_status PRIMARY(VARIABLE_NAME)
performance_schema.global_variables PRIMARY(VARIABLE_NAME)
performance_schema.host_cache PRIMARY(IP) HOST(HOST)
performance_schema.hosts !HOST(HOST)
performance_schema.memory_summary_by_account_by_event_name !ACCOUNT(USER,HOST,EVENT_NAME)
performance_schema.memory_summary_by_host_by_event_name !HOST(HOST,EVENT_NAME)
performance_schema.memory_summary_by_thread_by_event_name PRIMARY(THREAD_ID,EVENT_NAME)
performance_schema.memory_summary_by_user_by_event_name !USER(USER,EVENT_NAME)
performance_schema.memory_summary_global_by_event_name PRIMARY(EVENT_NAME)
performance_schema.metadata_locks PRIMARY(OBJECT_INSTANCE_BEGIN)
+ OBJECT_TYPE(OBJECT_TYPE,OBJECT_SCHEMA,OBJECT_NAME,COLUMN_NAME)
+ OWNER_THREAD_ID(OWNER_THREAD_ID,OWNER_EVENT_ID)
performance_schema.mutex_instances PRIMARY(OBJECT_INSTANCE_BEGIN) LOCKED_BY_THREAD_ID(LOCKED_BY_THREAD_ID)
+ NAME(NAME)
performance_schema.objects_summary_global_by_type !OBJECT(OBJECT_TYPE,OBJECT_SCHEMA,OBJECT_NAME)
performance_schema.persisted_variables PRIMARY(VARIABLE_NAME)
performance_schema.prepared_statements_instances PRIMARY(OBJECT_INSTANCE_BEGIN)
+ !OWNER_THREAD_ID(OWNER_THREAD_ID,OWNER_EVENT_ID)
+ OWNER_OBJECT_TYPE(OWNER_OBJECT_TYPE,OWNER_OBJECT_SCHEMA,OWNER_OBJECT_NAME) STATEMENT_ID(STATEMENT_ID)
+ STATEMENT_NAME(STATEMENT_NAME)
performance_schema.processlist PRIMARY(ID)
performance_schema.replication_applier_configuration PRIMARY(CHANNEL_NAME)
performance_schema.replication_applier_status PRIMARY(CHANNEL_NAME)
performance_schema.replication_applier_status_by_coordinator PRIMARY(CHANNEL_NAME) THREAD_ID(THREAD_ID)
performance_schema.replication_applier_status_by_worker PRIMARY(CHANNEL_NAME,WORKER_ID) THREAD_ID(THREAD_ID)
performance_schema.replication_connection_configuration PRIMARY(CHANNEL_NAME)
performance_schema.replication_connection_status PRIMARY(CHANNEL_NAME) THREAD_ID(THREAD_ID)
performance_schema.rwlock_instances PRIMARY(OBJECT_INSTANCE_BEGIN) NAME(NAME)
+ WRITE_LOCKED_BY_THREAD_ID(WRITE_LOCKED_BY_THREAD_ID)
performance_schema.session_account_connect_attrs PRIMARY(PROCESSLIST_ID,ATTR_NAME)
performance_schema.session_connect_attrs PRIMARY(PROCESSLIST_ID,ATTR_NAME)
performance_schema.session_status PRIMARY(VARIABLE_NAME)
performance_schema.session_variables PRIMARY(VARIABLE_NAME)
performance_schema.setup_actors PRIMARY(HOST,USER,ROLE)
performance_schema.setup_consumers PRIMARY(NAME)
performance_schema.setup_instruments PRIMARY(NAME)
performance_schema.setup_meters PRIMARY(NAME)
performance_schema.setup_metrics PRIMARY(NAME)
performance_schema.setup_objects !OBJECT(OBJECT_TYPE,OBJECT_SCHEMA,OBJECT_NAME)
performance_schema.setup_threads PRIMARY(NAME)
performance_schema.socket_instances PRIMARY(OBJECT_INSTANCE_BEGIN) IP(IP,PORT) SOCKET_ID(SOCKET_ID)
+ THREAD_ID(THREAD_ID)
performance_schema.socket_summary_by_event_name PRIMARY(EVENT_NAME)
performance_schema.socket_summary_by_instance PRIMARY(OBJECT_INSTANCE_BEGIN) EVENT_NAME(EVENT_NAME)
performance_schema.status_by_account !ACCOUNT(USER,HOST,VARIABLE_NAME)
performance_schema.status_by_host !HOST(HOST,VARIABLE_NAME)
performance_schema.status_by_thread PRIMARY(THREAD_ID,VARIABLE_NAME)
performance_schema.status_by_user !USER(USER,VARIABLE_NAME)
performance_schema.table_handles PRIMARY(OBJECT_INSTANCE_BEGIN)
+ OBJECT_TYPE(OBJECT_TYPE,OBJECT_SCHEMA,OBJECT_NAME) OWNER_THREAD_ID(OWNER_THREAD_ID,OWNER_EVENT_ID)
performance_schema.table_io_waits_summary_by_index_usage
+ !OBJECT(OBJECT_TYPE,OBJECT_SCHEMA,OBJECT_NAME,INDEX_NAME)
performance_schema.table_io_waits_summary_by_table !OBJECT(OBJECT_TYPE,OBJECT_SCHEMA,OBJECT_NAME)
performance_schema.table_lock_waits_summary_by_table !OBJECT(OBJECT_TYPE,OBJECT_SCHEMA,OBJECT_NAME)
performance_schema.threads PRIMARY(THREAD_ID) NAME(NAME)
+ PROCESSLIST_ACCOUNT(PROCESSLIST_USER,PROCESSLIST_HOST) PROCESSLIST_HOST(PROCESSLIST_HOST)
+ PROCESSLIST_ID(PROCESSLIST_ID) RESOURCE_GROUP(RESOURCE_GROUP) THREAD_OS_ID(THREAD_OS_ID)
performance_schema.user_defined_functions PRIMARY(UDF_NAME)
performance_schema.user_variables_by_thread PRIMARY(THREAD_ID,VARIABLE_NAME)
performance_schema.users !USER(USER)
performance_schema.variables_by_thread PRIMARY(THREAD_ID,VARIABLE_NAME)
";

/// The table as it is shown: a virtual one has the keys that MySQL's has.
pub(crate) fn shown(table: &Arc<Table>) -> &Arc<Table> {
    static SHOWN: OnceLock<Vec<Option<Arc<Table>>>> = OnceLock::new();
    let RowSource::Virtual(number) = table.source else { return table };
    let shown = SHOWN.get_or_init(|| keyed().map(|table| table.map(Arc::new)).collect());
    shown.get(number as usize).and_then(Option::as_ref).unwrap_or(table)
}

/// By the tables' numbers.
fn keyed() -> impl Iterator<Item = Option<Table>> {
    let joined = KEYS.replace("\n+", "");
    let keys: HashMap<Box<str>, Box<str>> =
        joined.lines().filter_map(|line| line.split_once(' ')).map(|(name, keys)| (name.into(), keys.into())).collect();
    super::declared().iter().enumerate().map(move |(number, declared)| {
        let keys = keys.get(&*format!("{}.{}", declared.schema, declared.name))?;
        let mut table = super::table_of(number as u32, declared, gannet_schema::SchemaId(0));
        table.indexes = keys.split(' ').filter_map(|key| index(key, &table)).collect();
        Some(table)
    })
}

/// One key; `None` where a column is not there.
fn index(key: &str, table: &Table) -> Option<Index> {
    let (name, columns) = key.strip_suffix(')')?.split_once('(')?;
    let (kind, name) = match name.strip_prefix('!') {
        Some(name) => (IndexKind::Unique, name),
        None if name == "PRIMARY" => (IndexKind::Primary, name),
        None => (IndexKind::Plain, name),
    };
    let part = |column: &str| {
        let column = table.columns.iter().position(|c| c.name.eq_ignore_ascii_case(column))? as u32;
        Some(IndexPart { column, prefix: None, descending: false })
    };
    Some(Index {
        name: name.into(),
        kind,
        method: Method::default(),
        parts: columns.split(',').map(part).collect::<Option<_>>()?,
        tree: gannet_engine::TreeId(0),
        comment: "".into(),
        attributes: Default::default(),
        block_size: 0,
        invisible: false,
        using: None,
        generated: false,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_key_is_of_a_table_with_its_columns() {
        let joined = super::KEYS.replace("\n+", "");
        let keys: usize = joined.lines().map(|line| line.split(' ').count() - 1).sum();
        assert_eq!(super::keyed().flatten().map(|t| t.indexes.len()).sum::<usize>(), keys);
    }
}
