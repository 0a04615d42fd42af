//! Sending a file without copying it through the process: sendfile(2).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::sendfile;
use rustix::io::Errno;
use socket2::Socket;

/// The most that one call sends, so that no client's turn takes long.
const SENT_BYTES_MAX: u64 = 1024 * 1024;

/// The number of bytes read at once of a file that the system cannot send by itself.
const COPIED_BYTES_MAX: u64 = 64 * 1024;

/// Sends up to `len` bytes of a file from `start` on, as many as the socket takes. `len` is not zero.
///
/// # Errors
/// The file ends before `start`; what the socket says.
pub(crate) fn send_file(socket: &Socket, file: &File, start: u64, len: u64) -> io::Result<usize> {
    let mut offset = start;
    let len = len.min(SENT_BYTES_MAX);
    let sent = match sendfile(socket, file, Some(&mut offset), len as usize) {
        // Not every file system can.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => copy(socket, file, start, len)?,
        sent => sent?,
    };
    if sent == 0 {
        return Err(has_become_shorter());
    }
    Ok(sent)
}

/// The error of a file that ends before its announced length.
pub(crate) fn has_become_shorter() -> io::Error {
    let fault = "the file has become shorter";
    io::Error::new(io::ErrorKind::UnexpectedEof, fault)
}

/// Copies the file through memory of the process. What the socket does not take is read again.
fn copy(socket: &Socket, file: &File, start: u64, len: u64) -> io::Result<usize> {
    let mut bytes = vec![0; len.min(COPIED_BYTES_MAX) as usize];
    let read = file.read_at(&mut bytes, start)?;
    match &bytes[..read] {
        [] => Ok(0),
        bytes => socket.send_with_flags(bytes, libc::MSG_NOSIGNAL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn both_ways_send_the_same_and_tell_where_the_file_has_ended() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let socket = Socket::from(listener.accept().unwrap().0);
        let path = std::env::temp_dir().join(format!("sampan-send-file-{}", std::process::id()));
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .unwrap();
        std::fs::remove_file(&path).unwrap();
        file.write_all(b"0123456789").unwrap();
        assert_eq!(send_file(&socket, &file, 2, 5).unwrap(), 5);
        assert_eq!(copy(&socket, &file, 2, 5).unwrap(), 5);
        let mut received = [0; 10];
        client.read_exact(&mut received).unwrap();
        assert_eq!(&received, b"2345623456");
        assert_eq!(send_file(&socket, &file, 8, 5).unwrap(), 2);
        assert_eq!(copy(&socket, &file, 10, 5).unwrap(), 0);
        let error = send_file(&socket, &file, 10, 5).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
