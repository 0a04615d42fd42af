//! The tree of routes.

use super::*;
use crate::routing::spans::PARAMS_MAX;

fn routes(list: &[(&str, &str)]) -> Routes {
    let mut routes = Routes::default();
    for (index, (method, text)) in list.iter().enumerate() {
        let pattern = Pattern::parse(text).expect("a pattern");
        routes
            .insert(verb(method), &pattern, index)
            .expect("a free place");
    }
    routes
}

fn find(routes: &Routes, method: Method, path: &str) -> Option<(usize, Vec<String>)> {
    match routes.find(method, path) {
        RouteMatch::Route(index, spans) => Some((
            index,
            (0..)
                .map_while(|i| spans.of(path, i))
                .map(str::to_owned)
                .collect(),
        )),
        RouteMatch::Nothing(_) => None,
    }
}

#[test]
fn the_most_specific_pattern_wins_and_the_search_backs_up() {
    let routes = routes(&[
        ("GET", "/"),
        ("GET", "/users/new"),
        ("GET", "/users/:id"),
        ("GET", "/users/:id/posts/:post"),
        ("GET", "/users/*rest"),
        ("GET", "/*all"),
        ("GET", "/:page"),
        ("GET", "/users/new/x"),
    ]);
    let get =
        |path| find(&routes, Method::Get, path).map(|(index, params)| (index, params.join("|")));
    assert_eq!(get("/"), Some((0, String::new())));
    assert_eq!(get("/users/new"), Some((1, String::new())));
    assert_eq!(get("/users/7"), Some((2, "7".into())));
    assert_eq!(get("/users/new/posts/3"), Some((3, "new|3".into())));
    assert_eq!(get("/users/7/posts"), Some((4, "7/posts".into())));
    assert_eq!(get("/users/"), Some((4, String::new())));
    assert_eq!(get("/about"), Some((6, "about".into())));
    assert_eq!(get("/users"), Some((6, "users".into())));
    assert_eq!(get("/about/"), Some((5, "about/".into())));
    assert_eq!(get("/a//b"), Some((5, "a//b".into())));
    assert_eq!(get("*"), None);
}

#[test]
fn a_pattern_has_as_many_parameters_as_allowed() {
    let names: String = (0..PARAMS_MAX).map(|n| format!("/:p{n}")).collect();
    let shorter: String = (0..PARAMS_MAX - 1).map(|n| format!("/:p{n}")).collect();
    let routes = routes(&[("GET", &names), ("GET", &format!("{shorter}/last"))]);
    let values: Vec<String> = (0..PARAMS_MAX).map(|n| n.to_string()).collect();
    let get = |path: String| find(&routes, Method::Get, &path);
    assert_eq!(
        get(format!("/{}", values.join("/"))),
        Some((0, values.clone()))
    );
    let short = &values[..PARAMS_MAX - 1];
    assert_eq!(
        get(format!("/{}/last", short.join("/"))),
        Some((1, short.to_vec()))
    );
}

#[test]
fn parts_with_text_stand_between_literals_and_parameters() {
    let routes = routes(&[
        ("GET", "/:page"),
        ("GET", "/:name.:ext"),
        ("GET", "/:name.pdf"),
        ("GET", "/a.pdf"),
        ("GET", "/@:user"),
        ("GET", "/@:user/posts/:post"),
        ("GET", "/*rest"),
        ("GET", "/:page/posts/1"),
        ("POST", "/:file.pdf"),
    ]);
    let get =
        |path| find(&routes, Method::Get, path).map(|(index, params)| (index, params.join("|")));
    for (path, index, params) in [
        ("/about", 0, "about"),
        ("/a.tar.gz", 1, "a.tar|gz"),
        ("/b.pdf", 2, "b"),
        ("/a.pdf", 3, ""),
        ("/@me", 4, "me"),
        ("/@", 0, "@"),
        // More text comes first, and of equally much that with more in front.
        ("/@b.pdf", 2, "@b"),
        ("/@b.c", 4, "b.c"),
        ("/@me/posts/1", 5, "me|1"),
        ("/x.y/posts/1", 7, "x.y"),
        ("/@me/other", 6, "@me/other"),
        ("/.pdf", 0, ".pdf"),
        ("/x.y/", 6, "x.y/"),
        ("/", 6, ""),
        ("/7%2Fpdf", 0, "7%2Fpdf"),
    ] {
        assert_eq!(get(path), Some((index, params.into())), "{path}");
    }
    assert_eq!(
        find(&routes, Method::Post, "/b.pdf"),
        Some((8, vec!["b".into()]))
    );
    let RouteMatch::Nothing(allow) = routes.find(Method::Put, "/b.pdf") else {
        panic!("no PUT there")
    };
    assert_eq!(allow.field_value(), "GET, HEAD, POST, OPTIONS");
}

