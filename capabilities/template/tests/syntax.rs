//! The messages about texts that are not templates, and about names that do not exist: what is wrong, its line and
//! column, and what to write instead.

#[allow(dead_code, reason = "the oracle uses the rest")]
mod support;

use minijinja::UndefinedBehavior;
use sampan_template::{TemplateStore, Templates};
use std::sync::Arc;
use support::{MemoryReader, by_us, data};

/// Returns the error of a template, or of what it names.
fn error(text: &str) -> String {
    let files = [("a.html", text.as_bytes().to_vec())];
    let templates = match Templates::compile(files) {
        Ok(templates) => templates,
        Err(error) => return error.to_string(),
    };
    let closed = TemplateStore::new(Arc::new(templates)).close();
    closed.map_or_else(|error| error.to_string(), |()| "no error".to_owned())
}

/// Checks the first lines of errors, without the file.
fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let error = error(text);
        let first = error.lines().next().unwrap_or_default();
        assert_eq!(
            first.strip_prefix("templates/a.html:"),
            Some(*expected),
            "{text}: {error}"
        );
    }
}

#[test]
fn a_tag_that_closes_no_block_names_the_open_one() {
    check(&[
        (
            "<ul>\n{% for x in y %}\n  a\n  {% endif %}\n",
            "4:6: syntax error: `endif` closes no `if`: the open block is the `for` of line 2, which `endfor` closes",
        ),
        (
            "{% if x %}\n{% for y in z %}\n{%- endif %}",
            "3:5: syntax error: `endif` cannot close the `if` of line 1: the `for` of line 2 inside of it is open, and \
             `endfor` closes that",
        ),
        (
            "{% if x %}{% endif %}\n{% endif %}",
            "2:4: syntax error: `endif` closes no `if`: no block is open here",
        ),
        (
            "{% block content %}\n{% else %}{% endblock %}",
            "2:4: syntax error: `else` belongs to no `if` or `for`: the open block is the `block content` of line 1, \
             which `endblock` closes",
        ),
        (
            "{% elif x %}",
            "1:4: syntax error: `elif` belongs to no `if`: no block is open here",
        ),
        (
            "{% if x %}\n{% else %}\n{% else %}{% endif %}",
            "3:4: syntax error: the `if` of line 1 has an `else` in line 2 already",
        ),
        (
            "{% if x %}\n{% else %}\n{% elif y %}{% endif %}",
            "3:4: syntax error: `elif` must stand before the `else` of the `if` of line 1, which is in line 2",
        ),
        (
            "{% if x %}\n{% end %}",
            "2:4: syntax error: unknown statement end; the open block is the `if` of line 1, which `endif` closes",
        ),
    ]);
}

#[test]
fn a_block_that_is_not_closed_is_named() {
    check(&[
        (
            "<ul>\n  {% if x %}\n  a\n",
            "2:6: syntax error: the `if` of line 2 is never closed with `endif`",
        ),
        (
            "{% block a %}\n{% for y in z %}\n",
            "2:4: syntax error: the `for` of line 2 is never closed with `endfor`, and neither is the `block a` of \
             line 1 around it",
        ),
        (
            "{% set x %}",
            "1:4: syntax error: the `set` of line 1 is never closed with `endset`",
        ),
        (
            "{% set x | f(a=1) %}{% set y = 1 %}",
            "1:4: syntax error: the `set` of line 1 is never closed with `endset`",
        ),
        (
            "{% macro m() %}\n{% block a %}x{% endblock %}\n",
            "1:4: syntax error: the `macro m` of line 1 is never closed with `endmacro`",
        ),
        (
            "{% macro m() %}\n{% block a %}x{% endmacro %}\n",
            "2:18: syntax error: `endmacro` cannot close the `macro m` of line 1: the `block a` of line 2 inside of it \
             is open, and `endblock` closes that",
        ),
        (
            "a {{ b\n<p>",
            "1:3: syntax error: `{{` is never closed with `}}`",
        ),
        (
            "a {% if b\n<p>",
            "1:3: syntax error: `{%` is never closed with `%}`",
        ),
        (
            "{# a #} {# b\n<p>",
            "1:9: syntax error: the comment is never closed with `#}`",
        ),
        (
            "a\n {% raw %} {{\n",
            "2:2: syntax error: `raw` is never closed with `endraw`",
        ),
        (
            "{{ x ~ \"a }}\n<p>",
            "1:8: syntax error: the string is never closed with `\"`",
        ),
    ]);
}

#[test]
fn words_that_are_no_statements_have_a_hint() {
    for (text, expected) in [
        (
            "{% foor x in y %}{% endfor %}",
            "foor; did you mean \"for\"?",
        ),
        (
            "{% if x %}{% elseif y %}{% endif %}",
            "elseif; did you mean \"elif\"?",
        ),
        (
            "{% for x in y %}{% enfor %}",
            "enfor; did you mean \"endfor\"?",
        ),
        ("{% inlcude \"b\" %}", "inlcude; did you mean \"include\"?"),
        ("{% unless x %}", "unless; write {% if not %}"),
        ("{% trans %}", "trans; write {{ t(\"key\") }}"),
        ("{% xyzzy %}", "xyzzy"),
    ] {
        let error = error(text);
        let expected = format!(": syntax error: unknown statement {expected}\n");
        assert!(error.contains(&expected), "{text}: {error}");
    }
}

