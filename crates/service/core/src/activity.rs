//! What a session does.

/// `Command` of the process list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Activity {
    /// Logging in.
    Connect,
    /// Waiting for the client.
    Sleep,
    /// COM_QUERY.
    Query,
    /// COM_STMT_PREPARE.
    Prepare,
    /// COM_STMT_EXECUTE.
    Execute,
    /// COM_STMT_FETCH.
    Fetch,
    /// COM_FIELD_LIST.
    FieldList,
    /// COM_INIT_DB.
    InitDb,
    /// COM_CHANGE_USER.
    ChangeUser,
    /// COM_BINLOG_DUMP.
    BinlogDump,
    /// COM_BINLOG_DUMP_GTID.
    BinlogDumpGtid,
    /// Running an event.
    Event,
    /// The event scheduler, which waits until an event is due.
    EventsDue,
    /// The event scheduler without events.
    NoEvents,
    /// Everything else.
    Other,
}

const ACTIVITIES: [Activity; 15] = [
    Activity::Connect,
    Activity::Sleep,
    Activity::Query,
    Activity::Prepare,
    Activity::Execute,
    Activity::Fetch,
    Activity::FieldList,
    Activity::InitDb,
    Activity::ChangeUser,
    Activity::BinlogDump,
    Activity::BinlogDumpGtid,
    Activity::Event,
    Activity::EventsDue,
    Activity::NoEvents,
    Activity::Other,
];

impl Activity {
    /// By its number.
    pub(crate) fn of(number: u8) -> Activity {
        ACTIVITIES.get(usize::from(number)).copied().unwrap_or(Activity::Other)
    }

    /// As the process list prints it.
    pub fn name(self) -> &'static str {
        match self {
            // MySQL gives the threads of events no command of their own.
            Activity::Connect | Activity::Event => "Connect",
            Activity::Sleep => "Sleep",
            Activity::Query => "Query",
            Activity::Prepare => "Prepare",
            Activity::Execute => "Execute",
            Activity::Fetch => "Fetch",
            Activity::FieldList => "Field List",
            Activity::InitDb => "Init DB",
            Activity::ChangeUser => "Change user",
            Activity::BinlogDump => "Binlog Dump",
            Activity::BinlogDumpGtid => "Binlog Dump GTID",
            Activity::EventsDue | Activity::NoEvents => "Daemon",
            Activity::Other => "Query",
        }
    }
}
