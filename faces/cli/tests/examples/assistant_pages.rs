//! examples/assistant in a browser: answers appear as they are written, can be stopped, and fail in words. Pictures are
//! for people to look at (`target/petclinic/assistant-*.png`).

use crate::LANGUAGES;
use crate::assistant::Assistant;
use crate::browser::{OVERFLOW, axe, faults_of, is_there, results, shown, turn, wait_for};
use crate::webdriver::{Browser, ENTER, TAB};
use sampan_testkit::wait;
use serde_json::json;

fn ask(browser: &mut Browser, text: &str) {
    browser.fill("#text", text);
    browser.press(ENTER);
}

fn has_focus(browser: &mut Browser, selector: &str) -> bool {
    let script = "return document.activeElement === document.querySelector(arguments[0])";
    browser.run(script, &json!([selector])) == json!(true)
}

#[test]
fn an_answer_appears_and_can_be_stopped() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    for language in LANGUAGES {
        let assistant = Assistant::start(language, "test-key");
        let mut browser = Browser::start(assistant.site);
        browser.open("/");
        ask(&mut browser, "Hello <b>there</b>");
        wait_for(&mut browser, ".state", "The answer is complete.");
        assert_eq!(shown(&mut browser, ".user .text"), "Hello <b>there</b>");
        assert_eq!(
            shown(&mut browser, ".assistant .text"),
            "You said: “Hello <b>there</b>”. I only repeat it."
        );

        ask(&mut browser, "a long answer");
        wait_for(&mut browser, "article:last-child .text", "word word");
        assert!(browser.has("article:last-child[aria-busy=true]"));
        assistant.wait_for_streams(1);
        browser.press(TAB);
        assert!(has_focus(&mut browser, ".stop"), "{language}");
        browser.press(ENTER);
        wait_for(&mut browser, "article:last-child .fault", "You stopped");
        assistant.wait_for_streams(0);
        assert!(has_focus(&mut browser, "#text"), "{language}");
        assert!(!browser.has("[aria-busy]"));

        ask(&mut browser, "too many");
        wait_for(&mut browser, "article:last-child .fault", "too much to do");
        // The question is asked once more, and the answer takes the place of the one that failed.
        let articles = "return document.querySelectorAll('article').length";
        let before = browser.run(articles, &json!([]));
        browser.run(
            "document.querySelector('article:last-child .fault').id = 'old';
             document.querySelector('#old button').click()",
            &json!([]),
        );
        wait::until("another try", || {
            !browser.has("#old") && browser.has("article:last-child .fault")
        });
        assert_eq!(browser.run(articles, &json!([])), before);
        assert!(has_focus(&mut browser, "#text"), "{language}");

        // What was asked before is a part of the next question.
        ask(&mut browser, "Once more");
        wait_for(&mut browser, ".state", "The answer is complete.");
        assert!(shown(&mut browser, "article:last-child .text").contains("Once more"));
    }
}

/// Pictures of the page, wide and narrow, and what axe-core finds, where it is there.
#[test]
fn pages_of_the_assistant() {
    let _turn = turn();
    if !is_there() {
        return;
    }
    let axe = axe();
    let assistant = Assistant::start("lua", "test-key");
    let mut browser = Browser::start(assistant.site);
    let mut faults = Vec::new();
    for (width, height) in [(1280, 800), (380, 760)] {
        browser.size(width, height);
        for scheme in ["light", "dark"] {
            browser.colours(scheme);
            browser.open("/");
            let mut check = |browser: &mut Browser, name: &str| {
                let what = format!("assistant-{name}-{width}-{scheme}");
                assert_eq!(browser.run(OVERFLOW, &json!([])), json!(0), "{what}");
                if let Some(axe) = &axe {
                    faults.extend(faults_of(browser, axe, &what));
                }
                browser.picture(&results().join(format!("{what}.png")));
            };
            check(&mut browser, "empty");
            let long = format!("What does {} mean, and why?", "Unbroken".repeat(12));
            ask(&mut browser, &long);
            wait_for(&mut browser, ".state", "The answer is complete.");
            check(&mut browser, "answer");
            ask(&mut browser, "a long answer");
            wait_for(&mut browser, "article:last-child .text", "word word");
            check(&mut browser, "writing");
            browser.run("document.querySelector('.stop').click()", &json!([]));
            wait_for(&mut browser, "article:last-child .fault", "You stopped");
            ask(&mut browser, "it will break");
            wait_for(&mut browser, "article:last-child .fault", "broke off");
            check(&mut browser, "broken");
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
