//! Steps of a template that would take more memory than the limits allow: each is refused before it runs.

#[allow(dead_code, reason = "the oracle uses the rest")]
mod support;

use minijinja::UndefinedBehavior;
use support::{MemoryReader, by_us, data};

/// Renders one template. `x` is a text of 900 KB, `long` one of 1 KB.
fn render(name: &str, text: &str) -> Result<String, String> {
    let files = [(name.to_owned(), text.to_owned())];
    let (x, long) = ("x".repeat(900_000), "x".repeat(1000));
    let data = data(&format!("{{'x': '{x}', 'long': '{long}', 'n': 100}}"));
    let reader = MemoryReader::new(data);
    by_us(&files, name, &reader, UndefinedBehavior::SemiStrict)
}

#[test]
fn results_larger_than_the_memory_are_refused() {
    let deep = "([[[[[1] * n] * n] * n] * n] * n)";
    for step in [
        "([x] * 300)|join",
        "([x] * 300)|join(d=',')",
        "''.join([x] * 300)",
        "(['a'] * n * 10)|join(d=x)",
        "('{0}' * 300).format(x)",
        "('{a}' * 300).format(a=x)",
        "('%(a)s' * 300)|format(a=x)",
        "([x] * 300)|string",
        "([x] * 300)|upper",
        "([x] * 300)|tojson",
        "([x] * 300)|pprint",
        "([x] * 300)|urlencode",
        "([x] * 300)|sum(start='')",
        "([x] * 300)|map('upper')|list",
        "([x] * 300)|map('replace', 'x', 'yy')|list",
        "(['a\\n' * n] * n * 100)|map('indent', 1000)|list",
        "{'a': [x] * 300}|xmlattr",
        "([x] * 300)|sort",
        "DEEP|tojson",
        "DEEP|string",
        "DEEP|pprint",
        "DEEP|join",
    ] {
        let step = step.replace("DEEP", deep);
        let text = format!("{{{{ ({step})|length }}}}");
        let error = render("page.txt", &text).expect_err(&step);
        assert!(error.contains("memory_bytes_max"), "{step}: {error}");
    }
}

#[test]
fn steps_within_the_limits_are_not_refused() {
    for (step, wanted) in [
        ("([long] * 300)|join|length", "300000"),
        ("('{0}' * 300).format(long)|length", "300000"),
        ("([long] * 300)|map('upper')|join|length", "300000"),
        ("(['a'] * 300)|sum(start='')|length", "300"),
        ("(range(100000)|list|tojson)[:4]", "[0, "),
        ("','.join(['a', 'b'])", "a,b"),
        ("[1, 2]|join(d=', ')", "1, 2"),
        ("{'a': 1}|xmlattr", " a=\"1\""),
        ("[2, 1]|sort|string", "[1, 2]"),
    ] {
        let result = render("page.txt", &format!("{{{{ {step} }}}}"));
        assert_eq!(result.as_deref(), Ok(wanted), "{step}");
    }
}

#[test]
fn text_added_to_markup_is_escaped_and_markup_is_not_escaped_again() {
    for (step, wanted) in [
        ("m() ~ '<'", "<b>&lt;"),
        ("'<' ~ m()", "&lt;<b>"),
        ("m() + '<' + m()", "<b>&lt;<b>"),
        ("m() ~ 1", "<b>1"),
        ("'<' ~ '>'", "&lt;&gt;"),
        ("'<' + '>'", "&lt;&gt;"),
        ("m() * 2", "&lt;b&gt;&lt;b&gt;"),
    ] {
        let text = format!("{{% macro m() %}}<b>{{% endmacro %}}{{{{ {step} }}}}");
        let result = render("page.html", &text);
        assert_eq!(result.as_deref(), Ok(wanted), "{step}");
    }
    let text = "{% macro m() %}<b>{% endmacro %}{{ m() ~ '<' }}";
    assert_eq!(render("page.txt", text).as_deref(), Ok("<b><"));
}
