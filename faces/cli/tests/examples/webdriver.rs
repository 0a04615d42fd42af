//! A small client of a browser's driver, after <https://www.w3.org/TR/webdriver2/>: Chromium without a window.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sampan_testkit::Client;
use sampan_testkit::wait;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The longest time that the browser may take for one command, also on a machine that compiles meanwhile.
const COMMAND_SECONDS_MAX: u64 = 120;
/// The name under which WebDriver writes the id of an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A key, as WebDriver writes it.
pub(crate) const TAB: &str = "\u{e004}";
/// A key, as WebDriver writes it.
pub(crate) const ENTER: &str = "\u{e007}";

/// A browser with one page. It ends with this value.
pub(crate) struct Browser {
    driver: Child,
    client: Client,
    session: String,
    /// The site: `http://127.0.0.1:PORT`, or with `https`.
    site: String,
}

/// Attempts to start the driver. It asks for the same free port on IPv4 and on IPv6, and ends where another program has
/// one of them.
const DRIVER_STARTS_MAX: usize = 5;

/// Starts the driver; it and its port, unless it ended at once.
#[allow(clippy::zombie_processes)] // Where a test panics it ends, and its children with it.
fn start_driver() -> Option<(Child, u16)> {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .stdout(Stdio::piped())
        .spawn()
        .expect("chromedriver starts");
    let mut told = Vec::new();
    let mut lines = BufReader::new(driver.stdout.take().expect("piped")).lines();
    let port = lines.find_map(|line| {
        let line = line.expect("UTF-8");
        let port = line
            .split_once("successfully on port ")
            .and_then(|(_, port)| port.trim_end_matches('.').parse().ok());
        told.push(line);
        port
    });
    let Some(port) = port else {
        eprintln!("chromedriver ended: {:?}: {told:?}", driver.wait());
        return None;
    };
    // Somebody must read what it says further.
    std::thread::spawn(move || lines.for_each(drop));
    Some((driver, port))
}

impl Browser {
    /// Starts the browser of this machine; `site` is the server whose pages it opens.
    pub(crate) fn start(site: SocketAddr) -> Self {
        Self::start_on(format!("http://{site}"))
    }

    /// Starts the browser for a server with HTTPS, whose certificate it does not check.
    pub(crate) fn start_secure(site: SocketAddr) -> Self {
        Self::start_on(format!("https://{site}"))
    }

    fn start_on(site: String) -> Self {
        let begun = (0..DRIVER_STARTS_MAX).find_map(|_| start_driver());
        let (driver, port) = begun.expect("chromedriver tells its port");
        let mut client = Client::connect(([127, 0, 0, 1], port).into()).expect("it listens");
        client
            .set_read_time(Duration::from_secs(COMMAND_SECONDS_MAX))
            .expect("a time");
        let mut browser = Self {
            driver,
            client,
            session: String::new(),
            site,
        };
        // Chromium's own sandbox does not work for root, as which containers run.
        let switches = [
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--lang=en",
        ];
        let options = json!({ "args": switches });
        let wanted = json!({ "goog:chromeOptions": options, "acceptInsecureCerts": true });
        let wanted = json!({ "capabilities": { "alwaysMatch": wanted } });
        let begun = browser.command("POST", "/session", &wanted);
        let id = begun["sessionId"].as_str().expect("a session");
        browser.session = format!("/session/{id}");
        browser.size(1280, 900);
        browser
    }

    /// Sends a command and gives its `value`.
    fn command(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let told = self.attempt(method, path, body);
        told.unwrap_or_else(|message| panic!("{path} {body}: {message}"))
    }

    /// Sends a command that the browser may refuse; then it is its message.
    fn attempt(&mut self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let body = if method == "GET" {
            String::new()
        } else {
            body.to_string()
        };
        let path = format!("{}{path}", self.session);
        let answer = self.client.ask(method, &path, &[], &body);
        let answer = answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let mut told: Value = serde_json::from_slice(&answer.body).expect("JSON");
        if answer.status != 200 {
            return Err(told["value"]["message"].to_string());
        }
        Ok(told["value"].take())
    }

    fn post(&mut self, path: &str, body: &Value) -> Value {
        self.command("POST", path, body)
    }

    /// A command of Chromium's own protocol.
    fn cdp(&mut self, name: &str, parameters: &Value) -> Value {
        self.post(
            "/goog/cdp/execute",
            &json!({ "cmd": name, "params": parameters }),
        )
    }

    /// Opens a page of the site.
    pub(crate) fn open(&mut self, path: &str) {
        let url = format!("{}{path}", self.site);
        self.post("/url", &json!({ "url": url }));
    }

    /// The path and the query of the page that is open.
    pub(crate) fn path(&mut self) -> String {
        let url = self.command("GET", "/url", &Value::Null);
        let url = url.as_str().expect("a text");
        url.strip_prefix(&self.site).unwrap_or(url).to_owned()
    }