#[test]
fn parts_with_text_alone_are_no_parameter() {
    let routes = routes(&[("GET", "/v{:major}/:x"), ("GET", "/v{:major}/:x.{:y}")]);
    let get = |path| find(&routes, Method::Get, path);
    assert_eq!(get("/v1/a"), Some((0, vec!["1".into(), "a".into()])));
    assert_eq!(
        get("/v1/a.b"),
        Some((1, vec!["1".into(), "a".into(), "b".into()]))
    );
    assert_eq!(get("/w1/a"), None);
    assert_eq!(get("/w1"), None);
    assert_eq!(get("/v/a"), None);
    let RouteMatch::Nothing(allow) = routes.find(Method::Post, "/w1/a") else {
        panic!("no POST there")
    };
    assert!(allow.is_empty());
}

#[test]
fn one_part_has_as_many_parameters_as_allowed() {
    let names: Vec<String> = (0..PARAMS_MAX).map(|n| format!(":p{n}")).collect();
    let values: Vec<String> = (0..PARAMS_MAX).map(|n| n.to_string()).collect();
    let routes = routes(&[("GET", &format!("/{}", names.join(".")))]);
    let path = format!("/{}", values.join("."));
    assert_eq!(find(&routes, Method::Get, &path), Some((0, values)));
}

#[test]
fn a_trailing_slash_is_another_path() {
    let routes = routes(&[("GET", "/a"), ("GET", "/b/")]);
    for (path, found) in [("/a", true), ("/a/", false), ("/b/", true), ("/b", false)] {
        assert_eq!(find(&routes, Method::Get, path).is_some(), found, "{path}");
    }
}

#[test]
fn methods_are_searched_with_the_path() {
    let routes = routes(&[
        ("GET", "/a/b"),
        ("POST", "/a/:x"),
        ("*", "/any"),
        ("GET", "/any"),
        ("PUT", "/a/b"),
    ]);
    assert_eq!(
        find(&routes, Method::Post, "/a/b"),
        Some((1, vec!["b".into()]))
    );
    assert_eq!(find(&routes, Method::Head, "/a/b"), Some((0, vec![])));
    assert_eq!(find(&routes, Method::Get, "/any"), Some((3, vec![])));
    assert_eq!(find(&routes, Method::Other, "/any"), Some((2, vec![])));
    let RouteMatch::Nothing(allow) = routes.find(Method::Delete, "/a/b") else {
        panic!("no DELETE there")
    };
    assert_eq!(allow.field_value(), "GET, HEAD, POST, PUT, OPTIONS");
    let RouteMatch::Nothing(none) = routes.find(Method::Get, "/nowhere") else {
        panic!("nothing there")
    };
    assert!(none.is_empty());
}

#[test]
fn a_taken_place_names_who_took_it() {
    let mut routes = routes(&[("GET", "/users/:id"), ("GET", "/f/*rest")]);
    let parse = |text| Pattern::parse(text).expect("a pattern");
    assert_eq!(
        routes.insert(verb("GET"), &parse("/users/:name"), 2),
        Err(0)
    );
    assert_eq!(routes.insert(verb("GET"), &parse("/f/*"), 3), Err(1));
    assert_eq!(routes.insert(verb("GET"), &parse("/:a.:b"), 9), Ok(()));
    assert_eq!(routes.insert(verb("GET"), &parse("/:c.{:d}"), 3), Err(9));
    assert_eq!(
        routes.insert(verb("POST"), &parse("/users/:name"), 4),
        Ok(())
    );
}

#[test]
fn many_literals_are_found_too() {
    let texts: Vec<String> = (0..50).map(|n| format!("/r{n}/x")).collect();
    let list: Vec<(&str, &str)> = texts.iter().map(|text| ("GET", text.as_str())).collect();
    let routes = routes(&list);
    for (index, text) in texts.iter().enumerate() {
        assert_eq!(find(&routes, Method::Get, text), Some((index, vec![])));
    }
    assert_eq!(find(&routes, Method::Get, "/r50/x"), None);
}

