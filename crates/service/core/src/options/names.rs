//! Option names beyond the variables, and the search for what a wrong name meant.

use crate::vars;

/// Options of MySQL (8.4 and older ones that linger in option files) without a meaning here.
pub(super) const NO_MEANING: &[&str] = &[
    "allow-suspicious-udfs",
    "binlog-ignore-db",
    "character-set-client-handshake",
    "chroot",
    "default-authentication-plugin",
    "default-character-set",
    "expire-logs-days",
    "exit-info",
    "external-locking",
    "federated",
    "gdb",
    "ignore-builtin-innodb",
    "innodb",
    "innodb-additional-mem-pool-size",
    "innodb-buffer-pool-populate",
    "innodb-checksums",
    "innodb-file-format",
    "innodb-file-format-check",
    "innodb-file-format-max",
    "innodb-file-io-threads",
    "innodb-large-prefix",
    "innodb-locks-unsafe-for-binlog",
    "innodb-stats-sample-pages",
    "innodb-status-file",
    "innodb-support-xa",
    "innodb-undo-logs",
    "key-buffer",
    "language",
    "log-isam",
    "log-short-format",
    "log-tc",
    "log-tc-size",
    "log-warnings",
    "max-long-data-size",
    "max-tmp-tables",
    "memlock",
    "metadata-locks-cache-size",
    "metadata-locks-hash-instances",
    "multi-range-count",
    "myisam-block-size",
    "mysqlx",
    "mysqlx-port",
    "mysqlx-socket",
    "mysqlx-bind-address",
    "mysqlx-max-connections",
    "old-passwords",
    "old-style-user-limits",
    "partition",
    "port-open-timeout",
    "query-cache-limit",
    "query-cache-min-res-unit",
    "query-cache-size",
    "query-cache-type",
    "query-cache-wlock-invalidate",
    "safe-user-create",
    "secure-auth",
    "show-replica-auth-info",
    "sort-buffer",
    "ssl",
    "stack-trace",
    "super-large-pages",
    "symbolic-links",
    "sync-frm",
    "sysdate-is-now",
    "table-cache",
    "tc-heuristic-recover",
    "temp-pool",
    "thread-concurrency",
    "timed-mutexes",
    "transaction-write-set-extraction",
    "upgrade",
    "validate-config",
];

/// Options whose loss would change what the server does: refused, with the reason.
pub(super) const UNSUPPORTED: &[(&str, &str)] = &[
    ("initialize", "not needed: the data directory is created at the first start"),
    ("initialize-insecure", "not needed: the data directory is created at the first start"),
    ("daemonize", "not supported; start Gannet from a service manager"),
    ("plugin-load", "there are no plugins"),
    ("plugin-load-add", "there are no plugins"),
    ("early-plugin-load", "there are no plugins"),
    ("replicate-do-db", "replication is not there yet"),
    ("replicate-ignore-db", "replication is not there yet"),
    ("replicate-do-table", "replication is not there yet"),
    ("replicate-ignore-table", "replication is not there yet"),
    ("replicate-wild-do-table", "replication is not there yet"),
    ("replicate-wild-ignore-table", "replication is not there yet"),
    ("binlog-do-db", "the binary log is not there yet"),
    ("admin-ssl", "TLS is not there yet"),
];

/// The known option whose name is closest to `name`, if one is close.
pub(super) fn nearest(name: &str) -> Option<String> {
    let known = vars::all().iter().filter(|d| d.option).map(|d| d.name.replace('_', "-"));
    let others = NO_MEANING.iter().chain(UNSUPPORTED.iter().map(|(n, _)| n)).map(|n| n.to_string());
    let extra = ["defaults-file", "default-time-zone", "help", "version"].map(String::from);
    let limit = (name.len() / 3).clamp(1, 6);
    known
        .chain(others)
        .chain(extra)
        .map(|k| (distance(name, &k), k))
        .filter(|(d, _)| *d <= limit)
        .min_by(|a, b| a.0.cmp(&b.0).then(a.1.cmp(&b.1)))
        .map(|(_, k)| k)
}

/// Edit distance: insertions, deletions, replacements, and swaps of neighbours (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut rows = [vec![0; b.len() + 1], (0..=b.len()).collect(), vec![0; b.len() + 1]];
    for i in 1..=a.len() {
        let [before, last, now] = &mut rows;
        now[0] = i;
        for j in 1..=b.len() {
            let same = a[i - 1] == b[j - 1];
            now[j] = (last[j] + 1).min(now[j - 1] + 1).min(last[j - 1] + usize::from(!same));
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                now[j] = now[j].min(before[j - 2] + 1);
            }
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("prot", "port"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
