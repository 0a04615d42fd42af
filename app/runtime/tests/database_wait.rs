//! The start of a server whose database server does not answer.

use sampan_client::ports;
use sampan_host::log::Level;
use sampan_log::Logger;
use sampan_runtime::{AppConfig, Server};

#[test]
fn a_start_that_waits_for_postgresql_tells_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let app = "local app = require \"sampan\"\napp.get(\"/\", function() return \"here\" end)\n";
    std::fs::write(folder.path().join("app.lua"), app).expect("written");
    let url = format!("postgres://ann:secret@127.0.0.1:{}/app", ports::free());
    let settings = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\n[db]\nurl = {url:?}\nbusy_millis_max = 100\n"
    );
    let logger = Logger::captured(Level::Info);
    let mut config = AppConfig::from_text(folder.path(), &settings).expect("valid");
    config.program.logger = logger.clone();
    let fault = Server::start(config).err().expect("there is no server");
    let told = "cannot connect to PostgreSQL at 127.0.0.1:";
    assert!(fault.contains(told), "{fault}");
    let log = logger.lines();
    let line = format!("WARN waiting for PostgreSQL: {told}");
    assert!(log.contains(&line) && !log.contains("secret"), "{log}");
}
