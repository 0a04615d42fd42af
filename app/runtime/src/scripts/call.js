import { calls } from "sampan";

const own = (holder, name) => (holder != null && Object.hasOwn(Object(holder), name) ? holder[name] : undefined);

calls.serve((number, name, values) => {
  const called = own(exports, name) ?? own(exports.default, name);
  if (typeof called !== "function") return calls.missing(number, name);
  const value = called(...values);
  if (typeof value?.then === "function") return value.then((settled) => calls.returned(number, settled));
  calls.returned(number, value);
});

export default exports.default;
