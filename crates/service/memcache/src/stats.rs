//! `stats`: figures by the names that memcached has for them, and those of this server.

use crate::client::Client;
use crate::text::{VERSION, line};
use gannet_core::vars::Live;
use gannet_runtime::WallTime;
use gannet_telemetry::{Counter, total};
use gannet_types::Result;

/// Counters in the order in which memcached tells them.
pub(crate) const COUNTED: &[(&str, Counter)] = &[
    ("total_connections", Counter::MemcachedTotalConnections),
    ("rejected_connections", Counter::MemcachedRejectedConnections),
    ("cmd_get", Counter::MemcachedCmdGet),
    ("cmd_set", Counter::MemcachedCmdSet),
    ("cmd_flush", Counter::MemcachedCmdFlush),
    ("cmd_touch", Counter::MemcachedCmdTouch),
    ("cmd_meta", Counter::MemcachedCmdMeta),
    ("get_hits", Counter::MemcachedGetHits),
    ("get_misses", Counter::MemcachedGetMisses),
    ("get_expired", Counter::MemcachedGetExpired),
    ("delete_misses", Counter::MemcachedDeleteMisses),
    ("delete_hits", Counter::MemcachedDeleteHits),
    ("incr_misses", Counter::MemcachedIncrMisses),
    ("incr_hits", Counter::MemcachedIncrHits),
    ("decr_misses", Counter::MemcachedDecrMisses),
    ("decr_hits", Counter::MemcachedDecrHits),
    ("cas_misses", Counter::MemcachedCasMisses),
    ("cas_hits", Counter::MemcachedCasHits),
    ("cas_badval", Counter::MemcachedCasBadval),
    ("touch_hits", Counter::MemcachedTouchHits),
    ("touch_misses", Counter::MemcachedTouchMisses),
    ("store_too_large", Counter::MemcachedStoreTooLarge),
    ("auth_cmds", Counter::MemcachedAuthCmds),
    ("auth_errors", Counter::MemcachedAuthErrors),
    ("bytes_read", Counter::MemcachedBytesRead),
    ("bytes_written", Counter::MemcachedBytesWritten),
    ("expired_rows", Counter::MemcachedExpiredRows),
];

fn stat(out: &mut Vec<u8>, name: &str, value: impl std::fmt::Display) {
    line(out, &format!("STAT {name} {value}"));
}

pub(crate) fn answer(client: &mut Client, of: &[u8], out: &mut Vec<u8>) -> Result<()> {
    match of {
        b"" => general(client, out)?,
        b"settings" => settings(client, out),
        // There are no slabs: rows lie in the buffer pool. Exporters ask all the same.
        b"items" | b"sizes" => {}
        // The items of a slab class, of which there is none.
        _ if of.starts_with(b"cachedump ") => {}
        b"slabs" => {
            stat(out, "active_slabs", 0);
            stat(out, "total_malloced", 0);
        }
        b"conns" => connections(client, out),
        b"reset" => {
            client.shared.reset_stats();
            line(out, "RESET");
            return Ok(());
        }
        _ => {
            line(out, "ERROR");
            return Ok(());
        }
    }
    line(out, "END");
    Ok(())
}

fn general(client: &mut Client, out: &mut Vec<u8>) -> Result<()> {
    let figures = client.table()?.statistics.figures();
    let core = &client.shared.core;
    let get = |id: Live| core.globals.get(id);
    stat(out, "pid", std::process::id());
    stat(out, "uptime", core.uptime_s());
    stat(out, "time", WallTime::now().seconds());
    stat(out, "version", VERSION);
    stat(out, "gannet_version", &core.facts.version);
    stat(out, "pointer_size", usize::BITS);
    stat(out, "max_connections", get(Live::MemcachedMaxConnections).as_u64());
    stat(out, "curr_connections", client.shared.connections());
    let before = client.shared.stats_before();
    for (i, (name, counter)) in COUNTED.iter().enumerate() {
        stat(out, name, total(*counter).saturating_sub(before.get(i).copied().unwrap_or(0)));
    }
    stat(out, "limit_maxbytes", get(Live::InnodbBufferPoolSize).as_u64());
    stat(out, "accepting_conns", 1);
    // Who is one too many is told so at once, and a flush deletes.
    for name in ["listen_disabled_num", "time_in_listen_disabled_us", "get_flushed"] {
        stat(out, name, 0);
    }
    stat(out, "threads", get(Live::Workers).as_u64());
    // As of the last sample: rows are not counted for this.
    stat(out, "bytes", figures.pages.saturating_mul(get(Live::InnodbPageSize).as_u64()));
    stat(out, "curr_items", figures.rows);
    stat(out, "total_items", total(Counter::MemcachedCmdSet));
    stat(out, "evictions", 0);
    stat(out, "reclaimed", total(Counter::MemcachedExpiredRows));
    stat(out, "durable", if client.is_durable() { "on" } else { "off" });
    Ok(())
}

fn settings(client: &Client, out: &mut Vec<u8>) {
    let core = &client.shared.core;
    let get = |id: Live| core.globals.get(id);
    let yes = |id: Live| if get(id).as_bool() { "yes" } else { "no" };
    stat(out, "maxbytes", get(Live::InnodbBufferPoolSize).as_u64());
    stat(out, "maxconns", get(Live::MemcachedMaxConnections).as_u64());
    stat(out, "tcpport", get(Live::MemcachedPort).as_u64());
    stat(out, "udpport", 0);
    stat(out, "inter", get(Live::MemcachedBindAddress).as_str());
    stat(out, "verbosity", 0);
    stat(out, "evictions", "off");
    let socket = get(Live::MemcachedSocket);
    stat(out, "domain_socket", if socket.as_str().is_empty() { "NULL" } else { socket.as_str() });
    stat(out, "num_threads", get(Live::Workers).as_u64());
    stat(out, "cas_enabled", "yes");
    stat(out, "auth_enabled_ascii", yes(Live::MemcachedAuth));
    stat(out, "binding_protocol", "ascii");
    stat(out, "item_size_max", get(Live::MemcachedItemSizeMax).as_u64());
    stat(out, "maxconns_fast", "yes");
    stat(out, "flush_enabled", "yes");
    stat(out, "dump_enabled", "no");
    stat(out, "ssl_enabled", yes(Live::MemcachedTls));
}

fn connections(client: &Client, out: &mut Vec<u8>) {
    for entry in client.shared.core.registry.all().iter().filter(|e| e.who().user == "memcached") {
        let (id, (_, since_ns)) = (entry.id, entry.activity());
        let idle_s = gannet_runtime::now_ns().saturating_sub(since_ns) / 1_000_000_000;
        stat(out, &format!("{id}:addr"), &entry.who().host);
        stat(out, &format!("{id}:state"), if entry.state().is_empty() { "conn_read" } else { "conn_parse_cmd" });
        stat(out, &format!("{id}:secs_since_last_cmd"), idle_s);
    }
}
