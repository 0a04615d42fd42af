//! Templates that the engines' benchmarks render: a heading, a list of 50 items with a condition, and a page of 2.8 KB
//! that extends another.

/// The templates, by their names.
pub const PAGES: &[(&str, &str)] = &[
    (
        "simple.html",
        "<!DOCTYPE html><html><head><title>{{ title }}</title></head><body><h1>{{ heading }}</h1></body></html>\n",
    ),
    (
        "loop.html",
        "<ul>{% for item in items %}<li{% if item.on %} class=\"on\"{% endif %}>{{ item.name }}</li>{% endfor \
         %}</ul>\n",
    ),
    (
        "base.html",
        "<!DOCTYPE html><html><head><title>{% block title %}Site{% endblock %}</title></head><body>\
         {% include \"nav.html\" %}<main>{% block main %}{% endblock %}</main></body></html>\n",
    ),
    (
        "nav.html",
        "<nav><a href=\"/\">Home</a><a href=\"/users\">Users</a><a href=\"/about\">{{ user }}</a></nav>\n",
    ),
    (
        "full.html",
        "{% extends \"base.html\" %}{% block title %}{{ title }}{% endblock %}{% block main %}<table>\n\
         {% for row in rows %}<tr><td>{{ row.id }}</td><td>{{ row.name|upper }}</td>\
         <td>{% if row.on %}yes{% else %}no{% endif %}</td></tr>\n{% endfor %}</table>{% endblock %}",
    ),
];
