import { app } from "sampan";

const data = { x: [1, 2, 3], n: 1000000000, long: "a".repeat(400000), many: Array.from({ length: 60000 }, (_, at) => at) };

app.get("/slice", () => app.renderString(String.raw`{% for c in x|slice(n) %}a{% endfor %}`, data));
app.get("/batch", () => app.renderString(String.raw`{{ x|batch(n, '')|length }}`, data));
app.get("/indent", () => app.renderString(String.raw`{{ "a\nb"|indent(n) }}`, data));
app.get("/tojson", () => app.renderString(String.raw`{{ x|tojson(n) }}`, data));
app.get("/format", () => app.renderString(String.raw`{{ '%1000000000d'|format(1) }}`, data));
app.get("/format_method", () => app.renderString(String.raw`{{ '{:1000000000}'.format(1) }}`, data));
app.get("/replace", () => app.renderString(String.raw`{{ long|replace('a', long)|length }}`, data));
app.get("/join", () => app.renderString(String.raw`{{ many|join(long)|length }}`, data));
app.get("/times", () => app.renderString(String.raw`{{ ([[1]] * n)|length }}`, data));
app.get("/letters", () => app.renderString(String.raw`{{ ('x' * (n // 100))|list|length }}`, data));
app.get("/reject", () => app.renderString(String.raw`{{ many|reject('in', many)|list|length }}`, data));
app.get("/deep", () => app.renderString(String.raw`{% set ns = namespace(s=none) %}{% for i in many %}{% set ns.s = {'next': ns.s} %}{% endfor %}`, data));
app.get("/deep_list", () => app.renderString(String.raw`{% set ns = namespace(s=none) %}{% for i in many %}{% set ns.s = [ns.s] %}{% endfor %}`, data));
app.get("/self", () => app.renderString(String.raw`{% set ns = namespace() %}{% set ns.n = ns %}{{ ns }}`, data));
app.get("/ring", () => app.renderString(String.raw`{% set a = namespace() %}{% set b = namespace(a=[a]) %}{% set a.b = {'b': b} %}{{ a == a }}`, data));
app.get("/doubled", () => app.renderString(String.raw`{% set ns = namespace(s=[1]) %}{% for i in range(40) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}`, data));
app.get("/join_items", () => app.renderString(String.raw`{{ ([long] * 300)|join|length }}`, data));
app.get("/format_items", () => app.renderString(String.raw`{{ ('{0}' * 300).format(long)|length }}`, data));
app.get("/string_items", () => app.renderString(String.raw`{{ ([long] * 300)|string|length }}`, data));
app.get("/tojson_items", () => app.renderString(String.raw`{{ ([long] * 300)|tojson|length }}`, data));
app.get("/sum_items", () => app.renderString(String.raw`{{ ([long] * 300)|sum(start='')|length }}`, data));
app.get("/pprint_items", () => app.renderString(String.raw`{{ ([long] * 300)|pprint|length }}`, data));
app.get("/map_items", () => app.renderString(String.raw`{{ ([long] * 300)|map('upper')|list|length }}`, data));
app.get("/deep_items", () => app.renderString(String.raw`{{ ([[[[x * 100] * 100] * 100] * 100] * 100)|tojson|length }}`, data));
app.get("/long/:what", (req) => {
  const parts = { minus: `{{ ${"-".repeat(100000)}1 }}`, plus: `{{ ${"1+".repeat(100000)}1 }}`,
    filters: `{{ 1${"|abs".repeat(100000)} }}`, members: `{{ x${".b".repeat(100000)} }}`,
    branches: `{% if 0 %}${"{% elif 1 %}".repeat(50000)}{% endif %}`, nots: `{{ ${"not ".repeat(100000)}1 }}` };
  return app.renderString(parts[req.params.what], data);
});
app.get("/sums", () => app.renderString("{% set ns = namespace(s=[]) %}{% for i in range(1000) %}{% set ns.s = ns.s + [i] %}{% endfor %}{{ ns.s|length }}", data));
