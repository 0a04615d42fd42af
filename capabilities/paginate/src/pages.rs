//! The pages themselves.

use form_urlencoded::Serializer;
use sampan_host::Value;

/// The number of links beside the current one have a link.
const BESIDE: u64 = 2;

/// The page that a request asks for.
pub(crate) struct Asked {
    pub(crate) total: u64,
    pub(crate) per_page: u64,
    /// The name of the page in the query.
    pub(crate) param: String,
    pub(crate) query: Vec<(String, String)>,
}

/// The pages of a list.
pub(crate) struct Pages {
    asked: Asked,
    page: u64,
    pages: u64,
}

impl Pages {
    /// Finds the page. One that is not a number is the first.
    pub(crate) fn of(asked: Asked) -> Self {
        let pages = asked.total.div_ceil(asked.per_page).max(1);
        let wanted = asked.query.iter().find(|(name, _)| *name == asked.param);
        let wanted = wanted.map_or("1", |(_, page)| page.trim());
        let is_number = !wanted.is_empty() && wanted.bytes().all(|byte| byte.is_ascii_digit());
        let page = match wanted.parse::<u64>() {
            Ok(page) => page,
            // More digits than a number has.
            Err(_) if is_number => u64::MAX,
            Err(_) => 1,
        };
        Self {
            page: page.clamp(1, pages),
            pages,
            asked,
        }
    }

    /// The URL of a page, relative to any page of the list.
    fn url(&self, page: u64) -> String {
        let mut query = Serializer::new(String::new());
        let others = self.asked.query.iter();
        query.extend_pairs(others.filter(|(name, _)| *name != self.asked.param));
        query.append_pair(&self.asked.param, &page.to_string());
        format!("?{}", query.finish())
    }

    /// The numbers of the pages with a link; nothing where some are left out.
    fn numbers(&self) -> Vec<Option<u64>> {
        let around = self.page.saturating_sub(BESIDE).max(1)..=(self.page + BESIDE).min(self.pages);
        let mut numbers = Vec::new();
        let mut before = 0;
        for number in [1].into_iter().chain(around).chain([self.pages]) {
            match number.saturating_sub(before) {
                0 => continue,
                1 => {}
                // A gap for one page would take its place.
                2 => numbers.push(Some(number - 1)),
                _ => numbers.push(None),
            }
            numbers.push(Some(number));
            before = number;
        }
        numbers
    }

    /// Returns the record for the script.
    pub(crate) fn record(&self) -> Value {
        let Asked {
            total, per_page, ..
        } = self.asked;
        let offset = (self.page - 1) * per_page;
        let last = (offset + per_page).min(total);
        let url = |page: u64| match (1..=self.pages).contains(&page) {
            true => Value::Text(self.url(page)),
            false => Value::Null,
        };
        let links = self.numbers().into_iter().map(|number| {
            Value::Map(match number {
                None => vec![("gap".to_owned(), Value::Bool(true))],
                Some(page) => vec![
                    ("page".to_owned(), int(page)),
                    ("url".to_owned(), Value::Text(self.url(page))),
                    ("current".to_owned(), Value::Bool(page == self.page)),
                ],
            })
        });
        let members = [
            ("page", int(self.page)),
            ("pages", int(self.pages)),
            ("limit", int(per_page)),
            ("total", int(total)),
            ("offset", int(offset)),
            ("first", int(if total == 0 { 0 } else { offset + 1 })),
            ("last", int(last)),
            ("prev", url(self.page - 1)),
            ("next", url(self.page + 1)),
            ("links", Value::List(links.collect())),
        ];
        let members = members.map(|(name, value)| (name.to_owned(), value));
        Value::Map(members.into())
    }
}

fn int(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(total: u64, page: &str) -> Pages {
        let query = [("q", "a b&c"), ("page", page), ("q", "ö")];
        Pages::of(Asked {
            total,
            per_page: 10,
            param: "page".to_owned(),
            query: query
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        })
    }

    #[test]
    fn a_page_that_is_not_there_is_the_nearest_that_is() {
        for (total, page, expected) in [
            (95, "3", (3, 10)),
            (95, "0", (1, 10)),
            (95, "11", (10, 10)),
            (95, "99999999999999999999999", (10, 10)),
            (95, "-1", (1, 10)),
            (95, "2.5", (1, 10)),
            (95, "", (1, 10)),
            (95, "two", (1, 10)),
            (0, "3", (1, 1)),
            (10, "2", (1, 1)),
            (11, "2", (2, 2)),
        ] {
            let found = pages(total, page);
            assert_eq!((found.page, found.pages), expected, "{total}, {page:?}");
        }
    }

    #[test]
    fn links_keep_the_rest_of_the_query() {
        assert_eq!(pages(95, "3").url(4), "?q=a+b%26c&q=%C3%B6&page=4");
    }

    #[test]
    fn the_ends_and_the_neighbours_have_links() {
        for (total, page, expected) in [
            (0, "1", "1"),
            (30, "2", "1 2 3"),
            (200, "1", "1 2 3 .. 20"),
            (200, "5", "1 2 3 4 5 6 7 .. 20"),
            (200, "6", "1 .. 4 5 6 7 8 .. 20"),
            (200, "17", "1 .. 15 16 17 18 19 20"),
            (200, "20", "1 .. 18 19 20"),
        ] {
            let numbers = pages(total, page).numbers();
            let shown: Vec<String> = numbers
                .iter()
                .map(|number| number.map_or("..".to_owned(), |number| number.to_string()))
                .collect();
            assert_eq!(shown.join(" "), expected, "{total}, {page}");
        }
    }
}