#[test]
fn routes_of_a_host_come_before_those_of_all() {
    let mut routes = Routes::default();
    for (index, (method, text)) in [
        ("GET", "/a"),
        ("GET", "/:x"),
        ("GET", "h.example/:own"),
        ("POST", "H.example./a"),
        ("PUT", "/p"),
        ("GET", "h.example/x-:y"),
        ("GET", "other.example/o"),
    ]
    .into_iter()
    .enumerate()
    {
        let pattern = Pattern::parse_with_host(text).expect("a pattern");
        routes.insert(verb(method), &pattern, index).expect(text);
    }
    let find = |host, method, path| match routes.find_at(host, method, path) {
        RouteMatch::Route(index, _) => Ok(index),
        RouteMatch::Nothing(allow) => Err(allow.field_value()),
    };
    let own = Some("h.example");
    assert_eq!(find(own, Method::Get, "/a"), Ok(2));
    assert_eq!(find(own, Method::Get, "/x-1"), Ok(5));
    assert_eq!(find(own, Method::Post, "/a"), Ok(3));
    assert_eq!(find(own, Method::Put, "/p"), Ok(4));
    for other in [None, Some(""), Some("other.example"), Some("example")] {
        assert_eq!(find(other, Method::Get, "/a"), Ok(0), "{other:?}");
        assert_eq!(find(other, Method::Get, "/x-1"), Ok(1), "{other:?}");
    }
    let all = "GET, HEAD, PUT, OPTIONS".to_owned();
    assert_eq!(find(own, Method::Delete, "/p"), Err(all));
    let all = "GET, HEAD, POST, OPTIONS".to_owned();
    assert_eq!(find(own, Method::Delete, "/a"), Err(all));
    let others = "GET, HEAD, OPTIONS".to_owned();
    assert_eq!(find(None, Method::Post, "/a"), Err(others));
    assert_eq!(find(own, Method::Get, "/a/b"), Err("OPTIONS".to_owned()));
    let again = Pattern::parse_with_host("h.EXAMPLE/:other").expect("a pattern");
    assert_eq!(routes.insert(verb("GET"), &again, 9), Err(2));
}

#[test]
fn routes_of_more_specific_hosts_come_first() {
    let mut routes = Routes::default();
    for (index, (method, text)) in [
        ("GET", "/:x"),
        ("GET", "*.example/:x"),
        ("GET", ":t.example/a"),
        ("POST", ":t.example/a"),
        ("GET", "h.example/h"),
        ("PUT", "*.b.example/:x"),
        ("DELETE", "/a"),
    ]
    .into_iter()
    .enumerate()
    {
        let pattern = Pattern::parse_with_host(text).expect("a pattern");
        routes.insert(verb(method), &pattern, index).expect(text);
    }
    assert!(routes.has_hosts());
    let find = |host, method, path| match routes.find_at(Some(host), method, path) {
        RouteMatch::Route(index, _) => Ok(index),
        RouteMatch::Nothing(allow) => Err(allow.field_value()),
    };
    for (host, path, expected) in [
        ("h.example", "/h", 4),
        ("h.example", "/a", 2),
        ("h.example", "/b", 1),
        ("x.example", "/h", 1),
        ("x.example", "/a", 2),
        ("x.b.example", "/a", 1),
        ("example", "/a", 0),
        ("other", "/a", 0),
        ("x..example", "/a", 0),
    ] {
        assert_eq!(find(host, Method::Get, path), Ok(expected), "{host}{path}");
    }
    assert_eq!(find("h.example", Method::Post, "/a"), Ok(3));
    assert_eq!(find("x.example", Method::Delete, "/a"), Ok(6));
    assert_eq!(find("x.b.example", Method::Put, "/a"), Ok(5));
    let all = "GET, HEAD, POST, DELETE, OPTIONS".to_owned();
    assert_eq!(find("x.example", Method::Put, "/a"), Err(all));
    let all = "GET, HEAD, PUT, OPTIONS".to_owned();
    assert_eq!(find("x.b.example", Method::Post, "/b"), Err(all));
    let again = Pattern::parse_with_host(":other.EXAMPLE/a").expect("a pattern");
    assert_eq!(routes.insert(verb("GET"), &again, 9), Err(2));
}
