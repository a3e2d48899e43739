//! The Unix socket: bound once, by one daemon, for one user.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tokio::net::UnixListener;

use crate::domain::limits::{SOCKET_BACKLOG, SOCKET_PATH_BYTES_MAX};

/// Why the socket cannot be had. All are the environment's fault; none goes away by itself.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The path does not fit in a socket address.
    #[error(
        "the socket path {0} has more than {SOCKET_PATH_BYTES_MAX} bytes; choose a shorter one"
    )]
    PathTooLong(PathBuf),
    /// Another daemon serves this path.
    #[error("another recalld serves {0}")]
    Busy(PathBuf),
    /// Something that is no socket is in the way; it is left alone.
    #[error("{0} exists and is no socket; remove it or choose another path")]
    NotASocket(PathBuf),
    /// Somebody else's socket is in the way.
    #[error("{path} belongs to uid {uid}; remove it or choose another path")]
    ForeignOwner {
        /// Where.
        path: PathBuf,
        /// Whose.
        uid: u32,
    },
    /// The file is gone, and whoever bound it must bind it again.
    #[error(
        "{0} was removed, and the service manager holds it: restart the socket unit (`systemctl --user restart recalld.socket`)"
    )]
    NotOurs(PathBuf),
    /// The system said no.
    #[error("cannot {action} {path}: {error}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

/// A bound socket; if it was bound here, with the lock that keeps other daemons away and a file that
/// goes when this is dropped.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode of its file; `None` if it has none.
    file: Option<(u64, u64)>,
    /// What was made for it; nothing for a socket that somebody else bound.
    made: Option<Made>,
}

/// What a socket of our own has beside its file.
#[derive(Debug)]
struct Made {
    /// Permission bits.
    mode: u32,
    lock: File,
}

impl Socket {
    /// Binds `path` with permission bits `mode` (0o600 for one user, 0o660 for a group). Missing
    /// directories are made for the owner alone; a socket that a dead daemon left is replaced.
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    /// See [`SocketError`].
    pub fn bind(path: &Path, mode: u32) -> Result<Self, SocketError> {
        if path.as_os_str().as_bytes().len() > SOCKET_PATH_BYTES_MAX {
            return Err(SocketError::PathTooLong(path.to_owned()));
        }
        make_directory(path)?;
        let made = Made { mode, lock: lock(path)? };
        let (listener, file) = bind_file(path, mode)?;
        Ok(Self { listener, path: path.to_owned(), file: Some(file), made: Some(made) })
    }

    /// Looks whether its file still is what its path leads to, and binds it again if not. Returns
    /// whether that was so.
    ///
    /// # Errors
    /// See [`SocketError`]; it may be tried again.
    pub(super) fn mend(&mut self) -> Result<bool, SocketError> {
        if self.file.is_none() || inode_at(&self.path) == self.file {
            return Ok(false);
        }
        let Some(made) = &mut self.made else {
            return Err(SocketError::NotOurs(self.path.clone()));
        };
        make_directory(&self.path)?;
        // Where the whole directory went, the lock went too, and another daemon may have taken one.
        let held = made.lock.metadata().ok().map(|metadata| inode(&metadata));
        if inode_at(&lock_path(&self.path)) != held {
            made.lock = lock(&self.path)?;
        }
        let (listener, file) = bind_file(&self.path, made.mode)?;
        self.listener = listener;
        self.file = Some(file);
        Ok(true)
    }

    /// Takes over a socket that listens already, bound by the service manager: its file, mode and
    /// directory are the manager's, and so is keeping others away. Must be called within a tokio
    /// runtime.
    ///
    /// # Errors
    /// [`SocketError::Io`] if the system does not say where it is or lets it not be made
    /// non-blocking.
    pub fn inherit(listener: std::os::unix::net::UnixListener) -> Result<Self, SocketError> {
        let address = listener.local_addr();
        let path = address.ok().and_then(|address| address.as_pathname().map(Path::to_owned));
        let path = path.unwrap_or_else(|| PathBuf::from("(no path)"));
        let failed = |error| SocketError::Io { action: "take over", path: path.clone(), error };
        listener.set_nonblocking(true).map_err(failed)?;
        let listener = UnixListener::from_std(listener).map_err(failed)?;
        let file = inode_at(&path);
        Ok(Self { listener, path, file, made: None })
    }

    /// Where it is bound.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for Socket {
    /// Removes the file that was made, unless somebody put another one there.
    fn drop(&mut self) {
        let is_ours = self.made.is_some() && inode_at(&self.path) == self.file;
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "socket file not removed");
        }
    }
}

/// Raises the soft limit on open files to the hard one (each connection takes one) and returns it.
///
/// # Errors
/// Those of the system.
pub fn raise_descriptor_limit() -> io::Result<Option<u64>> {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        rustix::process::setrlimit(rustix::process::Resource::Nofile, limit)?;
    }
    Ok(rustix::process::getrlimit(rustix::process::Resource::Nofile).current)
}

fn make_directory(path: &Path) -> Result<(), SocketError> {
    let Some(directory) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) else {
        return Ok(());
    };
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|error| io_error("make the directory of", path, error))
}

fn io_error(action: &'static str, path: &Path, error: io::Error) -> SocketError {
    SocketError::Io { action, path: path.to_owned(), error }
}

/// Listens at `path`, on a new file, whose device and inode are returned.
fn bind_file(path: &Path, mode: u32) -> Result<(UnixListener, (u64, u64)), SocketError> {
    remove_stale(path)?;
    let listener = listen(path, mode).map_err(|error| io_error("bind", path, error))?;
    let metadata = fs::symlink_metadata(path).map_err(|error| io_error("look at", path, error))?;
    Ok((listener, inode(&metadata)))
}

