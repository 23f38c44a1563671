//! The queueing model beside the measurement.
//!
//! Demands come from the last minutes by the utilisation law: what each station was busy, divided by the statements
//! that ended. Clients think between statements: the mean of that is what is missing to the number of connections
//! (Little's law). The model then says what throughput that many clients should have, which is compared with what they
//! had: if it is wrong by more than 15 %, the page says so and foretells nothing.

use crate::api::cores;
use crate::http::{Request, Response};
use crate::json::{Json, Object};
use gannet_core::Core;
use gannet_core::seen::{Gauge, Moment};
use gannet_queueing::{MOST_CLIENTS, Network, Servers, Station};
use gannet_runtime::{Wait, WallTime};
use gannet_telemetry::Histogram;

/// What is measured for the model, by default.
const LOOK_BACK_MS: u64 = 120_000;
/// Statements without which nothing can be said.
const LEAST: u64 = 200;
/// The model does not hold beyond this.
const MOST_ERROR: f64 = 0.15;

/// What was measured.
struct Measured {
    seconds: f64,
    statements: u64,
    /// Statements a second.
    throughput: f64,
    /// Mean latency in seconds.
    response: f64,
    clients: f64,
    network: Network,
}

/// Means of a time.
fn measure(moments: &[Moment]) -> Option<Measured> {
    let mut all = moments.first()?.clone();
    moments[1..].iter().for_each(|m| all.join(m));
    let seconds = all.span_ms as f64 / 1000.0;
    let statements: u64 = all.latency.iter().map(|(_, n)| n).sum();
    if statements < LEAST || seconds <= 0.0 {
        return None;
    }
    let per = |n: f64| n / statements as f64;
    let sum: f64 =
        Histogram::of(&all.latency).all_buckets().map(|(low, high, n)| n as f64 * (low + high) as f64 / 2e9).sum();
    let wait = |waits: &[Wait]| per(waits.iter().map(|w| all.wait(*w as usize).ns as f64 / 1e9).sum());
    // The log writer works whenever it does not wait for work: its busy time is what is left.
    let idle = (all.wait(Wait::LogIdle as usize).ns as f64 / 1e9).min(seconds);
    let writes = all.wait(Wait::LogFlush as usize).count > 0;
    let log = if writes { per(seconds - idle).min(wait(&[Wait::LogFlush]).max(0.0)) } else { 0.0 };
    let cpu = per(all.gauges[Gauge::CpuNs as usize] as f64 / 1e9);
    let station = |name: &str, demand: f64, servers| Station { name: name.into(), demand, servers };
    let stations = vec![
        station("cpu", cpu, Servers::Some(cores() as u32)),
        station("log", log, Servers::Some(1)),
        station("data", wait(&[Wait::PageRead, Wait::FileRead]), Servers::Enough),
        station("locks", wait(&[Wait::RowLock, Wait::MetadataLock, Wait::TableLock, Wait::UserLock]), Servers::Enough),
        station("sleep", wait(&[Wait::UserSleep]), Servers::Enough),
        station("network", wait(&[Wait::ClientWrite]), Servers::Enough),
    ];
    let clients =
        moments.iter().map(|m| m.gauges[Gauge::Connected as usize] as f64).sum::<f64>() / moments.len() as f64;
    let (throughput, response) = (statements as f64 / seconds, per(sum));
    let think = (clients / throughput - response).max(0.0);
    let network = Network { stations: stations.into_iter().filter(|s| s.demand > 0.0).collect(), think };
    Some(Measured { seconds, statements, throughput, response, clients, network })
}

/// Factors that are asked for: `cpu=2` is a processor that is twice as fast, `cores=8` are eight.
fn changed(network: &Network, r: &Request) -> Network {
    let factor = |name: &str| {
        let given = r.query.get(name).and_then(|v| v.parse::<f64>().ok());
        given.filter(|f| (0.01..=100.0).contains(f)).unwrap_or(1.0)
    };
    let cores = r.number("cores").filter(|n| (1..=1024).contains(n));
    let stations = network.stations.iter().map(|s| Station {
        name: s.name.clone(),
        demand: s.demand / factor(&s.name),
        servers: match (s.servers, cores) {
            (Servers::Some(_), Some(n)) if s.name == "cpu" => Servers::Some(n as u32),
            (servers, _) => servers,
        },
    });
    Network { stations: stations.collect(), think: network.think / factor("think") }
}

/// Numbers of clients at which curves are drawn.
fn points(most: u32) -> Vec<u32> {
    let step = (most / 60).max(1) as usize;
    (1..=most).step_by(step).chain([most]).collect()
}

