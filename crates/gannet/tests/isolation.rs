//! What the isolation levels give, as named steps in all orders, against the recorded results of InnoDB: a part of the
//! cases. All of them: `cargo xtask isolation --socket-a SOCKET`, with the clients in CI.

use gannet_wire::client::Address;
use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Of the cases with several ways of reading every so many-th.
const PART: usize = 23;

struct Server {
    child: Child,
    dir: PathBuf,
}

impl Server {
    fn start(dir: PathBuf) -> Server {
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a directory");
        let child = Command::new(env!("CARGO_BIN_EXE_gannet"))
            .args([
                "serve",
                "--skip-networking",
                "--innodb-buffer-pool-size=32M",
                "--innodb-redo-log-capacity=64M",
                "--innodb-flush-log-at-trx-commit=0",
            ])
            .arg(format!("--datadir={}", dir.join("data").display()))
            .arg(format!("--socket={}", dir.join("s.sock").display()))
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(dir.join("server.log")).expect("a log"))
            .spawn()
            .expect("the binary starts");
        let server = Server { child, dir };
        let deadline = Instant::now() + Duration::from_secs(120);
        while std::os::unix::net::UnixStream::connect(server.socket()).is_err() {
            assert!(Instant::now() < deadline, "no connection");
            std::thread::sleep(Duration::from_millis(10));
        }
        server
    }

    fn socket(&self) -> PathBuf {
        self.dir.join("s.sock")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

#[test]
fn the_levels_give_what_innodb_gives() {
    let server = Server::start(std::env::temp_dir().join(format!("gannet-isolation-{}", std::process::id())));
    let recorded = xtask::isolation::recorded(&xtask::root());
    let found = xtask::isolation::check(&Address::Unix(server.socket()), &recorded, PART).expect("the steps are taken");
    assert!(found.cases >= 40 && found.orders >= 400, "{} cases, {} orders", found.cases, found.orders);
    assert!(found.differences.is_empty(), "{}", found.differences.join("\n"));
}
