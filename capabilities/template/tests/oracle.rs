//! Comparison with minijinja: our output has the same bytes, and both fail for the same templates.
//!
//! A fixture has parts that begin with `=== name`: `data` is an expression, all others are templates. The first
//! template is rendered. A fixture may have many cases, each of which begins with `#### title`.

mod support;

use minijinja::UndefinedBehavior;
use std::path::Path;
use support::{MemoryReader, by_minijinja, by_us, data};

const BEHAVIORS: [UndefinedBehavior; 4] = [
    UndefinedBehavior::SemiStrict,
    UndefinedBehavior::Strict,
    UndefinedBehavior::Lenient,
    UndefinedBehavior::Chainable,
];

struct Case {
    title: String,
    data: String,
    files: Vec<(String, String)>,
}

fn cases(text: &str) -> Vec<Case> {
    let mut shared = String::from("{}");
    let mut cases = Vec::new();
    for (at, part) in text.split("#### ").enumerate() {
        let (title, body) = part.split_once('\n').unwrap_or((part, ""));
        let body = if at == 0 { part } else { body };
        let (mut given, mut files) = (None, Vec::new());
        for section in format!("\n{body}").split("\n=== ").skip(1) {
            let (name, text) = section.split_once('\n').unwrap_or((section, ""));
            let text = text.strip_suffix('\n').unwrap_or(text);
            match name {
                "data" => given = Some(text.to_owned()),
                name => files.push((name.to_owned(), text.to_owned())),
            }
        }
        if at == 0 {
            shared = given.unwrap_or(shared);
            continue;
        }
        assert!(!files.is_empty(), "{title}: no template");
        cases.push(Case {
            title: title.to_owned(),
            data: given.unwrap_or_else(|| shared.clone()),
            files,
        });
    }
    cases
}

#[test]
fn fixtures_render_as_minijinja_renders_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let (mut faults, mut count, mut errors) = (Vec::new(), 0, 0);
    for file in std::fs::read_dir(folder).expect("fixtures") {
        let path = file.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("text");
        for case in cases(&text) {
            for undefined in BEHAVIORS {
                let data = data(&case.data);
                let main = &case.files[0].0;
                let wanted = by_minijinja(&case.files, main, &data, undefined);
                let mut reader = MemoryReader::new(data.clone());
                reader.shows_rows = false;
                let by_member = by_us(&case.files, main, &reader, undefined);
                let ours = by_us(&case.files, main, &MemoryReader::new(data), undefined);
                assert_eq!(ours, by_member, "{}: rows at once", case.title);
                count += 1;
                errors += usize::from(wanted.is_err());
                let is_same = match (&wanted, &ours) {
                    (Ok(wanted), Ok(ours)) => wanted == ours,
                    (Err(_), Err(_)) => true,
                    _ => false,
                };
                if !is_same {
                    faults.push(format!(
                        "{}: {} ({undefined:?})\n  minijinja: {wanted:?}\n  ours:      {ours:?}",
                        path.file_name().unwrap_or_default().to_string_lossy(),
                        case.title
                    ));
                }
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{} of {count} differ\n{}",
        faults.len(),
        faults.join("\n")
    );
    assert!(
        count > 400 && errors > 40,
        "{count} renderings, {errors} errors"
    );
}

#[test]
fn a_long_loop_needs_no_more_room_than_one_round() {
    let files = [(
        "page.html".to_owned(),
        "{% for row in rows %}{{ row.name }}{{ row.name|upper }}{% set n = row.name %}{{ \
         (loop.nextitem|default(row)).name }}{% if n == row.name %}{% endif %}{% endfor %}"
            .to_owned(),
    )];
    let rows: Vec<_> = (0..1000).map(|at| format!("{{'name': 'n{at}'}}")).collect();
    let reader = MemoryReader::new(data(&format!("{{'rows': [{}]}}", rows.join(","))));
    let text =
        by_us(&files, "page.html", &reader, UndefinedBehavior::SemiStrict).expect("rendered");
    assert!(text.starts_with("n0N0n1") && text.ends_with("n999N999n999"));
    assert!(reader.most.get() < 20, "{} handles", reader.most.get());
}

#[test]
fn what_a_macro_has_enclosed_outlives_the_round() {
    let text = "{% set ns = namespace(m=none) %}{% for row in rows %}{% if loop.first %}\
                {% macro first() %}{{ row.name }}{% endmacro %}{% set ns.m = first %}{% endif %}{{ row.name }} {% \
                 endfor %}{{ ns.m() }}";
    let files = [("page.html".to_owned(), text.to_owned())];
    let data = data("{'rows': [{'name': 'a'}, {'name': 'b'}, {'name': 'c'}]}");
    let wanted = by_minijinja(&files, "page.html", &data, UndefinedBehavior::SemiStrict);
    let ours = by_us(
        &files,
        "page.html",
        &MemoryReader::new(data),
        UndefinedBehavior::SemiStrict,
    );
    assert_eq!(ours, wanted);
}

#[test]
fn continue_and_break_leave_no_frame_and_no_capture_open() {
    // minijinja panics here.
    let text = "{% for x in xs %}{% with y = x %}{% set z %}{{ y }}{% if y == 2 %}{% continue %}{% endif %}{% endset %}\
                {% autoescape false %}{% if y == 4 %}{% break %}{% endif %}{{ z }}{% endautoescape %}{% endwith %}{{ \
                 '<' }}{% endfor %}{{ '<' }}";
    let files = [("page.html".to_owned(), text.to_owned())];
    let reader = MemoryReader::new(data("{'xs': [1, 2, 3, 4, 5]}"));
    let ours = by_us(&files, "page.html", &reader, UndefinedBehavior::SemiStrict);
    assert_eq!(ours.as_deref(), Ok("1&lt;3&lt;&lt;"));
}

#[test]
fn errors_name_the_file_the_line_and_the_way_there() {
    let files = [
        (
            "page.html".to_owned(),
            "<h1>\n{% include 'row.html' %}\n</h1>".to_owned(),
        ),
        (
            "row.html".to_owned(),
            "<td>\n  {{ user.nme }}\n</td>".to_owned(),
        ),
    ];
    let reader = MemoryReader::new(data("{'user': {'name': 'Ada'}}"));
    let error =
        by_us(&files, "page.html", &reader, UndefinedBehavior::SemiStrict).expect_err("undefined");
    assert_eq!(
        error,
        "templates/row.html:2: undefined value: `user.nme` is undefined\n     1 | <td>\n>    2 |   {{ user.nme \
         }}\n     3 | </td>\n  \
         included at templates/page.html:2"
    );
}