fn lock_path(path: &Path) -> PathBuf {
    let mut lock_path = path.as_os_str().to_owned();
    lock_path.push(".lock");
    lock_path.into()
}

/// Takes the lock beside the socket. It dies with the process, so a killed daemon leaves none.
fn lock(path: &Path) -> Result<File, SocketError> {
    let lock_path = lock_path(path);
    let failed = |error| SocketError::Io { action: "lock", path: lock_path.clone(), error };
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(&lock_path)
        .map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(fs::TryLockError::WouldBlock) => Err(SocketError::Busy(path.to_owned())),
        Err(fs::TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Makes way for the socket: removes our own dead one, refuses everything else.
fn remove_stale(path: &Path) -> Result<(), SocketError> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
    if !metadata.file_type().is_socket() {
        return Err(SocketError::NotASocket(path.to_owned()));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(SocketError::ForeignOwner { path: path.to_owned(), uid: metadata.uid() });
    }
    // Whoever holds no lock but answers must not lose its socket.
    if UnixStream::connect(path).is_ok() {
        return Err(SocketError::Busy(path.to_owned()));
    }
    fs::remove_file(path).map_err(|error| SocketError::Io {
        action: "remove the stale",
        path: path.to_owned(),
        error,
    })
}

/// Binds with `mode` from the start: on Linux the file takes the mode of the unbound socket, so
/// there is no moment with wider permissions and no change of the process's umask.
fn listen(path: &Path, mode: u32) -> io::Result<UnixListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::fs::fchmod(&socket, Mode::from_raw_mode(mode))?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    // The umask can only have narrowed it.
    rustix::fs::chmod(path, Mode::from_raw_mode(mode))?;
    rustix::net::listen(&socket, SOCKET_BACKLOG)?;
    UnixListener::from_std(socket.into())
}

/// Device and inode of what lies at `path`.
fn inode_at(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| inode(&found))
}

fn inode(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn mode_of(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o777
    }

    #[tokio::test]
    async fn the_socket_is_private_and_gone_with_its_owner() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new").join("recalld.sock");
        let socket = Socket::bind(&path, 0o600).unwrap();
        assert_eq!(mode_of(&path), 0o600);
        assert_eq!(mode_of(path.parent().unwrap()), 0o700);
        assert!(UnixStream::connect(socket.path()).is_ok());
        drop(socket);
        assert!(!path.exists());
        let shared = Socket::bind(&path, 0o660).unwrap();
        assert_eq!(mode_of(shared.path()), 0o660);
    }

    #[tokio::test]
    async fn a_second_daemon_is_refused_and_a_dead_ones_socket_taken_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("recalld.sock");
        let first = Socket::bind(&path, 0o600).unwrap();
        assert!(matches!(Socket::bind(&path, 0o600), Err(SocketError::Busy(_))));
        assert!(UnixStream::connect(&path).is_ok(), "the first one still serves");
        drop(first);
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "a dead listener leaves its file");
        assert!(Socket::bind(&path, 0o600).is_ok());
    }

    #[tokio::test]
    async fn a_listener_without_a_lock_is_not_robbed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("recalld.sock");
        let _other = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(matches!(Socket::bind(&path, 0o600), Err(SocketError::Busy(_))));
    }

    #[tokio::test]
    async fn files_links_and_long_paths_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "kept").unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for path in [&file, &link] {
            assert!(matches!(Socket::bind(path, 0o600), Err(SocketError::NotASocket(_))));
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
        let room = SOCKET_PATH_BYTES_MAX - directory.path().as_os_str().len() - 1;
        assert!(Socket::bind(&directory.path().join("x".repeat(room)), 0o600).is_ok());
        let long = directory.path().join("x".repeat(room + 1));
        assert!(matches!(Socket::bind(&long, 0o600), Err(SocketError::PathTooLong(_))));
    }

    #[tokio::test]
    async fn a_replaced_file_is_not_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("recalld.sock");
        let socket = Socket::bind(&path, 0o600).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "somebody else's").unwrap();
        drop(socket);
        assert!(path.exists());
    }

    #[tokio::test]
    async fn a_file_that_was_removed_is_made_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run").join("recalld.sock");
        let mut socket = Socket::bind(&path, 0o660).unwrap();
        assert!(!socket.mend().unwrap(), "nothing is wrong");
        let remove_file = || fs::remove_file(&path).unwrap();
        let remove_directory = || fs::remove_dir_all(path.parent().unwrap()).unwrap();
        let removals: [&dyn Fn(); 2] = [&remove_file, &remove_directory];
        for remove in removals {
            remove();
            assert!(socket.mend().unwrap());
            assert_eq!(mode_of(&path), 0o660);
            assert!(UnixStream::connect(&path).is_ok());
            assert!(matches!(Socket::bind(&path, 0o600), Err(SocketError::Busy(_))));
        }
        // What somebody else put there is left alone.
        remove_file();
        let other = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(matches!(socket.mend(), Err(SocketError::Busy(_))));
        drop(other);
        remove_file();
        fs::write(&path, "precious").unwrap();
        assert!(matches!(socket.mend(), Err(SocketError::NotASocket(_))));
        remove_file();
        assert!(socket.mend().unwrap());
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_file_of_the_service_manager_is_not_ours_to_make_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("recalld.sock");
        let theirs = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let mut socket = Socket::inherit(theirs).unwrap();
        assert!(!socket.mend().unwrap());
        fs::remove_file(&path).unwrap();
        assert!(matches!(socket.mend(), Err(SocketError::NotOurs(_))));
        assert!(!path.exists());
    }

    #[test]
    fn the_descriptor_limit_is_raised_to_the_hard_one() {
        let raised = raise_descriptor_limit().unwrap();
        assert_eq!(raised, rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum);
    }
}
