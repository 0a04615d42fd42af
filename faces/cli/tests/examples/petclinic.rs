//! Both languages answer every page with the same bytes, on both databases, and with what Spring PetClinic answers.

use crate::support::{Process, Scratch};
use crate::visitor::{Visitor, compared};
use crate::{LANGUAGES, databases, petclinic_on};

/// The largest front page, in bytes of HTML.
const FRONT_PAGE_BYTES_MAX: usize = 4096;

/// A request, the status, and texts that the answer must have.
struct Step(&'static str, u16, &'static [&'static str]);

/// All pages, and all that can be done on them. `POST` has the form behind the path, `JSON` and `XML` are GET with such
/// an `Accept`.
const STEPS: &[Step] = &[
    Step(
        "GET /",
        200,
        &["<h1>Welcome</h1>", "lang=\"en\" dir=\"ltr\""],
    ),
    Step("GET /owners/find", 200, &["name=\"lastName\""]),
    // The list: by prefix, whatever the case; one is shown at once; none is an error at the field.
    Step(
        "GET /owners?lastName=",
        200,
        &["10 owners", "Jeff Black", "page=2"],
    ),
    Step("GET /owners", 200, &["10 owners"]),
    Step(
        "GET /owners?lastName=&page=2",
        200,
        &["David Schroeder", "rel=\"prev\""],
    ),
    Step("GET /owners?lastName=&page=99", 200, &["David Schroeder"]),
    Step("GET /owners?lastName=&page=0", 200, &["Jeff Black"]),
    Step("GET /owners?lastName=&page=x", 200, &["Jeff Black"]),
    Step(
        "GET /owners?lastName=dAv",
        200,
        &["2 owners", "Betty Davis", "Harold Davis"],
    ),
    Step("GET /owners?lastName=Frank", 302, &["/owners/1\""]),
    Step(
        "GET /owners?lastName=nobody",
        200,
        &["begins like this", "value=\"nobody\"", "aria-invalid"],
    ),
    Step("GET /owners?lastName=%25", 200, &["begins like this"]),
    Step(
        "GET /owners?lastName=%22%3E%3Cscript%3E",
        200,
        &["value=\"&quot;&gt;&lt;script&gt;\""],
    ),
    Step(
        "GET /owners?lastName=a&lastName=b",
        200,
        &["begins like this"],
    ),
    Step(
        "GET /owners/6",
        200,
        &[
            "Jean Coleman",
            "105 N. Lake St.",
            "Samantha",
            "2013-01-04",
            "spayed",
            "neutered",
        ],
    ),
    // Owners.
    Step("GET /owners/new", 200, &["autocomplete=\"given-name\""]),
    Step(
        "POST /owners/new firstName=+&telephone=12345&lastName=Quill",
        422,
        &[
            "firstName-error",
            "value=\"12345\"",
            "value=\"Quill\"",
            "id=\"telephone-error\"",
        ],
    ),
    Step(
        "POST /owners/new ",
        422,
        &[
            "firstName-error",
            "lastName-error",
            "address-error",
            "city-error",
            "telephone-error",
        ],
    ),
    Step(
        "POST /owners/new firstName=A&firstName=B",
        422,
        &["lastName-error"],
    ),
    Step(
        "POST /owners/new firstName=Ada&lastName=Quill&address=1+%3CMain%3E+St.&city=Madison&telephone=6085550000",
        303,
        &["/owners/11\""],
    ),
    Step(
        "GET /owners/11",
        200,
        &[
            "Ada Quill",
            "1 &lt;Main&gt; St.",
            "The owner was added.",
            "no pets yet",
        ],
    ),
    Step("GET /owners/11", 200, &["Ada Quill"]),
    Step(
        "GET /owners/11/edit",
        200,
        &["value=\"Quill\"", "value=\"6085550000\""],
    ),
    Step(
        "POST /owners/11/edit firstName=Ada&lastName=&address=x&city=y&telephone=6085550000",
        422,
        &["lastName-error", "value=\"x\""],
    ),
    Step(
        "POST /owners/11/edit firstName=Ada&lastName=Quill&address=x&city=Lodi&telephone=6085550001",
        303,
        &["/owners/11\""],
    ),
    Step("GET /owners/11", 200, &["The owner was changed.", "Lodi"]),
    // Pets.
    Step(
        "GET /owners/11/pets/new",
        200,
        &["<option>hamster</option>", "Ada Quill"],
    ),
    Step(
        "POST /owners/11/pets/new name=&birthDate=&type=",
        422,
        &["name-error", "birthDate-error", "type-error"],
    ),
    Step(
        "POST /owners/11/pets/new name=Rex&birthDate=2999-01-01&type=cow",
        422,
        &[
            "birthDate-error",
            "type-error",
            "value=\"Rex\"",
            "value=\"2999-01-01\"",
        ],
    ),
    Step(
        "POST /owners/11/pets/new name=Rex&birthDate=2020-02-30&type=dog",
        422,
        &["birthDate-error", "<option selected>dog"],
    ),
    Step(
        "POST /owners/11/pets/new name=Rex&birthDate=2020-02-29&type=dog",
        303,
        &["/owners/11\""],
    ),
    Step(
        "GET /owners/11",
        200,
        &["The pet was added.", "Rex", "2020-02-29"],
    ),
    Step(
        "POST /owners/11/pets/new name=Bo&birthDate=2020-02-29&type=cat",
        303,
        &[],
    ),
    // On a server an insert that fails takes a number too.
    Step(
        "POST /owners/11/pets/new name=rEX&birthDate=2020-02-29&type=dog",
        422,
        &["already has a pet"],
    ),
    Step(
        "GET /owners/11/pets/15/edit",
        200,
        &["value=\"Bo\"", "<option selected>cat"],
    ),
    Step(
        "POST /owners/11/pets/15/edit name=REX&birthDate=2020-02-29&type=cat",
        422,
        &["already has a pet"],
    ),
    Step(
        "POST /owners/11/pets/15/edit name=BO&birthDate=2019-02-28&type=bird",
        303,
        &[],
    ),
    Step(
        "GET /owners/11",
        200,
        &["The pet was changed.", "BO", "bird"],
    ),
    // Visits.
    Step(
        "GET /owners/11/pets/14/visits/new",
        200,
        &["name=\"description\"", "Rex"],
    ),
    Step(
        "POST /owners/11/pets/14/visits/new date=2020-01-01&description=+",
        422,
        &["description-error", "value=\"2020-01-01\""],
    ),
    Step(
        "POST /owners/11/pets/14/visits/new date=then&description=shot",
        422,
        &["date-error", "value=\"shot\""],
    ),
    Step(
        "POST /owners/11/pets/14/visits/new date=2030-01-01&description=shot+%26+more",
        303,
        &["/owners/11\""],
    ),
    Step(
        "GET /owners/11",
        200,
        &["The visit was added.", "shot &amp; more"],
    ),
    Step(
        "GET /owners/11/pets/14/visits/new",
        200,
        &["Earlier visits", "2030-01-01"],
    ),
    // Vets.
    Step(
        "GET /vets.html",
        200,
        &["James Carter", "dentistry, surgery", "none", "page=2"],
    ),
    Step("GET /vets.html?page=2", 200, &["Sharon Jenkins"]),
    Step(
        "JSON /vets",
        200,
        &[
            "{\"vetList\":[{",
            "\"nrOfSpecialties\":2",
            "application/json",
        ],
    ),
    Step(
        "XML /vets",
        200,
        &[
            "<firstName>James</firstName>",
            "<name>dentistry</name>",
            "application/xml",
        ],
    ),
    // Errors.
    Step("GET /oups", 500, &["Something went wrong"]),
    Step("GET /nowhere", 404, &["does not exist"]),
    Step("GET /owners/99", 404, &["does not exist"]),
    Step("GET /owners/x/edit", 404, &["does not exist"]),
    Step("GET /owners/11/pets/1/edit", 404, &["does not exist"]),
    Step(
        "POST /owners/11/pets/1/visits/new date=2020-01-01&description=x",
        404,
        &["does not exist"],
    ),
];

/// The eight languages of the pages: the last one that was chosen stays.
const LANGUAGE_STEPS: &[Step] = &[
    Step(
        "POST /owners/new telephone=12345",
        422,
        &["Please fill this in.", "10 digits"],
    ),
    Step(
        "POST /owners/6/pets/new name=MAX&birthDate=2999-01-01&type=cow",
        422,
        &["in the future", "choose one of these"],
    ),
    Step(
        "POST /owners/6/pets/new name=MAX&birthDate=2020-02-30&type=cat",
        422,
        &["not a date"],
    ),
    Step(
        "POST /owners/6/pets/new name=MAX&birthDate=2020-02-29&type=cat",
        422,
        &["already has a pet"],
    ),
    Step(
        "GET /?lang=de",
        200,
        &["Willkommen", "lang=\"de\" dir=\"ltr\""],
    ),
    Step("GET /owners", 200, &["10 Besitzer"]),
    Step(
        "POST /owners/new telephone=1",
        422,
        &["Bitte ausfüllen.", "10 Ziffern"],
    ),
    Step("GET /?lang=es", 200, &["Te damos la bienvenida"]),
    Step(
        "GET /?lang=fa",
        200,
        &["خوش آمدید", "lang=\"fa\" dir=\"rtl\""],
    ),
    Step("GET /?lang=ko", 200, &["환영합니다"]),
    Step("GET /?lang=pt", 200, &["Boas-vindas"]),
    Step("GET /?lang=ru", 200, &["Добро пожаловать"]),
    Step("GET /owners?lastName=Es", 200, &["2 владельца"]),
    Step("GET /owners", 200, &["10 владельцев"]),
    Step("GET /?lang=tr", 200, &["Hoş geldiniz"]),
    Step("GET /?lang=xx", 200, &["Hoş geldiniz"]),
    Step("GET /?lang=en", 200, &["Welcome"]),
];

#[test]
fn both_languages_answer_alike() {
    let front_page = compare(STEPS);
    assert!(
        front_page.len() <= FRONT_PAGE_BYTES_MAX,
        "{} bytes",
        front_page.len()
    );
}

#[test]
fn the_pages_speak_eight_languages() {
    compare(LANGUAGE_STEPS);
}

/// Asks all for the same. Gives the first answer.
fn compare(steps: &[Step]) -> String {
    let mut told: Vec<Vec<String>> = Vec::new();
    let all = databases().into_iter();
    let all = all.flat_map(|database| LANGUAGES.map(|language| (language, database.clone())));
    for (language, database) in all {
        let scratch = Scratch::new(&[]);
        let server = Process::start(&mut petclinic_on(&database, language, &scratch));
        let mut visitor = Visitor::new(server.address);
        let mut answers = Vec::new();
        for Step(request, status, texts) in steps {
            let answer = match request.splitn(3, ' ').collect::<Vec<_>>()[..] {
                ["GET", path] => visitor.get(path, "text/html"),
                ["JSON", path] => visitor.get(path, "application/json"),
                ["XML", path] => visitor.get(path, "application/xml"),
                ["POST", path, form] => visitor.post(path, form),
                _ => panic!("not a request: {request}"),
            };
            let text = compared(&answer);
            assert_eq!(answer.status, *status, "{language} {request}\n{text}");
            for expected in *texts {
                assert!(
                    text.contains(expected),
                    "{language} {request}: no {expected}\n{text}"
                );
            }
            assert!(
                !text.contains("<script"),
                "{language} {request}: a page needs a script"
            );
            answers.push(text);
        }
        told.push(answers);
    }
    for others in &told[1..] {
        for (Step(request, ..), (first, other)) in steps.iter().zip(told[0].iter().zip(others)) {
            assert_eq!(first, other, "{request}");
        }
    }
    told.swap_remove(0).swap_remove(0)
}
