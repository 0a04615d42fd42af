import { first } from "sampan";
export default function check(form, fields) {
  const data = {}; let errors;
  for (const [name, rule] of Object.entries(fields)) {
    const value = (first(form[name]) ?? "").trim();
    let fault;
    if (value === "") fault = "check.required";
    else if (rule.pattern && !rule.pattern.test(value)) fault = rule.message;
    else if (rule.date && !/^\d{4}-\d\d-\d\d$/.test(value)) fault = "check.date";
    else if (rule.past && value > new Date().toISOString().slice(0, 10)) fault = "check.future";
    else if (rule.oneOf && !rule.oneOf().includes(value)) fault = rule.message;
    if (fault) (errors ??= {})[name] = fault;
    data[name] = value;
  }
  return [data, errors];
}