#[test]
fn the_token_that_is_not_taken_is_named() {
    check(&[
        (
            "a {{ b c }}",
            "1:8: syntax error: unexpected `c`, expected `}}`",
        ),
        (
            "a {{ b.c. }}",
            "1:11: syntax error: unexpected `}}`, expected a name or a number",
        ),
        (
            "{{ a + }}",
            "1:8: syntax error: unexpected `}}`, expected an expression",
        ),
        (
            "ä {{ x | }}",
            "1:10: syntax error: unexpected `}}`, expected a name",
        ),
        (
            "{% for x of y %}{% endfor %}",
            "1:10: syntax error: unexpected `of`, expected `in`",
        ),
        (
            "{% if a = b %}{% endif %}",
            "1:9: syntax error: unexpected `=`, expected `%}`; `==` compares, and {% set a = 1 %} assigns",
        ),
        (
            "{% if a %}{% else if b %}{% endif %}",
            "1:19: syntax error: unexpected `if`, expected `%}`; write `elif`",
        ),
        (
            "{{ a || b }}",
            "1:7: syntax error: unexpected `|`, expected a name; write `or`",
        ),
        (
            "{{ a && b }}",
            "1:6: syntax error: unexpected character `&`; write `and`",
        ),
        (
            "{{ a\u{a0}+ b }}",
            "1:5: syntax error: unexpected character `\\u{a0}`",
        ),
        (
            "{{ a ? b : c }}",
            "1:6: syntax error: unexpected character `?`; write {{ a if b else c }}",
        ),
        (
            "{{ a\n<p>{{ b }}",
            "2:9: syntax error: unexpected `}`, expected `:` (in the tag that begins in line 1)",
        ),
        (
            "{% block a %}{% endblock %}\n{% block a %}{% endblock %}",
            "2:10: syntax error: block 'a' defined twice",
        ),
        (
            "a{% %}",
            "1:5: syntax error: unexpected `%}`, expected a statement",
        ),
        (
            "{% import 'b.html' as 3 %}",
            "1:23: syntax error: expected a name behind `as`",
        ),
        (
            "{% continue %}",
            "1:4: syntax error: 'continue' must be placed inside a loop",
        ),
        (
            "{% set x = [1] * 1000000 %}",
            "1:12: syntax error: the constants of this template are too large: its \
             operators may make 100000 items and bytes; use a loop",
        ),
    ]);
}

#[test]
fn places_in_blocks_of_macros_are_those_of_the_file() {
    check(&[
        (
            "{% macro m() %}\n  {% block a %}\n {{ x y }}\n{% endblock %}{% endmacro %}\n<p>\n",
            "3:7: syntax error: unexpected `y`, expected `}}`",
        ),
        (
            "{% macro m() %}\n  {% block a %}\n {{ x|uper }}\n{% endblock %}{% endmacro %}\n<p>\n",
            "3:7: unknown filter: there is no filter uper; did you mean \"upper\"?",
        ),
        (
            "{% macro m() %}\n  {% block a %}\n{% endblock %} {{ x|uper }}{% endmacro %}\n<p>\n",
            "3:21: unknown filter: there is no filter uper; did you mean \"upper\"?",
        ),
        (
            "{% macro m() %}{% block a %}{% endblock %}{% endmacro %}\n {{ x|uper }}\n",
            "2:7: unknown filter: there is no filter uper; did you mean \"upper\"?",
        ),
    ]);
}