fn describe(o: &mut Object<'_>, network: &Network, clients: u32, most: u32) {
    let all = network.solve(most.max(clients));
    let at = |n: u32| all.get(n.saturating_sub(1) as usize);
    o.number("demand", network.demand());
    o.number("think", network.think);
    o.number("saturation", network.saturation().unwrap_or(f64::NAN));
    o.maybe("bottleneck", network.bottleneck().map(|(s, _)| &*s.name));
    o.number("most", network.bottleneck().map_or(f64::NAN, |(_, most)| most));
    let throughput = at(clients).map_or(f64::NAN, |s| s.throughput);
    o.number("throughput", throughput);
    o.number("response", at(clients).map_or(f64::NAN, |s| s.response));
    o.list("stations", |l| {
        for (s, busy) in network.stations.iter().zip(network.busy(throughput)) {
            l.object(|o| {
                o.text("name", &s.name);
                o.number("demand", s.demand);
                match s.servers {
                    Servers::Some(n) => o.whole("servers", n.into()),
                    Servers::Enough => o.maybe("servers", None),
                }
                o.number("busy", busy);
            });
        }
    });
    o.list("curve", |l| {
        for n in points(most) {
            let bounds = network.asymptotic(n);
            l.list(|l| {
                l.whole(n.into());
                l.number(at(n).map_or(f64::NAN, |s| s.throughput));
                l.number(at(n).map_or(f64::NAN, |s| s.response));
                l.number(bounds.most);
            });
        }
    });
}

/// The model, and what it says of a change.
pub fn answer(core: &Core, r: &Request) -> Response {
    let to = r.number("to").unwrap_or_else(|| WallTime::now().micros() / 1000);
    let from = r.number("from").unwrap_or(to.saturating_sub(LOOK_BACK_MS));
    let moments = core.seen.moments.between(from, to, gannet_core::seen::Span::Second);
    let mut json = Json::default();
    json.object(|o| match measure(&moments) {
        None => o.text("says", "too few statements ran in this time to say anything"),
        Some(m) => {
            let clients = (m.clients.round() as u32).clamp(1, MOST_CLIENTS);
            let wanted = r.number("clients").map_or(clients, |n| (n as u32).clamp(1, MOST_CLIENTS));
            let most = clients.max(wanted).saturating_mul(2).clamp(16, 400).max(clients.max(wanted));
            let foretold = m.network.solve(clients).last().map_or(f64::NAN, |s| s.throughput);
            let error = foretold / m.throughput - 1.0;
            o.object("measured", |o| {
                o.number("seconds", m.seconds);
                o.whole("statements", m.statements);
                o.number("throughput", m.throughput);
                o.number("response", m.response);
                o.number("clients", m.clients);
            });
            o.number("error", error);
            if !error.is_finite() || error.abs() > MOST_ERROR {
                o.text("says", "the model does not hold here: it is wrong by more than 15 %, so it foretells nothing");
            }
            o.object("now", |o| describe(o, &m.network, clients, most));
            o.object("changed", |o| {
                o.whole("clients", wanted.into());
                describe(o, &changed(&m.network, r), wanted, most);
            });
        }
    });
    Response::json(json.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_core::seen::WaitDelta;

    #[test]
    fn demands_follow_from_what_was_busy() {
        let mut m = Moment { unix_ms: 1000, span_ms: 1000, samples: 1, ..Moment::default() };
        m.latency = vec![(70, 400)];
        m.gauges[Gauge::CpuNs as usize] = 800_000_000;
        m.gauges[Gauge::Connected as usize] = 8;
        m.waits = vec![(Wait::RowLock as u16, WaitDelta { count: 10, ns: 40_000_000 })];
        let found = measure(&[m]).unwrap();
        let demand = |name: &str| found.network.stations.iter().find(|s| s.name == name).map(|s| s.demand);
        assert_eq!((found.statements, found.throughput, found.clients), (400, 400.0, 8.0));
        assert_eq!((demand("cpu"), demand("locks"), demand("log")), (Some(0.002), Some(0.0001), None));
        assert!((found.network.think + found.response - 0.02).abs() < 1e-9);
        let mut r = Request::default();
        r.query.insert("cpu".into(), "2".into());
        r.query.insert("cores".into(), "7".into());
        let faster = changed(&found.network, &r);
        assert_eq!((faster.stations[0].demand, faster.stations[0].servers), (0.001, Servers::Some(7)));
        assert!(measure(&[]).is_none());
    }
}
