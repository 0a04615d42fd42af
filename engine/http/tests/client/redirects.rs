//! Redirects.

use super::*;
use sampan_http::client::{ClientFaultKind, Redirects};

fn redirect(socket: &mut TcpStream, status: u16, location: &str) {
    let text =
        format!("HTTP/1.1 {status} X\r\nLocation: {location}\r\nContent-Length: 4\r\n\r\nover");
    socket.write_all(text.as_bytes()).expect("sent");
}

fn with(options: ClientOptions, url: String) -> ClientRequest {
    ClientRequest {
        options,
        ..get(url)
    }
}

#[test]
fn a_redirect_is_followed_over_the_same_connection() {
    let peer = Peer::once(|mut socket| {
        assert!(read_head(&mut socket).starts_with("POST /one "));
        let mut body = [0; 4];
        socket.read_exact(&mut body).expect("the body");
        redirect(&mut socket, 302, "/two#part");
        let head = read_head(&mut socket);
        assert!(head.starts_with("GET /two "), "{head}");
        assert!(
            !head.contains("content-type") && head.contains("authorization: secret"),
            "{head}"
        );
        answer(&mut socket, "there");
    });
    run(async {
        let client = client(ClientLimits::default());
        let mut post = request("POST", peer.url("/one"), ClientBody::Bytes("body".into()));
        post.fields = vec![
            field("content-type", "text/plain"),
            field("authorization", "secret"),
        ];
        let answer = client.clone().fetch(post).await.expect("an answer");
        assert_eq!(
            (answer.is_redirected, &answer.url),
            (true, &peer.url("/two"))
        );
        assert_eq!(whole(answer.body).await.as_deref(), Ok("there"));
    });
    peer.ended();
}

#[test]
fn a_redirect_whose_body_does_not_end_is_followed_all_the_same() {
    let other = Peer::once(|mut socket| {
        read_head(&mut socket);
        answer(&mut socket, "other");
    });
    let location = other.url("/");
    let peer = Peer::once(move |mut socket| {
        read_head(&mut socket);
        let head = format!("HTTP/1.1 302 X\r\nLocation: {location}\r\nContent-Length: 4\r\n\r\nov");
        socket.write_all(head.as_bytes()).expect("sent");
        // The client leaves without the rest.
        let _ = socket.read_to_end(&mut Vec::new());
    });
    run(async {
        let client = client(ClientLimits::default());
        let options = ClientOptions {
            total_millis_max: Some(10_000),
            ..ClientOptions::default()
        };
        let answer = text(&client, with(options, peer.url("/"))).await;
        assert_eq!(answer, Ok((200, "other".to_owned())));
    });
    peer.ended();
    other.ended();
}

#[test]
fn secrets_do_not_follow_to_another_server() {
    let other = Peer::once(|mut socket| {
        let head = read_head(&mut socket);
        assert!(
            !head.contains("secret") && head.contains("x-own: yes"),
            "{head}"
        );
        let mut body = [0; 4];
        socket.read_exact(&mut body).expect("the body again");
        answer(&mut socket, "other");
    });
    let location = other.url("/");
    let peer = Peer::once(move |mut socket| {
        let head = read_head(&mut socket);
        assert_eq!(head.matches("secret").count(), 2, "{head}");
        redirect(&mut socket, 307, &location);
        // The body is not read: the answer counts all the same.
        let _ = socket.read_to_end(&mut Vec::new());
    });
    run(async {
        let client = client(ClientLimits::default());
        let mut post = request("POST", peer.url("/"), ClientBody::Bytes("body".into()));
        post.fields = vec![
            field("Authorization", "secret"),
            field("Cookie", "secret"),
            field("x-own", "yes"),
        ];
        assert_eq!(text(&client, post).await, Ok((200, "other".to_owned())));
    });
    peer.ended();
    other.ended();
}

#[test]
fn redirects_end() {
    let peer = Peer::once(|mut socket| {
        while !read_head(&mut socket).is_empty() {
            redirect(&mut socket, 301, "/again");
        }
    });
    run(async {
        let client = client(ClientLimits {
            redirects_max: 20,
            ..ClientLimits::default()
        });
        let fault = text(&client, get(peer.url("/"))).await.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Redirect);
        assert!(
            fault
                .text
                .ends_with("more redirects than allowed (redirects_max is 20)"),
            "{fault}"
        );
    });
    peer.ended();
}

#[test]
fn the_script_may_treat_redirects_itself() {
    let peer = Peer::start(vec![
        Box::new(|mut socket| {
            read_head(&mut socket);
            redirect(&mut socket, 303, "/two");
            read_head(&mut socket);
            redirect(&mut socket, 300, "/two");
        }),
        Box::new(|mut socket| {
            read_head(&mut socket);
            redirect(&mut socket, 303, "file:///etc/passwd");
        }),
    ]);
    run(async {
        let client = client(ClientLimits::default());
        let manual = ClientOptions {
            redirects: Redirects::Manual,
            ..ClientOptions::default()
        };
        let answer = client
            .clone()
            .fetch(with(manual.clone(), peer.url("/")))
            .await
            .expect("an answer");
        assert_eq!(
            (answer.status, field_of(&answer, "location")),
            (303, Some("/two"))
        );
        assert_eq!(whole(answer.body).await.as_deref(), Ok("over"));
        assert_eq!(
            text(&client, get(peer.url("/"))).await,
            Ok((300, "over".to_owned()))
        );
        drop(client);

        let client = crate::client(ClientLimits::default());
        let fault = text(&client, get(peer.url("/"))).await.unwrap_err();
        assert!(
            fault.text.ends_with("it redirects to the scheme file:"),
            "{fault}"
        );
    });
    peer.ended();
    let peer = Peer::answering("HTTP/1.1 308 X\r\nLocation: /two\r\n\r\n");
    run(async {
        let client = client(ClientLimits::default());
        let error = ClientOptions {
            redirects: Redirects::Error,
            ..ClientOptions::default()
        };
        let fault = text(&client, with(error, peer.url("/"))).await.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Redirect);
    });
    peer.ended();
}
