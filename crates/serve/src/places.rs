//! Places at which a server listens: paths of Unix sockets, and addresses of this machine alone.

use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Longest path of a Unix socket on Linux \[bytes\]; 103 on macOS.
const LONGEST: usize = 103;

/// A listening Unix socket, which is removed at the end.
#[derive(Debug)]
pub(crate) struct Listening {
    pub listener: mio::net::UnixListener,
    path: PathBuf,
}

impl Drop for Listening {
    fn drop(&mut self) {
        // Nobody listens there any more: a file that stays is one that the next server replaces.
        let _ = fs::remove_file(&self.path);
    }
}

/// Listens at a path. A socket at which nobody listens is replaced; anything else that is there stays, and is an error.
pub(crate) fn listen(path: &Path) -> Result<Listening, String> {
    let shown = path.display();
    let length = path.as_os_str().len();
    if length > LONGEST {
        return Err(format!("{shown}: {length} bytes: expected a path of at most {LONGEST} for a socket"));
    }
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(format!("{shown}: there is a file: expected a name that is free, or that of a socket"));
        }
        Ok(_) => match UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                fs::remove_file(path).map_err(|error| format!("{shown}: {error}"))?;
            }
            _ => return Err(format!("{shown}: the socket is in use: expected one at which nobody listens")),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(format!("{shown}: {error}")),
    }
    let listener = mio::net::UnixListener::bind(path).map_err(|error| format!("{shown}: {error}"))?;
    Ok(Listening { listener, path: path.to_owned() })
}

/// Returns the address in a text: a port of this machine (`10809`), or an address of the loopback with a port.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let found = match text.parse::<u16>() {
        Ok(port) => Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)),
        Err(_) => text.parse::<SocketAddr>().ok(),
    };
    let expected = "expected a port, or an address of the loopback with a port, such as 127.0.0.1:10809";
    match found {
        Some(address) if address.ip().is_loopback() => Ok(address),
        Some(_) => Err(format!("`{text}`: other machines could reach it: {expected}")),
        None => Err(format!("`{text}`: {expected}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_loopback_is_listened_at() {
        assert_eq!(address("10809"), Ok("127.0.0.1:10809".parse().unwrap()));
        assert_eq!(address("[::1]:7"), Ok("[::1]:7".parse().unwrap()));
        assert!(address("0.0.0.0:10809").unwrap_err().contains("other machines could reach it"));
        assert!(address("192.168.0.1:1").unwrap_err().contains("other machines"));
        for wrong in ["", "host:1", "70000", "127.0.0.1"] {
            assert!(address(wrong).unwrap_err().contains("expected a port"), "{wrong}");
        }
    }

    #[test]
    fn a_socket_in_use_and_a_file_stay_and_a_stale_socket_is_replaced() {
        let folder = std::env::temp_dir().join(format!("ssdlab-places-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("s");
        fs::write(&path, "text").unwrap();
        assert!(listen(&path).unwrap_err().contains("there is a file"));
        assert_eq!(fs::read(&path).unwrap(), b"text");
        fs::remove_file(&path).unwrap();
        let first = listen(&path).unwrap();
        assert!(listen(&path).unwrap_err().contains("the socket is in use"));
        drop(first);
        assert!(!path.exists());
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        drop(listen(&path).unwrap());
        assert!(listen(&folder.join("x".repeat(200))).unwrap_err().contains("expected a path of at most"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
