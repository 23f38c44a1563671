//! Closed queueing networks: clients that think, ask, wait for stations, and think again.
//!
//! What a station is asked for by one request is its *demand*, in seconds: busy time divided by requests (utilisation
//! law). From the demands follow the throughput and the response time of any number of clients: exactly, by the
//! normalisation constants of the product form (Buzen 1973; stations with several servers are load-dependent ones), and
//! within bounds that need no computation (asymptotic and balanced, Lazowska et al., Quantitative System Performance,
//! chapter 5). [`Usl`] fits Gunther's universal scalability law to measured points.
//!
//! The product form holds for requests that find stations in no special state: it does not know locks, batches, or a
//! group commit that serves many at once. Compare with what is measured before you believe what it foretells.

mod usl;

pub use usl::Usl;

/// How requests are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Servers {
    /// So many at a time; others queue.
    Some(u32),
    /// All at once: a delay.
    Enough,
}

/// Something that requests need.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    pub name: String,
    /// Seconds of service that a request needs.
    pub demand: f64,
    pub servers: Servers,
}

impl Station {
    /// The least demand that a bottleneck of one server would have instead.
    fn per_server(&self) -> f64 {
        match self.servers {
            Servers::Some(n) => self.demand / f64::from(n.max(1)),
            Servers::Enough => 0.0,
        }
    }
}

/// Stations, and the time that clients think between two requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    pub stations: Vec<Station>,
    /// Seconds.
    pub think: f64,
}

/// What so many clients get.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solution {
    pub clients: u32,
    /// Requests a second.
    pub throughput: f64,
    /// Seconds.
    pub response: f64,
}

/// Bounds of the throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    pub least: f64,
    pub most: f64,
}

/// More clients are not computed.
pub const MOST_CLIENTS: u32 = 1000;

impl Network {
    /// Seconds of service of a request, without any waiting.
    pub fn demand(&self) -> f64 {
        self.stations.iter().map(|s| s.demand).sum()
    }

    /// The station that is busy first, and the most requests a second that it lets through. `None` without one.
    pub fn bottleneck(&self) -> Option<(&Station, f64)> {
        let busiest = self.stations.iter().max_by(|a, b| a.per_server().total_cmp(&b.per_server()))?;
        (busiest.per_server() > 0.0).then(|| (busiest, 1.0 / busiest.per_server()))
    }

    /// Clients from which on they wait for one another: N*, where the asymptotes cross.
    pub fn saturation(&self) -> Option<f64> {
        let (_, most) = self.bottleneck()?;
        Some((self.demand() + self.think) * most)
    }

    /// Throughput lies within, whatever the distribution of the times.
    pub fn asymptotic(&self, clients: u32) -> Bounds {
        let n = f64::from(clients);
        let (d, z) = (self.demand(), self.think);
        let most = self.bottleneck().map_or(f64::INFINITY, |(_, most)| most).min(n / (d + z));
        Bounds { least: n / (n * d + z), most }
    }

    /// Narrower bounds, of networks with one server a station. `None` for others.
    pub fn balanced(&self, clients: u32) -> Option<Bounds> {
        let queues: Vec<f64> = self.stations.iter().map(|s| s.demand).collect();
        if self.stations.iter().any(|s| s.servers != Servers::Some(1)) || queues.is_empty() {
            return None;
        }
        let (n, d, z) = (f64::from(clients), self.demand(), self.think);
        let greatest = queues.iter().copied().fold(0.0, f64::max);
        let average = d / queues.len() as f64;
        if greatest <= 0.0 {
            return None;
        }
        let least = n / (d + z + (n - 1.0) * greatest / (1.0 + z / (n * d)));
        let most = n / (d + z + (n - 1.0) * average / (1.0 + z / d));
        Some(Bounds { least, most: most.min(1.0 / greatest) })
    }

    /// The least response time of so many clients.
    pub fn least_response(&self, clients: u32) -> f64 {
        let by_bottleneck = self.bottleneck().map_or(0.0, |(_, most)| f64::from(clients) / most - self.think);
        self.demand().max(by_bottleneck)
    }

    /// Throughput and response time of 1, 2, ... `clients` clients, exactly. At most [`MOST_CLIENTS`].
    pub fn solve(&self, clients: u32) -> Vec<Solution> {
        let n = clients.min(MOST_CLIENTS) as usize;
        let mut g = vec![f64::NEG_INFINITY; n + 1];
        g[0] = 0.0;
        let delay = Station { name: String::new(), demand: self.think, servers: Servers::Enough };
        for station in self.stations.iter().chain([&delay]).filter(|s| s.demand > 0.0) {
            g = convolve(&g, &logs(station, n));
        }
        let solution = |i: usize| {
            let throughput = (g[i - 1] - g[i]).exp();
            Solution { clients: i as u32, throughput, response: i as f64 / throughput - self.think }
        };
        if g.get(1).is_none_or(|g| g.is_infinite()) {
            // Nothing takes any time.
            return Vec::new();
        }
        (1..=n).map(solution).collect()
    }

    /// What part of its time each station is busy at so many requests a second; of a delay, how many are in it.
    pub fn busy(&self, throughput: f64) -> Vec<f64> {
        let of = |s: &Station| match s.servers {
            Servers::Some(_) => throughput * s.per_server(),
            Servers::Enough => throughput * s.demand,
        };
        self.stations.iter().map(of).collect()
    }
}