    /// The first element for a CSS selector.
    fn element(&mut self, selector: &str) -> String {
        let found = self.post(
            "/element",
            &json!({ "using": "css selector", "value": selector }),
        );
        found[ELEMENT].as_str().expect("an id").to_owned()
    }

    /// The text of an element as it is shown.
    pub(crate) fn text(&mut self, selector: &str) -> String {
        let element = self.element(selector);
        let text = self.command("GET", &format!("/element/{element}/text"), &Value::Null);
        text.as_str().expect("a text").to_owned()
    }

    /// A property of an element.
    pub(crate) fn property(&mut self, selector: &str, name: &str) -> Value {
        let element = self.element(selector);
        let path = format!("/element/{element}/property/{name}");
        self.command("GET", &path, &Value::Null)
    }

    /// Reports whether there is such an element.
    pub(crate) fn has(&mut self, selector: &str) -> bool {
        let found = self.post(
            "/elements",
            &json!({ "using": "css selector", "value": selector }),
        );
        found.as_array().is_some_and(|found| !found.is_empty())
    }

    /// Clicks on the button of a form, and waits for the page that it opens.
    pub(crate) fn submit(&mut self, selector: &str) {
        let element = self.element(selector);
        self.leave_by(&format!("/element/{element}/click"), &json!({}));
    }

    /// Clicks on the link with this text, and waits for its page.
    pub(crate) fn follow(&mut self, text: &str) {
        let found = self.post("/element", &json!({ "using": "link text", "value": text }));
        let element = found[ELEMENT].as_str().expect("an id").to_owned();
        self.leave_by(&format!("/element/{element}/click"), &json!({}));
    }

    /// Presses Enter where that opens a page, and waits for it.
    pub(crate) fn enter(&mut self) {
        self.leave_by("/actions", &strokes(ENTER));
    }

    /// A command that opens another page: waits until that is there. The driver itself does not wait for slow answers.
    fn leave_by(&mut self, path: &str, body: &Value) {
        self.run("window.isLeft = true", &json!([]));
        self.post(path, body);
        let is_there = json!({
            "script": "return !window.isLeft && document.readyState == 'complete'",
            "args": [],
        });
        // While pages change there is none in which a script could run.
        wait::until(format!("the page of {path}"), || {
            self.attempt("POST", "/execute/sync", &is_there) == Ok(Value::Bool(true))
        });
    }

    /// Replaces what stands in a field.
    pub(crate) fn fill(&mut self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.post(&format!("/element/{element}/clear"), &json!({}));
        self.post(
            &format!("/element/{element}/value"),
            &json!({ "text": text }),
        );
    }

    /// Chooses a file for a field of files.
    pub(crate) fn choose(&mut self, selector: &str, file: &Path) {
        let element = self.element(selector);
        self.post(
            &format!("/element/{element}/value"),
            &json!({ "text": file }),
        );
    }

    /// Sets a field of type `date`, which takes its keys in the order of the browser's language.
    pub(crate) fn fill_date(&mut self, selector: &str, date: &str) {
        self.run(
            "document.querySelector(arguments[0]).value = arguments[1]",
            &json!([selector, date]),
        );
    }

    /// Presses keys, one after the other, wherever the focus is.
    pub(crate) fn press(&mut self, keys: &str) {
        self.post("/actions", &strokes(keys));
    }

    /// Runs a script in the page, as the body of a function.
    pub(crate) fn run(&mut self, script: &str, arguments: &Value) -> Value {
        self.post(
            "/execute/sync",
            &json!({ "script": script, "args": arguments }),
        )
    }

    /// Runs a script where the page may be leaving; `None` if it left.
    pub(crate) fn try_run(&mut self, script: &str) -> Option<Value> {
        let body = json!({ "script": script, "args": [] });
        self.attempt("POST", "/execute/sync", &body).ok()
    }

    /// Runs a script that calls its last argument with what it found.
    pub(crate) fn run_async(&mut self, script: &str) -> Value {
        self.post("/execute/async", &json!({ "script": script, "args": [] }))
    }

    /// Sets the size of the page. A narrow one is a phone: its viewport is that of a touch screen.
    pub(crate) fn size(&mut self, width: u32, height: u32) {
        let is_phone = width < 500;
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone }),
        );
    }

    /// Chooses `light` or `dark`, as the user's system does.
    pub(crate) fn colours(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.cdp(
            "Emulation.setEmulatedMedia",
            &json!({ "features": features }),
        );
    }

    /// Writes a picture of the whole page.
    pub(crate) fn picture(&mut self, file: &Path) {
        let taken = self.cdp(
            "Page.captureScreenshot",
            &json!({ "format": "png", "captureBeyondViewport": true }),
        );
        let data = taken["data"].as_str().expect("a text");
        fs::write(file, BASE64_STANDARD.decode(data).expect("base64")).expect("written");
    }
}

/// The command that presses keys.
fn strokes(keys: &str) -> Value {
    let strokes: Vec<Value> = keys
        .chars()
        .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })))
        .collect();
    json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": strokes }] })
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Without this the browser would go on when its driver has ended.
        let _ = self.client.ask("DELETE", &self.session, &[], "");
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
