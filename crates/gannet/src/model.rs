//! `gannet model`: the queueing model on figures that are typed in.

use gannet_queueing::{MOST_CLIENTS, Network, Servers, Station, Usl};

const HELP: &str = "\
What a server can give: throughput and response time of a closed queueing network.

Usage: gannet model NAME=TIME[/SERVERS]... [think=TIME] [clients=N]
       gannet model usl CLIENTS=THROUGHPUT...

A station is a name and what one request needs of it: cpu=2ms, four processors cpu=2ms/4, a delay without a
queue locks=1ms/inf. Times are in us, ms or s. Instead of a time, what it was busy at a throughput: cpu=80%@400.
Clients think between two requests. The second form fits the universal scalability law to measured points.

  gannet model cpu=80%@400 disk=40%@400 net=10%@400 think=20ms clients=12
";

/// Runs `gannet model` with these arguments.
pub fn run(args: &[String]) -> Result<(), String> {
    if args.is_empty() || args.iter().any(|a| a == "--help" || a == "-?") {
        print!("{HELP}");
        return Ok(());
    }
    let text = if args[0] == "usl" { usl(&args[1..])? } else { network(args)? };
    print!("{text}");
    Ok(())
}

fn pair(word: &str) -> Result<(&str, &str), String> {
    word.split_once('=').ok_or_else(|| format!("{word}: NAME=VALUE is wanted, see gannet model --help"))
}

/// Seconds.
fn time(text: &str) -> Result<f64, String> {
    let bad = || format!("{text}: a time like 2ms is wanted");
    if let Some((busy, throughput)) = text.split_once("%@") {
        let (busy, throughput): (f64, f64) = (busy.parse().map_err(|_| bad())?, throughput.parse().map_err(|_| bad())?);
        return Some(busy / 100.0 / throughput).filter(|t| t.is_finite() && *t >= 0.0).ok_or_else(bad);
    }
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let (number, unit) = units.iter().find_map(|(u, n)| Some((text.strip_suffix(u)?, n))).ok_or_else(bad)?;
    let number: f64 = number.parse().map_err(|_| bad())?;
    Some(number * unit).filter(|t| t.is_finite() && *t >= 0.0).ok_or_else(bad)
}

fn network(args: &[String]) -> Result<String, String> {
    let mut network = Network::default();
    let mut clients = 16;
    for word in args {
        match pair(word)? {
            ("think", value) => network.think = time(value)?,
            ("clients", value) => {
                let n = value.parse().ok().filter(|n| (1..=MOST_CLIENTS).contains(n));
                clients = n.ok_or_else(|| format!("{word}: 1 to {MOST_CLIENTS} clients can be computed"))?;
            }
            (name, value) => {
                let (demand, servers) = value.split_once('/').unwrap_or((value, "1"));
                let servers = match servers {
                    "inf" => Servers::Enough,
                    n => Servers::Some(n.parse().ok().filter(|n| *n > 0).ok_or_else(|| format!("{word}: servers"))?),
                };
                network.stations.push(Station { name: name.into(), demand: time(demand)?, servers });
            }
        }
    }
    let all = network.solve(clients);
    let last = *all.last().ok_or("no station takes any time")?;
    let mut out = format!("demand      {:.6} ms\n", network.demand() * 1e3);
    if let (Some((station, most)), Some(n)) = (network.bottleneck(), network.saturation()) {
        out += &format!("bottleneck  {}, {most:.3} requests/s at most\nsaturation  {n:.3} clients\n", station.name);
    }
    if let Some(b) = network.balanced(clients) {
        out += &format!("bounds      {:.2} to {:.2} requests/s with {clients} clients\n", b.least, b.most);
    }
    for (station, busy) in network.stations.iter().zip(network.busy(last.throughput)) {
        out += &match station.servers {
            Servers::Some(_) => format!("{:<11} {:.1} % busy\n", station.name, busy * 100.0),
            Servers::Enough => format!("{:<11} {busy:.3} requests in it\n", station.name),
        };
    }
    out += "\nclients  requests/s  response ms\n";
    let step = (clients / 16).max(1);
    for s in all.iter().filter(|s| s.clients % step == 0 || s.clients == 1 || s.clients == clients) {
        out += &format!("{:>7}  {:>10.3}  {:>11.6}\n", s.clients, s.throughput, s.response * 1e3);
    }
    Ok(out)
}

fn usl(args: &[String]) -> Result<String, String> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for word in args {
        let (n, x) = pair(word)?;
        let bad = |_| format!("{word}: CLIENTS=THROUGHPUT is wanted");
        points.push((n.parse().map_err(bad)?, x.parse().map_err(bad)?));
    }
    let law = Usl::fit(&points).ok_or("two points with different numbers of clients are wanted")?;
    let mut out = format!("contention  {:.6}\ncrosstalk   {:.9}\n", law.contention, law.crosstalk);
    if let Some(peak) = law.peak() {
        out += &format!("peak        {:.1} requests/s with {peak:.1} clients\n", law.at(peak));
    }
    for (n, x) in points {
        out += &format!("{n:>7}  measured {x:>10.3}  by the law {:>10.3}\n", law.at(n));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(String::from).collect()
    }

    #[test]
    fn figures_that_are_typed_in() {
        let out = network(&words("cpu=80%@400 disk=40%@400 net=10%@400 think=20ms clients=12")).unwrap();
        for line in ["demand      3.250000 ms", "saturation  11.625 clients", "     12     420.955     8.506583"] {
            assert!(out.contains(line), "{out}");
        }
        let out = network(&words("cpu=2ms/2 disk=1ms net=250us locks=1ms/inf")).unwrap();
        assert!(out.contains("requests in it"), "{out}");
        assert!(usl(&words("1=1 6=5.4")).unwrap().contains("contention  0.022222"));
    }

    #[test]
    fn what_is_no_figure_is_refused() {
        for bad in [
            "cpu",
            "cpu=2",
            "cpu=-1ms",
            "cpu=1ms/0",
            "cpu=xms",
            "cpu=1ms clients=0",
            "cpu=1ms clients=99999",
            "cpu=0ms",
        ] {
            assert!(network(&words(bad)).is_err_and(|e| !e.is_empty()), "{bad}");
        }
        assert!(usl(&words("1=1")).is_err_and(|e| e.contains("two points")));
    }
}
