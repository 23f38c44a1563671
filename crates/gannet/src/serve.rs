//! `gannet serve`: starts a server and waits for it to be stopped.

use gannet_server::{Request, Server, ServerOptions};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Runs `gannet serve` with these arguments.
pub fn run(args: &[String]) -> Result<(), String> {
    gannet_runtime::bound_free_memory();
    let options = match ServerOptions::parse(args)? {
        Request::Help => {
            print!("{}", gannet_server::help());
            return Ok(());
        }
        Request::Version => {
            println!("{}", version());
            return Ok(());
        }
        Request::Serve(options) => *options,
    };
    // Before anything is opened: a signal during the start must not leave the store half open.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(|e| format!("cannot handle signals: {e}"))?;
    let mut server = Server::open(options)?;
    let console = gannet_console::start(server.instance(), server.sessions())?;
    let keys = gannet_memcache::start(server.instance(), server.sessions())?;
    let replica = gannet_replica::start(server.core(), server.sessions())?;
    server.serve()?;
    print!("{}", server.banner());
    if let Some(at) = console {
        let scheme = if at.ip().is_loopback() { "http" } else { "https" };
        println!("  console:  {scheme}://{at}/");
    }
    if let Some(at) = keys.tcp {
        println!("  memcached's protocol: {at}");
    }
    if let Some(path) = &keys.socket {
        println!("  memcached's protocol: {}", path.display());
    }
    server.core().log.system(format_args!("{} is ready for connections", version()));
    gannet_runtime::tell_service_manager("READY=1");
    let shared = server.core().clone();
    let started = gannet_runtime::start_thread("signals", None, move || {
        let mut asked = false;
        for signal in signals.forever() {
            if signal == SIGHUP {
                continue;
            }
            if asked {
                // Asked twice: the store is crash-safe.
                std::process::exit(1);
            }
            asked = true;
            shared.log.system("a signal asks the server to shut down");
            shared.request_stop();
        }
    });
    started.map_err(|e| format!("cannot start a thread: {e}"))?;
    server.wait();
    gannet_runtime::tell_service_manager("STOPPING=1");
    drop(replica);
    drop(keys);
    server.stop();
    Ok(())
}

/// What `--version` prints.
pub fn version() -> String {
    format!("gannet {} (MySQL {})", env!("CARGO_PKG_VERSION"), gannet_server::MYSQL_VERSION)
}
