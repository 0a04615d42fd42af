import { app } from "sampan";

const shown = (template) => {
  try {
    return app.renderString(template, { d: "2026-11-22 14:05:09", n: 1234.5 });
  } catch (error) {
    return error.message.split("\n")[0].replace(/^.*?<string>:1: /, "");
  }
};

app.get("/taken", () => [
  "{{ n|format_number }}", "{{ n|format_number(decimals=2) }}", "{{ n|format_number(currency='EUR', decimals=0) }}",
  "{{ d|format_date }}", "{{ d|format_date(time=false) }}", "{{ d|format_date(style='short', time=true, tz='UTC') }}",
  "{{ t('plain') }}", "{{ t('p', n=3) }}",
].map(shown));
app.get("/refused", () => [
  "{{ n|format_number(2) }}", "{{ n|format_number(2, currency='EUR') }}", "{{ n|format_number(decimal=2) }}",
  "{{ n|format_number(decimals='2') }}", "{{ d|format_date('long') }}", "{{ d|format_date(stile='long') }}",
  "{{ d|format_date(time='yes') }}", "{{ d|format_date(time=1) }}", "{{ t('p', 3) }}", "{{ t('plain', 3, n=3) }}",
].map(shown));