#[test]
fn names_that_do_not_exist_have_a_hint() {
    check(&[
        (
            "x{{ a | uper }}",
            "1:9: unknown filter: there is no filter uper; did you mean \"upper\"?",
        ),
        (
            "x{{ a|nothing_like_it }}",
            "1:7: unknown filter: there is no filter nothing_like_it",
        ),
        ("{{ a|f(*b) }}", "1:6: unknown filter: there is no filter f"),
        (
            "{{ a|date('Y') }}",
            "1:6: unknown filter: there is no filter date; did you mean \"format_date\"?",
        ),
        (
            "{{ a|saef }}",
            "1:6: unknown filter: there is no filter saef",
        ),
        (
            "{{ m(1) }}",
            "1:4: unknown function: there is no function m",
        ),
        (
            "{{ a is not evn }}",
            "1:13: unknown test: there is no test evn; did you mean \"even\"?",
        ),
        (
            "\n{{ rang(3) }}",
            "2:4: unknown function: there is no function rang; did you mean \"range\"?",
        ),
        (
            "{{ a|map('uper') }}",
            "1:6: unknown filter: there is no filter uper; did you mean \"upper\"?",
        ),
        (
            "{{ a|select('evn') }}",
            "1:6: unknown test: there is no test evn; did you mean \"even\"?",
        ),
        (
            "{{ a|rejectattr('b', 'evn') }}",
            "1:6: unknown test: there is no test evn; did you mean \"even\"?",
        ),
    ]);
    assert_eq!(
        error("{{ a|map('upper')|select('==', 1)|list }}"),
        "no error"
    );
    // While it is rendered, too.
    for (text, expected) in [
        (
            "{{ a|uper }}",
            "there is no filter uper; did you mean \"upper\"?",
        ),
        (
            "{{ a is evn }}",
            "there is no test evn; did you mean \"even\"?",
        ),
        (
            "{{ [1]|map(b)|list }}",
            "there is no filter uper; did you mean \"upper\"?",
        ),
        (
            "{{ [1]|select(b)|list }}",
            "there is no test uper; did you mean \"upper\"?",
        ),
    ] {
        let files = [("a.html".to_owned(), text.to_owned())];
        let reader = MemoryReader::new(data("{'a': 1, 'b': 'uper'}"));
        let error = by_us(&files, "a.html", &reader, UndefinedBehavior::SemiStrict);
        let error = error.expect_err(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn arguments_that_jinja2_takes_are_taken_and_others_refused() {
    for (text, expected) in [
        ("{{ pairs|join(', ', 0) }}", "a, b"),
        ("{{ pairs|join(', ', attribute=0) }}", "a, b"),
        ("{{ pairs|sum(1) }}", "3"),
        ("{{ map|attr(name='z') }}", "7"),
        ("{{ map|attr('z') }}", "7"),
    ] {
        assert_eq!(error(text), "no error");
        let files = [("a.html".to_owned(), text.to_owned())];
        let reader = MemoryReader::new(data("{'pairs': [['a', 1], ['b', 2]], 'map': {'z': 7}}"));
        let shown = by_us(&files, "a.html", &reader, UndefinedBehavior::SemiStrict);
        assert_eq!(shown.as_deref(), Ok(expected), "{text}");
    }
    check(&[
        (
            "{{ a|join(', ', 0, 1) }}",
            "1:6: too many arguments: the filter join takes 2 arguments: d, attribute",
        ),
        (
            "{{ a|attr(nam='z') }}",
            "1:6: unknown argument: the filter attr has no argument \"nam\"; did you mean \"name\"?; it takes one \
             argument: name",
        ),
        (
            "{{ a|lines(1) }}",
            "1:6: too many arguments: the filter lines takes no arguments",
        ),
    ]);
}

#[test]
fn the_place_is_marked() {
    assert_eq!(
        error("<ul>\n\t{% if x %}ä{{ y z }}\n"),
        "templates/a.html:2:18: syntax error: unexpected `z`, expected `}}`\n     1 | <ul>\n>    2 |     {% if x \
         %}ä{{ y z }}\n       |                     ^"
    );
    let long = format!("{}{{{{ y z }}}}", "x".repeat(130));
    let error = error(&long);
    assert!(
        error.starts_with("templates/a.html:1:136: ") && error.contains('^'),
        "{error}"
    );
}

#[test]
fn the_place_is_marked_in_long_and_in_wide_lines() {
    let mark = |text: &str| {
        let error = error(text);
        let lines: Vec<&str> = error.lines().skip(1).take(2).collect();
        let [line, mark] = lines[..] else {
            panic!("{error}");
        };
        let before = mark.strip_suffix('^').expect("a mark").len();
        (line.to_owned(), before)
    };
    // The mark is below the word, which is in the part that is shown.
    let (line, before) = mark(&format!("{}{{% nothing %}}", "a".repeat(500)));
    assert!(line.starts_with(">    1 | ...aaa"), "{line}");
    assert_eq!(line.find("nothing"), Some(before), "{line}");
    let (line, before) = mark("<p>\t{% nothing %}");
    assert_eq!(line.find("nothing"), Some(before), "{line}");
    // Three characters that take two cells each, and one that takes none.
    let (line, before) = mark("日本語e\u{301}{% nothing %}");
    let chars = line.chars().position(|one| one == 'n').expect("the word");
    assert_eq!(before, chars + 3 - 1, "{line}");
}

#[test]
fn errors_far_to_the_right_are_told_as_such() {
    let text = format!("\n{}{{{{ \"a }}}}", "a".repeat(70_000));
    let error = error(&text);
    let first = error.lines().next().unwrap_or_default();
    // A build without checks of sums goes on to the error itself.
    let expected = match cfg!(debug_assertions) {
        true => "behind column 65535",
        false => "string",
    };
    assert!(first.starts_with("templates/a.html:2"), "{first}");
    assert!(first.contains(expected), "{first}");
}

#[test]
fn names_of_a_megabyte_are_refused_at_once() {
    let name = "n".repeat(1_000_000);
    for text in [
        format!("{{{{ 1 | {name} }}}}"),
        format!("{{{{ 1 is {name} }}}}"),
        format!("{{{{ {name}() }}}}"),
        format!("{{% {name} %}}"),
        format!("{{{{ 1 | round({name}=1) }}}}"),
    ] {
        let error = error(&text);
        let told = "syntax error: a name has 1000000 bytes: at most 1000 are taken";
        assert!(
            error.contains(told),
            "{}",
            error.get(..200).unwrap_or(&error)
        );
    }
}
