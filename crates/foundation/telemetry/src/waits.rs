//! Wait events: every reason for which a task may wait, declared once; and the kinds of files.

use std::path::Path;

macro_rules! waits {
    ($($(#[$doc:meta])* $id:ident = $name:literal;)*) => {
        /// Why a task waits. What SHOW PROCESSLIST and the wait tables show comes from here.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Wait {
            $($(#[$doc])* $id,)*
        }

        impl Wait {
            /// All wait events in order of declaration.
            pub const ALL: &[Wait] = &[$(Wait::$id),*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// Its name as shown to people: `wait/class/what`.
            pub const fn name(self) -> &'static str {
                match self { $(Wait::$id => $name,)* }
            }
        }
    };
}

waits! {
    /// For the client's next bytes in the middle of a statement or handshake.
    ClientRead = "wait/net/client_read";
    /// For a slow client to take the reply.
    ClientWrite = "wait/net/client_write";
    /// For a row lock of another transaction.
    RowLock = "wait/lock/row";
    /// For a metadata lock.
    MetadataLock = "wait/lock/metadata";
    /// For a lock taken by GET_LOCK.
    UserLock = "wait/lock/user";
    /// For a table lock of LOCK TABLES or a global read lock.
    TableLock = "wait/lock/table";
    /// For an AUTO_INCREMENT value that must be made durable.
    AutoIncrement = "wait/lock/auto_increment";
    /// For the log to be durable up to a commit.
    LogFlush = "wait/log/flush";
    /// For room in the log buffer.
    LogBuffer = "wait/log/buffer_full";
    /// For room in the log: the checkpoint has to advance.
    LogSpace = "wait/log/capacity";
    /// Who follows the log: for more of it to be durable.
    LogFollow = "wait/idle/log_follower";
    /// The log writer: for something to write.
    LogIdle = "wait/idle/log_writer";
    StatisticsIdle = "wait/idle/statistics";
    /// What gives the words of new rows their places in full-text indexes.
    FullTextIdle = "wait/idle/full_text";
    EventsIdle = "wait/idle/events";
    /// What looks at the server each second.
    SamplerIdle = "wait/idle/sampler";
    /// What writes mysql.general_log and mysql.slow_log: for an entry.
    LogTablesIdle = "wait/idle/log_tables";
    /// Who reads one of these tables: for what was logged before.
    LogTables = "wait/log/tables";
    /// For a page being read by another task.
    PageRead = "wait/buffer/page_read";
    /// For a page latch.
    PageLatch = "wait/buffer/page_latch";
    /// For a free frame: pages have to be evicted first.
    BufferFree = "wait/buffer/free_frame";
    /// For a page to be written back.
    PageWrite = "wait/buffer/page_write";
    /// For a read from a file.
    FileRead = "wait/io/file_read";
    /// For a write to a file.
    FileWrite = "wait/io/file_write";
    /// For a file's data to be durable.
    FileSync = "wait/io/file_sync";
    /// Other file operations: allocate, truncate, rename.
    FileMeta = "wait/io/file_meta";
    /// For recovery to have brought a page or transaction to its state.
    Recovery = "wait/storage/recovery";
    /// For older versions to be purged.
    Purge = "wait/storage/purge";
    /// For a checkpoint.
    Checkpoint = "wait/storage/checkpoint";
    /// For a snapshot to include a commit that was seen before.
    Snapshot = "wait/storage/snapshot";
    /// Held back because a bound is near (dirty pages, undo, log age).
    Throttle = "wait/storage/throttle";
    /// For another session's DDL to publish the dictionary.
    Dictionary = "wait/sql/dictionary";
    /// For another session that builds the same plan or statistics.
    PlanBuild = "wait/sql/plan_build";
    /// For parallel parts of the same statement.
    Parallel = "wait/sql/parallel";
    /// SLEEP() and the like.
    UserSleep = "wait/user/sleep";
    /// For a replica, or for the source.
    Replication = "wait/replication";
    /// For a background task to end.
    Join = "wait/sync/join";
    /// For a message of another task.
    Queue = "wait/sync/queue";
    /// Any other condition.
    Condition = "wait/sync/condition";
    /// A background task between two rounds of work.
    Background = "wait/idle/background";
    /// A worker with nothing to run.
    WorkerIdle = "wait/idle/worker";
}

impl Wait {
    /// For an operation on a file, which is counted by its [`FileKind`], too.
    pub const fn is_of_file(self) -> bool {
        matches!(self, Wait::FileRead | Wait::FileWrite | Wait::FileSync | Wait::FileMeta)
    }
}

macro_rules! files {
    ($($(#[$doc:meta])* $id:ident = $name:literal;)*) => {
        /// What a file is for. Operations on files are told apart by it, under MySQL's names where it has such files.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum FileKind {
            $($(#[$doc])* $id,)*
        }

        impl FileKind {
            /// All kinds in order of declaration.
            pub const ALL: &[FileKind] = &[$(FileKind::$id),*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The name of the events: `wait/io/file/what`.
            pub const fn name(self) -> &'static str {
                match self { $(FileKind::$id => concat!("wait/io/file/", $name),)* }
            }
        }
    };
}

files! {
    /// The engine's pages.
    Data = "innodb/innodb_data_file";
    /// Copies of pages that are about to be overwritten.
    DoubleWrite = "innodb/innodb_dblwr_file";
    /// The write-ahead log.
    Log = "innodb/innodb_log_file";
    /// What finds a page's records in it.
    LogIndex = "gannet/log_index";
    /// Where recovery begins.
    Control = "gannet/control";
    /// The binary log.
    BinaryLog = "sql/binlog";
    /// Rows that a statement has no memory for.
    Temporary = "innodb/innodb_temp_file";
    /// Any other.
    Other = "gannet/other";
}

impl FileKind {
    /// By a file's name, and the directory it lies in.
    pub fn of(path: &Path) -> FileKind {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match &*name {
            "data.gnt" => FileKind::Data,
            n if n.contains("double") => FileKind::DoubleWrite,
            n if n.ends_with(".log") => FileKind::Log,
            n if n.ends_with(".idx") => FileKind::LogIndex,
            n if n.contains("control") => FileKind::Control,
            n if n.starts_with("binlog.") || n.contains("-bin.") => FileKind::BinaryLog,
            _ if path.components().any(|c| c.as_os_str() == "#tmp") => FileKind::Temporary,
            _ => FileKind::Other,
        }
    }
}

/// What a session's waits are told apart by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Why a task waited; files apart.
    Wait(Wait),
    /// An operation on a file.
    File(FileKind),
}

impl Event {
    /// How many there are.
    pub const COUNT: usize = Wait::COUNT + FileKind::COUNT;

    /// All of them, each at its [`Event::place`].
    pub fn all() -> impl Iterator<Item = Event> {
        let waits = Wait::ALL.iter().map(|wait| Event::Wait(*wait));
        waits.chain(FileKind::ALL.iter().map(|kind| Event::File(*kind)))
    }

    /// Its place among all.
    pub const fn place(self) -> usize {
        match self {
            Event::Wait(wait) => wait as usize,
            Event::File(kind) => Wait::COUNT + kind as usize,
        }
    }

    /// Its name as shown to people.
    pub const fn name(self) -> &'static str {
        match self {
            Event::Wait(wait) => wait.name(),
            Event::File(kind) => kind.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_stand_in_their_places() {
        assert!(Event::all().enumerate().all(|(at, event)| event.place() == at));
        assert_eq!(Event::all().count(), Event::COUNT);
        assert!(Wait::ALL.iter().all(|wait| wait.is_of_file() == wait.name().starts_with("wait/io/file_")));
    }

    #[test]
    fn files_are_known_by_their_names() {
        let of = |path: &str| FileKind::of(Path::new(path)).name();
        assert_eq!(of("/d/data.gnt"), "wait/io/file/innodb/innodb_data_file");
        assert_eq!(of("/d/log/000001.log"), "wait/io/file/innodb/innodb_log_file");
        assert_eq!(of("/d/binlog.000001"), "wait/io/file/sql/binlog");
        assert_eq!(of("/d/#tmp/17"), "wait/io/file/innodb/innodb_temp_file");
        assert_eq!(of("/d/auto.cnf"), "wait/io/file/gannet/other");
    }
}
