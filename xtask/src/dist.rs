//! `cargo xtask dist`: what is handed to people, in `target/dist`.
//!
//! | file | what |
//! |---|---|
//! | `gannet` | the binary, stripped |
//! | `gannet.debug` | its symbols: with them beside it, profilers and back traces name functions and lines |
//! | `gannet_VERSION_ARCH.deb` | the Debian package: binary, systemd unit, configuration, documents |
//!
//! Wants `objcopy` (binutils) and `dpkg-deb`. The one library is the C library, whose version is read from the binary.

use crate::clients::build_release;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

/// Files of the package that come from the repository: source, place, mode.
const FILES: &[(&str, &str, u32)] = &[
    ("packaging/debian/gannet.service", "lib/systemd/system/gannet.service", 0o644),
    ("packaging/debian/gannet.cnf", "etc/gannet/gannet.cnf", 0o644),
    ("README.md", "usr/share/doc/gannet/README.md", 0o644),
    ("LICENSE", "usr/share/doc/gannet/copyright", 0o644),
    ("docs/getting-started.md", "usr/share/doc/gannet/getting-started.md", 0o644),
    ("docs/operations.md", "usr/share/doc/gannet/operations.md", 0o644),
    ("docs/compatibility.md", "usr/share/doc/gannet/compatibility.md", 0o644),
    ("packaging/debian/postinst", "DEBIAN/postinst", 0o755),
    ("packaging/debian/prerm", "DEBIAN/prerm", 0o755),
    ("packaging/debian/postrm", "DEBIAN/postrm", 0o755),
];

/// Builds everything; the sizes of what was made.
pub fn run(root: &Path) -> Result<String, String> {
    let built = build_release(root)?;
    let dist = root.join("target/dist");
    fs::create_dir_all(&dist).map_err(|e| format!("{}: {e}", dist.display()))?;
    let (binary, symbols) = (dist.join("gannet"), dist.join("gannet.debug"));
    call(Command::new("objcopy").arg("--only-keep-debug").arg(&built).arg(&symbols))?;
    call(Command::new("objcopy").arg("--strip-all").arg(&built).arg(&binary))?;
    // The link is a name and a checksum: debuggers look for the name beside the binary.
    call(Command::new("objcopy").current_dir(&dist).arg("--add-gnu-debuglink=gannet.debug").arg("gannet"))?;
    let package = package(root, &dist, &binary)?;
    let mut report = String::new();
    for file in [&binary, &symbols, &package] {
        let bytes = fs::metadata(file).map_err(|e| format!("{}: {e}", file.display()))?.len();
        report.push_str(&format!("{:>8.1} MiB  {}\n", bytes as f64 / f64::from(1 << 20), file.display()));
    }
    Ok(report.trim_end().to_owned())
}

fn package(root: &Path, dist: &Path, binary: &Path) -> Result<PathBuf, String> {
    let version = env!("CARGO_PKG_VERSION");
    let arch = output(Command::new("dpkg").arg("--print-architecture"))?;
    let tree = dist.join("deb");
    let _ = fs::remove_dir_all(&tree);
    let copy = |from: &Path, to: &str, mode: u32| -> Result<(), String> {
        let to = tree.join(to);
        let told = |e: std::io::Error| format!("{}: {e}", to.display());
        fs::create_dir_all(to.parent().unwrap_or(&tree)).map_err(told)?;
        fs::copy(from, &to).map_err(told)?;
        fs::set_permissions(&to, fs::Permissions::from_mode(mode)).map_err(told)
    };
    for (from, to, mode) in FILES {
        copy(&root.join(from), to, *mode)?;
    }
    copy(binary, "usr/bin/gannet", 0o755)?;
    let kib = output(Command::new("du").arg("-sk").arg(&tree))?;
    let kib = kib.split_whitespace().next().unwrap_or("0");
    let libc = newest_libc(&output(Command::new("objdump").arg("-T").arg(binary))?);
    let control = format!(
        "Package: gannet\nVersion: {version}\nArchitecture: {arch}\nSection: database\nPriority: optional\n\
         Depends: libc6 (>= {libc}), libgcc-s1, passwd\nInstalled-Size: {kib}\n\
         Maintainer: The Gannet maintainers <maintainers@gannet.invalid>\n\
         Description: relational database server that speaks MySQL\n \
         One binary, no configuration: InnoDB's semantics, MySQL's protocol and SQL.\n"
    );
    let write = |name: &str, text: &str| {
        let path = tree.join("DEBIAN").join(name);
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
    };
    write("control", &control)?;
    write("conffiles", "/etc/gannet/gannet.cnf\n")?;
    let deb = dist.join(format!("gannet_{version}_{arch}.deb"));
    call(Command::new("dpkg-deb").args(["--root-owner-group", "--build"]).arg(&tree).arg(&deb))?;
    Ok(deb)
}

/// The newest version of the C library among the symbols that a binary wants, as `objdump -T` prints them.
fn newest_libc(symbols: &str) -> String {
    let versions = symbols.split("GLIBC_").skip(1).filter_map(|rest| {
        let text: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        let parts: Option<Vec<u32>> = text.split('.').map(|n| n.parse().ok()).collect();
        Some((parts?, text))
    });
    versions.max().map_or_else(|| "2.34".to_owned(), |(_, text)| text)
}

fn call(command: &mut Command) -> Result<(), String> {
    output(command).map(drop)
}

fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|e| format!("{name}: {e}"))?;
    if !done.status.success() {
        return Err(format!("{name} failed: {}", String::from_utf8_lossy(&done.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::newest_libc;

    #[test]
    fn the_newest_version_is_by_number() {
        let symbols = "0 DF *UND* 0 (GLIBC_2.9) read\n0 DF *UND* 0 (GLIBC_2.34) open\n0 DF *UND* 0 (GCC_3.0) _Unwind\n";
        assert_eq!(newest_libc(symbols), "2.34");
    }
}