/// The logarithms of a station's factors: of 0, 1, ... `n` requests there.
fn logs(station: &Station, n: usize) -> Vec<f64> {
    let mut factors = Vec::with_capacity(n + 1);
    let mut last = 0.0;
    factors.push(last);
    for at in 1..=n {
        let rate = match station.servers {
            Servers::Some(servers) => (at as f64).min(f64::from(servers.max(1))),
            Servers::Enough => at as f64,
        };
        last += (station.demand / rate).ln();
        factors.push(last);
    }
    factors
}

/// The sum over all ways to divide `n` requests, in logarithms: the numbers themselves leave what a float can hold.
fn convolve(a: &[f64], b: &[f64]) -> Vec<f64> {
    let at = |n: usize| {
        let terms = || (0..=n).map(|i| a[i] + b[n - i]);
        let greatest = terms().fold(f64::NEG_INFINITY, f64::max);
        if greatest.is_infinite() {
            return greatest;
        }
        greatest + terms().map(|t| (t - greatest).exp()).sum::<f64>().ln()
    };
    (0..a.len()).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn station(name: &str, demand: f64, servers: u32) -> Station {
        Station { name: name.into(), demand, servers: Servers::Some(servers) }
    }

    /// Processor 80 %, disk 40 %, network 10 % busy at 400 requests a second.
    fn base(processors: u32, think: f64) -> Network {
        let [cpu, disk, net] = [0.8, 0.4, 0.1].map(|busy| busy / 400.0);
        Network {
            stations: vec![station("cpu", cpu, processors), station("disk", disk, 1), station("net", net, 1)],
            think,
        }
    }

    #[track_caller]
    fn close(got: f64, wanted: f64) {
        assert!((got / wanted - 1.0).abs() < 1e-6, "{got} is not {wanted}");
    }

    fn last(network: &Network, clients: u32) -> Solution {
        *network.solve(clients).last().unwrap()
    }

    #[test]
    fn demands_saturation_and_response_bounds() {
        let n = base(1, 0.020);
        close(n.demand(), 0.00325);
        assert_eq!(n.bottleneck().map(|(s, most)| (&*s.name, most)), Some(("cpu", 500.0)));
        close(n.saturation().unwrap(), 11.625);
        close(n.least_response(64), 0.108);
        close(n.least_response(11), 0.00325);
    }

    #[test]
    fn exact_solutions() {
        let s = last(&base(1, 0.020), 12);
        close(s.throughput, 420.955_395_010_7);
        close(s.response, 0.008_506_583_220_5);
        let s = last(&base(1, 0.0), 2);
        close(s.throughput, 416.0);
        close(s.response, 2.0 / 416.0);
        let s = last(&base(2, 0.0), 16);
        close(s.throughput, 938.144_329_906);
        close(s.response, 16.0 / 938.144_329_906);
    }

    #[test]
    fn balanced_bounds() {
        let b = base(1, 0.020).balanced(8).unwrap();
        assert!((b.least - 256.71).abs() < 0.005 && (b.most - 329.08).abs() < 0.005, "{b:?}");
        let exact = last(&base(1, 0.020), 8).throughput;
        assert!(b.least < exact && exact < b.most);
        assert_eq!(base(2, 0.0).balanced(8), None);
        let a = base(1, 0.020).asymptotic(8);
        assert!(a.least < b.least && b.most <= a.most, "{a:?}");
    }

    /// Twelve drives of 230 operations a second, of which 4000 reads take 2700, and other stations that are 60 % busy
    /// then: 4,089 reads a second, and of drives that are full (165 operations) 2,933.
    #[test]
    fn twelve_drives() {
        let network = |each: f64| Network {
            stations: vec![
                station("drives", 2700.0 / 4000.0 / each, 12),
                station("cpu", 0.6 * 2700.0 / 4000.0 / 230.0 / 12.0, 1),
            ],
            think: 0.0,
        };
        let new = network(230.0);
        assert!((new.bottleneck().unwrap().1 - 4088.9).abs() < 0.05);
        close(new.saturation().unwrap(), 12.6);
        let at_64 = last(&new, 64).throughput;
        assert!((at_64 - 4088.8).abs() < 0.2, "{at_64}");
        assert!((network(165.0).bottleneck().unwrap().1 - 2933.3).abs() < 0.05);
    }

    #[test]
    fn many_clients_and_long_thinking_stay_finite() {
        let mut n = base(16, 10.0);
        n.stations.push(Station { name: "locks".into(), demand: 0.5, servers: Servers::Enough });
        let all = n.solve(300);
        assert!(all.windows(2).all(|w| w[0].throughput <= w[1].throughput * (1.0 + 1e-9)));
        let s = all[299];
        assert!(s.throughput < 1000.0 && s.response > n.demand(), "{s:?}");
        let one = Network { stations: vec![station("cpu", 0.001, 1)], think: 0.0 };
        let all = one.solve(MOST_CLIENTS + 1);
        close(all.last().unwrap().throughput, 1000.0);
        assert_eq!(all.len(), MOST_CLIENTS as usize);
        close(n.busy(100.0)[3], 50.0);
        assert!(Network::default().solve(3).is_empty());
        assert_eq!(Network::default().saturation(), None);
    }
}
