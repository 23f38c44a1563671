//! `cargo xtask dist`: what is handed to people, in `target/dist` (`dist` below `CARGO_TARGET_DIR`).
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
    ("LICENSE", "usr/share/doc/gannet/copyright", 0o644),
    ("packaging/debian/postinst", "DEBIAN/postinst", 0o755),
    ("packaging/debian/prerm", "DEBIAN/prerm", 0o755),
    ("packaging/debian/postrm", "DEBIAN/postrm", 0o755),
];

/// Documents for whoever runs a server; they lie beside each other in the package.
const DOCUMENTS: &[&str] = &[
    "README.md",
    "docs/getting-started.md",
    "docs/operations.md",
    "docs/compatibility.md",
    "docs/variables.md",
    "docs/faults.md",
    "docs/clients.md",
    "docs/recovery.md",
    "docs/glossary.md",
];

/// A document with its links to others of the package as they lie there; of links to anything else in the repository
/// the text stays.
fn relinked(document: &str, text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("](") {
        let Some(length) = rest[start..].find(')') else { break };
        let target = &rest[start + 2..start + length];
        let open = rest[..start].rfind('[').filter(|_| !target.contains("://") && !target.starts_with('#'));
        let Some(open) = open else {
            out.push_str(&rest[..start + length + 1]);
            rest = &rest[start + length + 1..];
            continue;
        };
        let (path, section) = target.split_once('#').map_or((target, ""), |(path, section)| (path, section));
        out.push_str(&rest[..open]);
        let words = &rest[open + 1..start];
        let packaged = DOCUMENTS.iter().find(|d| **d == resolved(document, path));
        match packaged.and_then(|d| d.rsplit('/').next()) {
            Some(name) if section.is_empty() => out.push_str(&format!("[{words}]({name})")),
            Some(name) => out.push_str(&format!("[{words}]({name}#{section})")),
            None => out.push_str(words),
        }
        rest = &rest[start + length + 1..];
    }
    out + rest
}

/// A link's path from the root of the repository.
fn resolved(document: &str, path: &str) -> String {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            other => parts.push(other),
        }
    }
    parts.join("/")
}

/// Builds everything; the sizes of what was made.
pub fn run(root: &Path) -> Result<String, String> {
    let built = build_release(root)?;
    // Beside the build, wherever that is.
    let target = built.ancestors().nth(2).unwrap_or(root);
    let dist = target.join("dist");
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
    for document in DOCUMENTS {
        let text = fs::read_to_string(root.join(document)).map_err(|e| format!("{document}: {e}"))?;
        let name = document.rsplit('/').next().unwrap_or(document);
        let to = tree.join("usr/share/doc/gannet").join(name);
        fs::write(&to, relinked(document, &text)).map_err(|e| format!("{}: {e}", to.display()))?;
        fs::set_permissions(&to, fs::Permissions::from_mode(0o644)).map_err(|e| format!("{}: {e}", to.display()))?;
    }
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
    let done = command.output().map_err(|e| match (e.kind(), name.as_str()) {
        (std::io::ErrorKind::NotFound, "objcopy" | "objdump") => {
            format!("{name} is missing: it is in the package binutils")
        }
        (std::io::ErrorKind::NotFound, "dpkg" | "dpkg-deb") => {
            format!("{name} is missing: the package is made on Debian")
        }
        _ => format!("{name}: {e}"),
    })?;
    if !done.status.success() {
        return Err(format!("{name} failed: {}", String::from_utf8_lossy(&done.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{DOCUMENTS, newest_libc, relinked};
    use std::path::Path;

    #[test]
    fn links_lead_to_documents_of_the_package() {
        let text =
            "See [operations](docs/operations.md#memory), [the lab](docs/lab/x.md) and [MySQL](https://mysql.com/a).";
        let wanted = "See [operations](operations.md#memory), the lab and [MySQL](https://mysql.com/a).";
        assert_eq!(relinked("README.md", text), wanted);
        assert_eq!(
            relinked("docs/faults.md", "[a](../README.md) [b](recovery.md) [c](#here)"),
            "[a](README.md) [b](recovery.md) [c](#here)"
        );
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for document in DOCUMENTS {
            let text = std::fs::read_to_string(root.join(document)).unwrap();
            for target in relinked(document, &text).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let path = target.split('#').next().unwrap_or_default();
                let there = DOCUMENTS.iter().any(|d| d.rsplit('/').next() == Some(path));
                assert!(path.is_empty() || path.contains("://") || there, "{document}: {target}");
            }
        }
    }

    #[test]
    fn the_newest_version_is_by_number() {
        let symbols = "0 DF *UND* 0 (GLIBC_2.9) read\n0 DF *UND* 0 (GLIBC_2.34) open\n0 DF *UND* 0 (GCC_3.0) _Unwind\n";
        assert_eq!(newest_libc(symbols), "2.34");
    }
}
