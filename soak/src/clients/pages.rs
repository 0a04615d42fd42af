//! A reader of the examples' pages. A page has the same bytes each time, in both languages and after each restart.

use super::client::Client;
use crate::visitor::{Request, Told};
use sampan_testkit::Answer;
use std::collections::BTreeMap;

/// The pages of each example.
const PAGES: &[(&str, &[&str])] = &[
    (
        "petclinic",
        &[
            "/",
            "/owners/find",
            "/owners?lastName=",
            "/owners?lastName=&page=2",
            "/owners?lastName=dAv",
            "/owners/6",
            "/owners/3",
            "/vets",
            "/nowhere",
        ],
    ),
    (
        "notes",
        &["/login", "/register", "/forgotten", "/", "/nowhere"],
    ),
    ("chat", &["/enter", "/", "/rooms/1", "/nowhere"]),
];

/// Reads until the end.
pub(super) fn work(mut client: Client) {
    let name = &client.visitor.site.name;
    let pages = PAGES.iter().find(|(example, _)| example == name);
    let Some((_, pages)) = pages else { return };
    let mut known = BTreeMap::new();
    while !client.has_ended() {
        let path = client.random.one_of(pages);
        let request = Request::get(path);
        if let Told::Answer(answer) = client.visitor.ask(&request) {
            let page = compared(&answer);
            let first = known.entry(path).or_insert_with(|| page.clone());
            if *first != page {
                client.visitor.wrong(&request, &answer, first);
            }
        }
        client.pause(60);
    }
}

/// Returns the parts that are the same each time: all but the request's id.
fn compared(answer: &Answer) -> String {
    let mut body = answer.text();
    for id in answer.header("x-request-id") {
        body = body.replace(id, "ID");
    }
    format!("{} {:?} {body}", answer.status, answer.header("location"))
}
