//! Compressed answers.

use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use sampan_http::client::ClientFaultKind;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut coder = GzEncoder::new(Vec::new(), Compression::best());
    coder.write_all(text).expect("written");
    coder.finish().expect("gzip")
}

fn coded(body: &[u8]) -> Vec<u8> {
    let len = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len}\r\nETag: x\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

#[test]
fn a_compressed_answer_is_decompressed() {
    let peer = Peer::once(|mut socket| {
        for _ in 0..2 {
            let head = read_head(&mut socket);
            assert!(
                head.contains("\r\naccept-encoding: gzip, deflate, br, zstd\r\n"),
                "{head}"
            );
            socket.write_all(&coded(&gzip(b"hello"))).expect("sent");
        }
    });
    run(async {
        let client = client(ClientLimits::default());
        let answer = client
            .clone()
            .fetch(get(peer.url("/")))
            .await
            .expect("an answer");
        let names: Vec<_> = answer.fields.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, [b"etag"]);
        assert_eq!(whole(answer.body).await.as_deref(), Ok("hello"));
        let mut asked = get(peer.url("/"));
        asked.options.keeps_coding = true;
        let answer = client.clone().fetch(asked).await.expect("an answer");
        assert_eq!(field_of(&answer, "content-encoding"), Some("gzip"));
        assert_ne!(whole(answer.body).await.as_deref(), Ok("hello"));
    });
    peer.ended();
}

#[test]
fn a_bomb_is_stopped_at_its_limit() {
    let bomb = gzip(&vec![0; 50_000_000]);
    assert!(bomb.len() < 100_000);
    let peer = Peer::answering(coded(&bomb));
    run(async {
        let client = client(ClientLimits {
            answer_bytes_max: 1_000_000,
            ..ClientLimits::default()
        });
        let answer = client
            .clone()
            .fetch(get(peer.url("/")))
            .await
            .expect("an answer");
        let mut body = answer.body.expect("a body");
        let mut bytes = 0;
        let fault = loop {
            match poll_fn(|cx| body.poll_piece(cx)).await {
                Ok(piece) => bytes += piece.expect("no end").len(),
                Err(fault) => break fault,
            }
        };
        assert_eq!(fault.kind, ClientFaultKind::TooLarge);
        assert!(bytes <= 1_000_000, "{bytes}");
    });
    peer.ended();
}

#[test]
fn a_damaged_body_is_a_fault() {
    let whole = gzip(b"hello, world");
    for body in [&whole[..10], b"not gzip at all"] {
        let peer = Peer::answering(coded(body));
        run(async {
            let client = client(ClientLimits::default());
            let fault = text(&client, get(peer.url("/"))).await.unwrap_err();
            assert_eq!(fault.kind, ClientFaultKind::Coding, "{fault}");
        });
        peer.ended();
    }
}

#[test]
fn a_part_of_a_compressed_file_stays_as_it_is() {
    let file = gzip(b"hello, world");
    let part = file[4..12].to_vec();
    let sent = part.clone();
    let peer = Peer::once(move |mut socket| {
        for codings in ["identity", "gzip"] {
            let head = read_head(&mut socket);
            let line = format!("\r\naccept-encoding: {codings}\r\n");
            assert!(head.to_ascii_lowercase().contains(&line), "{head}");
            let head = "HTTP/1.1 206 Partial Content\r\nContent-Encoding: gzip\r\nContent-Length: 8\r\n\r\n";
            socket
                .write_all(&[head.as_bytes(), &sent].concat())
                .expect("sent");
        }
    });
    run(async {
        let client = client(ClientLimits::default());
        let own = field("Accept-Encoding", "gzip");
        for own in [None, Some(own)] {
            let mut asked = get(peer.url("/"));
            asked.fields.push(field("Range", "bytes=4-11"));
            asked.fields.extend(own);
            let answer = client.clone().fetch(asked).await.expect("an answer");
            assert_eq!(field_of(&answer, "content-encoding"), Some("gzip"));
            assert_eq!(field_of(&answer, "content-length"), Some("8"));
            let expected = String::from_utf8_lossy(&part).into_owned();
            assert_eq!(whole(answer.body).await, Ok(expected));
        }
    });
    peer.ended();
}
