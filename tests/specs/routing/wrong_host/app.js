import { app } from "sampan";

function refused(name, hint) {
  let text = "accepted";
  try {
    app.host(name, () => {});
  } catch (error) {
    text = error.message;
  }
  if (!text.includes("is not the name of a host") || !text.includes(hint)) throw new Error(`${name}: ${text}`);
}
for (const name of ["*.", "*example.com", "a.*.com", "*.*.com"]) refused(name, "'*' stands alone");
for (const name of [":", ":.example.com", ":a:b.com", ":a-b.com", ":tenant", "a.:b.com"]) {
  refused(name, "a parameter is the whole first label");
}
for (const name of ["::1", "[::1]", "[::1]:80"]) refused(name, "IPv6");
for (const name of ["a.com:80", ":a.b.com:80", "a.com/x"]) refused(name, "without scheme, port and path");
refused("*", "declare what is for all hosts without a host");
refused(":a.0.0.1", "below an IP address");
refused("", "at most 253 bytes");
refused(`*.${"a.".repeat(200)}com`, "at most 253 bytes");
refused("a\0b.com", "single dots");

app.host("https://api.example.org", (api) => api.get("/", "never"));
