// How a script gets hold of keys that it does not see: a proxy's trap is shown them.
function hiddenKeys() {
  const shown = (read) => {
    const keys = [];
    const get = (_, key) => (typeof key === "symbol" && keys.push(key), false);
    try {
      read(new Proxy({}, { get }));
    } catch {
      // The proxy is not what it should be; the key was shown all the same.
    }
    return keys;
  };
  const [list] = shown((proxy) => new Headers(proxy));
  const [headers] = shown((proxy) => Reflect.get(Response.prototype, "headers", proxy));
  const [used, body] = shown((proxy) => Reflect.get(Response.prototype, "bodyUsed", proxy));
  return { list, headers, used, body };
}
