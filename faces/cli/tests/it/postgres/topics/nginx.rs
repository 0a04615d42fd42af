//! nginx before several processes.

use sampan_client::{ports, wait};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The places of the program.
const PROGRAMS: [&str; 2] = ["/usr/sbin/nginx", "/usr/local/bin/nginx"];

/// A running nginx.
pub(super) struct Nginx {
    process: Child,
    _folder: TempDir,
    pub(super) address: SocketAddr,
}

impl Nginx {
    /// Starts nginx before these servers; `None` where it is not installed, which is printed.
    pub(super) fn before(servers: &[SocketAddr]) -> Option<Self> {
        let Some(program) = PROGRAMS.iter().find(|program| Path::new(program).exists()) else {
            println!("SKIPPED: nginx is not installed, so the processes are asked directly");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, ports::free()));
        let place = folder.path().display();
        let servers: String = servers
            .iter()
            .map(|server| format!("server {server} max_fails=0;"))
            .collect();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .iter()
            .map(|name| format!("{name}_temp_path {place}/{name};"))
            .collect();
        let config = format!(
            "daemon off; worker_processes 1; pid {place}/pid; error_log {place}/errors;
             events {{ worker_connections 256; }}
             http {{
               access_log off; {temporary}
               map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
               upstream sampan {{ {servers} keepalive 16; }}
               server {{
                 listen {address};
                 location / {{
                   proxy_pass http://sampan;
                   proxy_http_version 1.1;
                   proxy_set_header Host $http_host;
                   proxy_set_header Upgrade $http_upgrade;
                   proxy_set_header Connection $connection_upgrade;
                   proxy_read_timeout 1h;
                 }}
               }}
             }}"
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, config).expect("a file");
        let mut nginx = Command::new(program);
        nginx.arg("-p").arg(folder.path()).arg("-c").arg(&file);
        let process = nginx.stderr(Stdio::null()).spawn().expect("nginx starts");
        let nginx = Self {
            process,
            _folder: folder,
            address,
        };
        wait::until("nginx listens", || TcpStream::connect(address).is_ok());
        Some(nginx)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Its workers end with it, unlike after a kill.
        let pid = self.process.id().to_string();
        drop(Command::new("kill").args(["-TERM", &pid]).status());
        drop(self.process.wait());
    }
}
