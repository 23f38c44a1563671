//! Directories and names. Changes of names are durable after [`sync_dir`] of the directory.

use std::fs as stdfs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::cx::simulated;
use crate::os::run_blocking;
use crate::sim::current_disk;

/// Who may read a file that is made, beside the owner, who alone may write it. A file that is there keeps its mode.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Nobody: data, keys.
    #[default]
    Owner,
    /// The owner's group: logs, settings, what statements write.
    Group,
    /// Everybody: certificates.
    Everybody,
}

impl Readers {
    /// The bits of the mode.
    pub const fn mode(self) -> u32 {
        match self {
            Readers::Owner => 0o600,
            Readers::Group => 0o640,
            Readers::Everybody => 0o644,
        }
    }
}

/// How to write a plain file, one outside of the store, which is made if it is not there.
pub fn plain_file(readers: Readers) -> stdfs::OpenOptions {
    let mut how = stdfs::OpenOptions::new();
    how.create(true).mode(readers.mode());
    how
}

/// Reads a plain file as a whole.
pub fn read_plain(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    stdfs::read(path)
}

/// A plain file to read from, as it comes.
pub fn open_plain(path: impl AsRef<Path>) -> io::Result<stdfs::File> {
    stdfs::File::open(path)
}

/// Writes a plain file as a whole.
pub fn write_plain(path: impl AsRef<Path>, readers: Readers, content: &[u8]) -> io::Result<()> {
    let mut file = plain_file(readers).write(true).truncate(true).open(path)?;
    io::Write::write_all(&mut file, content)
}

/// Makes a directory and its parents, with mode 0700 for those that are new.
pub fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    if simulated() {
        return current_disk().create_dir_all(path);
    }
    run_blocking(|| stdfs::DirBuilder::new().recursive(true).mode(0o700).create(path))
}

/// Renames a file, replacing what has the new name.
pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (from.as_ref(), to.as_ref());
    if simulated() {
        return current_disk().rename(from, to);
    }
    run_blocking(|| stdfs::rename(from, to))
}

/// Removes a file.
pub fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    if simulated() {
        return current_disk().remove_file(path);
    }
    run_blocking(|| stdfs::remove_file(path))
}

/// Removes a directory and all in it.
pub fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    if simulated() {
        return current_disk().remove_dir_all(path);
    }
    run_blocking(|| stdfs::remove_dir_all(path))
}

/// Paths of a directory's entries, sorted by name.
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<Vec<PathBuf>> {
    let path = path.as_ref();
    if simulated() {
        return current_disk().read_dir(path);
    }
    run_blocking(|| {
        let mut found = stdfs::read_dir(path)?.map(|e| e.map(|e| e.path())).collect::<io::Result<Vec<_>>>()?;
        found.sort();
        Ok(found)
    })
}

/// Makes the names in a directory durable.
pub fn sync_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    if simulated() {
        return current_disk().sync_dir(path);
    }
    run_blocking(|| stdfs::File::open(path)?.sync_all())
}

/// True when something has this name.
pub fn exists(path: impl AsRef<Path>) -> io::Result<bool> {
    let path = path.as_ref();
    if simulated() {
        return Ok(current_disk().exists(path));
    }
    run_blocking(|| path.try_exists())
}

/// Bytes free for this process in the file system of `path`.
pub fn free_space(path: impl AsRef<Path>) -> io::Result<u64> {
    use std::os::unix::ffi::OsStrExt;
    if simulated() {
        return Ok(current_disk().free_space());
    }
    let path = std::ffi::CString::new(path.as_ref().as_os_str().as_bytes())?;
    run_blocking(|| {
        // SAFETY: `path` is a terminated string and `info` a valid place for the result.
        unsafe {
            let mut info = std::mem::zeroed::<libc::statvfs>();
            if libc::statvfs(path.as_ptr(), &mut info) == 0 {
                Ok((info.f_bavail as u64).saturating_mul(info.f_frsize as u64))
            } else {
                Err(io::Error::last_os_error())
            }
        }
    })
}
