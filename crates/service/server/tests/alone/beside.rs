//! A second protocol beside MySQL's, on the same core: a line with a status variable's name is answered with its value.

use crate::common::{Running, one, run};
use gannet_core::{Core, Figures, status};
use gannet_runtime::{Addr, Conn, Factory, Next, Peer, Ready, Service, TaskContext};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

struct Lines {
    core: Arc<Core>,
    served: Arc<AtomicU64>,
}

struct Client {
    core: Arc<Core>,
    served: Arc<AtomicU64>,
}

impl Factory for Lines {
    fn connect(&self, _: &Peer, _: &TaskContext) -> Option<Box<dyn Service>> {
        Some(Box::new(Client { core: self.core.clone(), served: self.served.clone() }))
    }
}

impl Service for Client {
    fn ready(&mut self, buffered: &[u8]) -> Ready {
        if buffered.contains(&b'\n') { Ready::Serve } else { Ready::NeedMore }
    }

    fn serve(&mut self, conn: &mut Conn) -> Next {
        while let Some(end) = conn.buffered().iter().position(|b| *b == b'\n') {
            let name = String::from_utf8_lossy(&conn.buffered()[..end]).into_owned();
            conn.consume(end + 1);
            self.served.fetch_add(1, Ordering::Relaxed);
            let rows = status::rows(&self.core, None, None, |_| true);
            let value = rows.into_iter().find(|(n, _)| *n == name).map_or("?".into(), |(_, v)| v);
            conn.out().extend_from_slice(format!("{value}\n").as_bytes());
        }
        Next::Idle
    }
}

#[test]
fn another_protocol_stands_beside_on_the_same_core() {
    let _alone = crate::alone();
    let r = Running::start();
    let instance = r.server().instance();
    let served = Arc::new(AtomicU64::new(0));
    let counted = served.clone();
    let figures: Figures = Box::new(move || vec![("Gannet_lines_served", counted.load(Ordering::Relaxed))]);
    instance.core().add_figures(figures);
    let path = r.dir.join("lines.sock");
    let lines = Arc::new(Lines { core: instance.core().clone(), served });
    instance.add_listener(&Addr::Unix(path.clone()), lines).unwrap();

    let mut c = r.connect();
    for n in 1..=3 {
        run(&mut c, &format!("SET GLOBAL max_connections = {}", 100 + n));
        let mut other = UnixStream::connect(&path).unwrap();
        other.write_all(b"Threads_connected\nGannet_lines_served\nNo_such\n").unwrap();
        let mut answers = BufReader::new(other).lines().map(Result::unwrap);
        // The clients of MySQL's protocol are counted for those of the other, and the other way round.
        assert_eq!(answers.next().unwrap(), "1");
        assert_eq!(answers.next().unwrap(), (3 * n - 1).to_string());
        assert_eq!(answers.next().unwrap(), "?");
    }
    assert_eq!(
        one(
            &mut c,
            "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Gannet_lines_served'"
        ),
        "9"
    );
}
