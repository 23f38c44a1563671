//! The figures in Prometheus' text format 0.0.4, under the names of mysqld_exporter where it has them.

use gannet_core::Core;
use gannet_core::seen::Class;
use gannet_core::status::{self, Shown};
use gannet_core::vars;
use gannet_telemetry::{latencies, wait_totals};
use std::fmt::Write;

/// Statements of which there are figures of their own.
const MOST_DIGESTS: usize = 50;

/// All of them.
pub fn text(core: &Core) -> String {
    let mut out = String::with_capacity(256 << 10);
    metric(&mut out, "mysql_up", "gauge", "Whether the MySQL server is up.");
    out.push_str("mysql_up 1\n");
    let version = &core.facts.version;
    metric(&mut out, "mysql_version_info", "gauge", "MySQL version and distribution.");
    let _ = writeln!(
        out,
        "mysql_version_info{{innodb_version=\"{version}\",version=\"{version}\",version_comment=\"Gannet\"}} 1"
    );
    global_status(core, &mut out);
    global_variables(core, &mut out);
    waits(&mut out);
    latency(&mut out);
    digests(core, &mut out);
    active(core, &mut out);
    out
}

fn metric(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// A value of a label.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Status variables that the exporter gives labels: the beginning, the metric, the label, what is said of it.
const LABELLED: &[(&str, &str, &str, &str)] = &[
    ("Com_", "mysql_global_status_commands_total", "command", "Total number of executed MySQL commands."),
    ("Handler_", "mysql_global_status_handlers_total", "handler", "Total number of executed MySQL handlers."),
    (
        "Connection_errors_",
        "mysql_global_status_connection_errors_total",
        "error",
        "Total number of MySQL connection errors.",
    ),
    (
        "Performance_schema_",
        "mysql_global_status_performance_schema_lost_total",
        "instrumentation",
        "Total number of MySQL instrumentations that could not be loaded or created due to memory constraints.",
    ),
    (
        "Innodb_rows_",
        "mysql_global_status_innodb_row_ops_total",
        "operation",
        "Total number of MySQL InnoDB row operations.",
    ),
];

fn number(shown: &Shown) -> Option<f64> {
    match shown {
        Shown::Number(n) => Some(*n as f64),
        Shown::Signed(n) => Some(*n as f64),
        Shown::Text(t) if t.eq_ignore_ascii_case("on") || t.eq_ignore_ascii_case("yes") => Some(1.0),
        Shown::Text(t) if t.eq_ignore_ascii_case("off") || t.eq_ignore_ascii_case("no") => Some(0.0),
        Shown::Text(t) => t.parse().ok(),
    }
}

fn global_status(core: &Core, out: &mut String) {
    let all = status::shown(core, None, None, |_| true);
    for (begin, name, label, help) in LABELLED {
        metric(out, name, "counter", help);
        for (variable, shown) in &all {
            let Some(rest) = variable.strip_prefix(begin) else { continue };
            if let Some(n) = number(shown) {
                let _ = writeln!(out, "{name}{{{label}=\"{}\"}} {n}", rest.to_lowercase());
            }
        }
    }
    pool_pages(&all, out);
    for (variable, shown) in &all {
        let labelled = LABELLED.iter().any(|(begin, ..)| variable.starts_with(begin));
        if labelled || variable.starts_with("Innodb_buffer_pool_pages_") {
            continue;
        }
        let Some(n) = number(shown) else { continue };
        let name = format!("mysql_global_status_{}", variable.to_lowercase());
        metric(out, &name, "untyped", "Generic metric from SHOW GLOBAL STATUS.");
        let _ = writeln!(out, "{name} {n}");
    }
}

/// Pages of the pool by state, as the exporter divides them.
fn pool_pages(all: &[(&'static str, Shown)], out: &mut String) {
    let name = "mysql_global_status_buffer_pool_pages";
    metric(out, name, "gauge", "Innodb buffer pool pages by state.");
    let states = || all.iter().filter_map(|(v, n)| Some((v.strip_prefix("Innodb_buffer_pool_pages_")?, number(n)?)));
    for (state, n) in states().filter(|(s, _)| matches!(*s, "data" | "free" | "misc" | "old")) {
        let _ = writeln!(out, "{name}{{state=\"{state}\"}} {n}");
    }
    for (state, n) in states().filter(|(s, _)| *s == "dirty") {
        let name = "mysql_global_status_buffer_pool_dirty_pages";
        metric(out, name, "gauge", &format!("Innodb buffer pool pages that are {state}."));
        let _ = writeln!(out, "{name} {n}");
    }
    let name = "mysql_global_status_buffer_pool_page_changes_total";
    metric(out, name, "counter", "Innodb buffer pool page state changes.");
    for (operation, n) in states().filter(|(s, _)| !matches!(*s, "data" | "free" | "misc" | "old" | "dirty" | "total"))
    {
        let _ = writeln!(out, "{name}{{operation=\"{operation}\"}} {n}");
    }
}

fn global_variables(core: &Core, out: &mut String) {
    for (variable, id) in vars::sorted() {
        let def = id.def();
        let value = core.globals.get(*id).display(&def.kind);
        let Some(n) = value.and_then(|v| number(&Shown::Text(v))) else { continue };
        let name = format!("mysql_global_variables_{}", variable.to_lowercase().replace('.', "_"));
        metric(out, &name, "gauge", "Generic gauge metric from SHOW GLOBAL VARIABLES.");
        let _ = writeln!(out, "{name} {n}");
    }
}

fn waits(out: &mut String) {
    let all = wait_totals();
    let count = "mysql_perf_schema_events_waits_total";
    metric(out, count, "counter", "The total events waits by event name.");
    for w in &all {
        let _ = writeln!(out, "{count}{{event_name=\"{}\"}} {}", w.wait.name(), w.count);
    }
    let seconds = "mysql_perf_schema_events_waits_seconds_total";
    metric(out, seconds, "counter", "The total seconds of events waits by event name.");
    for w in &all {
        let _ = writeln!(out, "{seconds}{{event_name=\"{}\"}} {}", w.wait.name(), w.ns as f64 / 1e9);
    }
}

/// All statements by latency. Of our buckets, those at powers of two.
fn latency(out: &mut String) {
    let name = "gannet_statement_duration_seconds";
    metric(out, name, "histogram", "How long statements took.");
    let all = latencies();
    let (mut seen, mut sum) = (0u64, 0.0);
    for (i, (low, high, n)) in all.all_buckets().enumerate() {
        seen += n;
        sum += n as f64 * (low + high) as f64 / 2.0 / 1e9;
        if i % 8 == 7 && (1000..1 << 38).contains(&high) {
            let _ = writeln!(out, "{name}_bucket{{le=\"{}\"}} {seen}", high as f64 / 1e9);
        }
    }
    let _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {seen}\n{name}_sum {sum}\n{name}_count {seen}");
}

fn digests(core: &Core, out: &mut String) {
    let mut all: Vec<_> = core.stats.snapshots_with(false).collect();
    all.sort_by_cached_key(|d| std::cmp::Reverse(d.sums.did.total_ns));
    all.truncate(MOST_DIGESTS);
    let lists: [(&str, &str, fn(&gannet_telemetry::Did) -> f64); 7] = [
        ("total", "The total count of events statements by digest.", |s| s.count as f64),
        ("seconds_total", "The total time of events statements by digest.", |s| s.total_ns as f64 / 1e9),
        ("errors_total", "The errors of events statements by digest.", |s| s.errors as f64),
        ("warnings_total", "The warnings of events statements by digest.", |s| s.warnings as f64),
        ("rows_affected_total", "The total rows affected of events statements by digest.", |s| s.rows_affected as f64),
        ("rows_sent_total", "The total rows sent of events statements by digest.", |s| s.rows_sent as f64),
        ("rows_examined_total", "The total rows examined of events statements by digest.", |s| s.rows_examined as f64),
    ];
    for (last, help, value) in lists {
        let name = format!("mysql_perf_schema_events_statements_{last}");
        metric(out, &name, "counter", help);
        for d in &all {
            let digest = d.texts.as_ref().map_or("", |t| &t.digest);
            let _ =
                writeln!(out, "{name}{{digest=\"{digest}\",schema=\"{}\"}} {}", quoted(&d.schema), value(&d.sums.did));
        }
    }
}

/// Who is active, as last seen.
fn active(core: &Core, out: &mut String) {
    let Some(last) = core.seen.moments.last() else { return };
    let name = "gannet_active_sessions";
    metric(out, name, "gauge", "Sessions that ran a statement, by what they waited for.");
    for class in Class::ALL {
        let _ = writeln!(out, "{name}{{class=\"{}\"}} {}", class.name(), last.active[class as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_quoted() {
        assert_eq!(quoted("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
        assert_eq!(number(&Shown::Text("ON".into())), Some(1.0));
        assert_eq!(number(&Shown::Text("x".into())), None);
    }
}
