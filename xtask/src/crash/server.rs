//! The server's process, the file system it works on, and `gannet check`.

use gannet_wire::client::{Address, Connection, Options};
use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

/// A start, or a check, that takes longer does not end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the store lies: a directory, or a small file system of its own.
pub(crate) struct Disk {
    dir: PathBuf,
    mounted: bool,
}

impl Disk {
    pub(crate) fn new(dir: &Path, mib: Option<u64>) -> Result<Disk, String> {
        let made = std::fs::create_dir_all(dir.join("store"));
        made.map_err(|e| format!("{}: {e}", dir.display()))?;
        let disk = Disk { dir: dir.to_owned(), mounted: mib.is_some() };
        if let Some(mib) = mib {
            let (image, at) = (dir.join("image"), dir.join("store"));
            let file = File::create(&image).and_then(|f| f.set_len(mib << 20));
            file.map_err(|e| format!("{}: {e}", image.display()))?;
            command(Command::new("mkfs.ext4").args(["-q", "-F", "-m", "0"]).arg(&image))?;
            command(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&at))?;
        }
        Ok(disk)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.join("store/data")
    }

    /// Takes the room of the file system but for so many bytes.
    pub(super) fn fill(&self, leave: u64) -> Result<(), String> {
        self.make_room();
        let out = Command::new("df").args(["-B1", "--output=avail"]).arg(self.dir.join("store")).output();
        let out = out.map_err(|e| format!("df: {e}"))?.stdout;
        let free: Option<u64> = String::from_utf8_lossy(&out).lines().last().and_then(|l| l.trim().parse().ok());
        let taken = free.ok_or("df says nothing")?.saturating_sub(leave).max(1);
        command(Command::new("fallocate").args(["-l", &taken.to_string()]).arg(self.dir.join("store/ballast")))
    }

    /// Gives back what [`Disk::fill`] took.
    pub(super) fn make_room(&self) {
        let _ = std::fs::remove_file(self.dir.join("store/ballast"));
    }

    /// A copy of the store, elsewhere: holes stay holes.
    pub(super) fn copy(&self) -> Result<PathBuf, String> {
        let to = self.dir.join("copy");
        let _ = std::fs::remove_dir_all(&to);
        command(Command::new("cp").args(["-a", "--sparse=always"]).arg(self.data()).arg(&to))?;
        Ok(to)
    }

    /// Everything was as it should be.
    pub(crate) fn remove(mut self) {
        self.unmount();
        let _ = std::fs::remove_dir_all(&self.dir);
    }

    fn unmount(&mut self) {
        if std::mem::take(&mut self.mounted) {
            let _ = Command::new("umount").arg(self.dir.join("store")).status();
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // The image stays, for a look at it.
        self.unmount();
    }
}

fn command(command: &mut Command) -> Result<(), String> {
    let name = format!("{command:?}");
    match command.stdout(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}")),
        Err(e) => Err(format!("{name}: {e}")),
    }
}

/// A server that runs.
pub(crate) struct Server {
    child: Mutex<Child>,
    socket: PathBuf,
}

fn spawn(binary: &Path, disk: &Disk, round: u64, options: &[String]) -> Result<Server, String> {
    let socket = disk.dir.join("s.sock");
    let _ = std::fs::remove_file(&socket);
    // Sometimes the log, and sometimes the pool, is what there is too little of.
    let (pool, redo) = [("16M", "32M"), ("64M", "32M"), ("8M", "16M")][(round % 3) as usize];
    let log = File::options().create(true).append(true).open(disk.dir.join("server.log")).map_err(|e| e.to_string())?;
    let child = Command::new(binary)
        .args(["serve", "--skip-networking"])
        .arg(format!("--datadir={}", disk.data().display()))
        .arg(format!("--socket={}", socket.display()))
        .arg(format!("--innodb-buffer-pool-size={pool}"))
        .arg(format!("--innodb-redo-log-capacity={redo}"))
        .args(options)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(|e| format!("{}: {e}", binary.display()))?;
    Ok(Server { child: Mutex::new(child), socket })
}

/// Starts the server and kills it, whether it answers already or not.
pub(super) fn start_and_kill(binary: &Path, disk: &Disk, after: Duration) -> Result<(), String> {
    let server = spawn(binary, disk, 0, &[])?;
    std::thread::sleep(after);
    if let Some(status) = server.ended() {
        return Err(format!("the server ended by itself: {status}; {}", log(disk)));
    }
    server.kill();
    Ok(())
}

fn log(disk: &Disk) -> String {
    let text = std::fs::read_to_string(disk.dir.join("server.log")).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}

impl Server {
    /// With further options, which stand above those that the round gives.
    pub(crate) fn start_with(binary: &Path, disk: &Disk, round: u64, options: &[String]) -> Result<Server, String> {
        let server = spawn(binary, disk, round, options)?;
        let began = Instant::now();
        while server.connect().is_err() {
            if let Some(status) = server.ended() {
                return Err(format!("the server does not start: {status}; {}", log(disk)));
            }
            if began.elapsed() > PATIENCE {
                server.kill();
                return Err(format!("the server does not answer after {PATIENCE:?}; {}", log(disk)));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(server)
    }

    pub(crate) fn connect(&self) -> Result<Connection, String> {
        let options = Options { timeout: Some(PATIENCE), ..Options::default() };
        Connection::connect(&Address::Unix(self.socket.clone()), &options).map_err(|e| e.to_string())
    }

    fn ended(&self) -> Option<String> {
        self.child.lock().expect("a child").try_wait().ok().flatten().map(|status| status.to_string())
    }

    /// `kill -9`, while clients still use it.
    pub(super) fn kill_soon(&self) {
        let _ = self.child.lock().expect("a child").kill();
    }

    /// `kill -9`, and waits for its end.
    pub(crate) fn kill(self) {}
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill_soon();
        let _ = self.child.lock().expect("a child").wait();
    }
}

/// `gannet check`; gives its summary. The error: it found something, or does not end.
pub(crate) fn check(binary: &Path, disk: &Disk, data: &Path) -> Result<String, String> {
    let said = disk.dir.join("check.txt");
    let to = File::create(&said).map_err(|e| format!("{}: {e}", said.display()))?;
    let mut child = Command::new(binary)
        .arg("check")
        .arg(format!("--datadir={}", data.display()))
        .stdout(to.try_clone().map_err(|e| e.to_string())?)
        .stderr(to)
        .spawn()
        .map_err(|e| format!("{}: {e}", binary.display()))?;
    let began = Instant::now();
    let text = || std::fs::read_to_string(&said).unwrap_or_default();
    loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) if status.success() => return Ok(text().lines().next().unwrap_or_default().to_owned()),
            Some(status) => return Err(format!("gannet check: {status}: {}", text())),
            None if began.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("gannet check does not end within {PATIENCE:?}: {}", text()));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}
