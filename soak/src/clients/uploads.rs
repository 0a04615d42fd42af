//! A client that uploads files. Each that was acknowledged is there to the byte, also after a restart.

use super::client::Client;
use crate::random::Random;
use crate::visitor::{Request, Told};
use std::collections::VecDeque;

/// The sizes of files, in bytes: below and above what is kept in memory.
const BYTES: &[u64] = &[1, 1_000, 60_000, 70_000, 1_000_000];
/// The files that are kept.
const FILES_KEPT: usize = 6;

/// An acknowledged file: its bytes are drawn from its number.
#[derive(Clone, Copy)]
struct Upload {
    id: u64,
    bytes: usize,
}

impl Upload {
    fn content(self) -> Vec<u8> {
        Random::new(self.id, 7).bytes(self.bytes)
    }
}

/// Uploads and downloads until the end.
pub(super) fn work(mut client: Client) {
    let (mut kept, mut next) = (VecDeque::new(), 1);
    while !client.has_ended() {
        let size = client.random.one_of(BYTES);
        let upload = Upload {
            id: next,
            bytes: client.random.between(size.div_ceil(2), size) as usize,
        };
        next += 1;
        if send(&mut client, upload) {
            kept.push_back(upload);
        }
        if let Some(any) = kept.len().checked_sub(1) {
            let at = client.random.between(0, any as u64) as usize;
            compare(&mut client, kept[at]);
        }
        if kept.len() > FILES_KEPT
            && let Some(oldest) = kept.pop_front()
        {
            let path = format!("/uploads/{}/remove", oldest.id);
            client.visitor.ask(&Request::post(&path, "{}"));
        }
        client.pause(150);
    }
    for upload in kept {
        compare(&mut client, upload);
    }
}

/// Uploads a file as browsers do. True if it was acknowledged.
fn send(client: &mut Client, upload: Upload) -> bool {
    let mut body = b"--soak-boundary\r\nContent-Disposition: form-data; name=\"file\"; \
        filename=\"f\"\r\nContent-Type: application/octet-stream\r\n\r\n"
        .to_vec();
    body.extend(upload.content());
    body.extend(b"\r\n--soak-boundary--\r\n");
    let Upload { id, bytes } = upload;
    let lines = ["Content-Type: multipart/form-data; boundary=soak-boundary"];
    let request = Request::new("POST", &format!("/uploads/{id}"), &lines, &body);
    let wanted = format!(r#"{{"id":"{id}","size":{bytes}}}"#);
    matches!(
        client.visitor.expect(&request, &wanted),
        Told::Answer(answer) if answer.status == 200
    )
}

/// Downloads a file.
fn compare(client: &mut Client, upload: Upload) {
    let request = Request::get(&format!("/uploads/{}", upload.id));
    if let Told::Answer(answer) = client.visitor.ask(&request)
        && (answer.status != 200 || answer.body != upload.content())
    {
        let (status, bytes) = (answer.status, answer.body.len());
        let site = &client.visitor.site;
        site.fail(format_args!(
            "upload {}: wanted {} bytes, got {status} with {bytes} others",
            upload.id, upload.bytes
        ));
    }
}
