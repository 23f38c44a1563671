//! Gunther's universal scalability law.

/// Throughput of `n` clients is `first * n / (1 + contention * (n - 1) + crosstalk * n * (n - 1))`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    /// Requests a second of one client.
    pub first: f64,
    /// What each further one waits for the others: sigma.
    pub contention: f64,
    /// What each pair costs: kappa.
    pub crosstalk: f64,
}

impl Usl {
    /// Of so many clients.
    pub fn at(&self, clients: f64) -> f64 {
        let others = clients - 1.0;
        self.first * clients / (1.0 + self.contention * others + self.crosstalk * clients * others)
    }

    /// Clients at which throughput is greatest; `None`: more are always better.
    pub fn peak(&self) -> Option<f64> {
        (self.crosstalk > 0.0).then(|| ((1.0 - self.contention) / self.crosstalk).max(0.0).sqrt())
    }

    /// The law through the points (clients, throughput), by least squares; the first point's throughput a client stands
    /// for one client's. No coefficient below zero. `None` without two points of different clients.
    pub fn fit(points: &[(f64, f64)]) -> Option<Usl> {
        let (n, x) = *points.iter().filter(|(n, x)| *n >= 1.0 && *x > 0.0).min_by(|a, b| a.0.total_cmp(&b.0))?;
        let first = x / n;
        // n * first / x - 1 = contention * (n - 1) + crosstalk * n * (n - 1): linear in both.
        let rows: Vec<(f64, f64, f64)> = points
            .iter()
            .filter(|(n, x)| *n > 1.0 && *x > 0.0)
            .map(|(n, x)| (n - 1.0, n * (n - 1.0), n * first / x - 1.0))
            .collect();
        let sum = |f: fn(&(f64, f64, f64)) -> f64| rows.iter().map(f).sum::<f64>();
        let (aa, ab, bb) = (sum(|r| r.0 * r.0), sum(|r| r.0 * r.1), sum(|r| r.1 * r.1));
        let (ay, by) = (sum(|r| r.0 * r.2), sum(|r| r.1 * r.2));
        if aa <= 0.0 {
            return None;
        }
        let det = aa * bb - ab * ab;
        let alone = ((ay / aa).max(0.0), 0.0);
        let (contention, crosstalk) = if det.abs() < 1e-9 * aa * bb {
            alone
        } else {
            match ((ay * bb - by * ab) / det, (by * aa - ay * ab) / det) {
                (_, k) if k < 0.0 => alone,
                (s, _) if s < 0.0 => (0.0, (by / bb).max(0.0)),
                both => both,
            }
        };
        Some(Usl { first, contention, crosstalk })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ninety_percent_of_linear_from_one_to_six() {
        let usl = Usl::fit(&[(1.0, 1.0), (6.0, 5.4)]).unwrap();
        assert!((usl.contention - 0.022_222_222).abs() < 1e-6, "{usl:?}");
        assert!((usl.at(6.0) - 5.4).abs() < 1e-9 && usl.peak().is_none());
    }

    #[test]
    fn what_follows_the_law_is_found_again() {
        let law = Usl { first: 100.0, contention: 0.05, crosstalk: 0.001 };
        let points: Vec<(f64, f64)> = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].iter().map(|n| (*n, law.at(*n))).collect();
        let found = Usl::fit(&points).unwrap();
        assert!((found.contention - 0.05).abs() < 1e-9 && (found.crosstalk - 0.001).abs() < 1e-9);
        assert!((found.peak().unwrap() - 950f64.sqrt()).abs() < 1e-6);
        assert_eq!(Usl::fit(&[(1.0, 5.0)]), None);
        // Better than linear: no coefficient is below zero.
        let better = Usl::fit(&[(1.0, 1.0), (2.0, 3.0), (4.0, 9.0)]).unwrap();
        assert!(better.contention >= 0.0 && better.crosstalk >= 0.0);
    }
}
