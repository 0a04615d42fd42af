import { app, mail, text } from "sampan";

const source = (parts) => text(mail.source(parts).replaceAll("\r\n", "\n"));

app.get("/text", () => source({
  to: "Ann <ann@example.org>",
  cc: ["bob@example.org", { name: "Größe", address: "c@example.org" }],
  bcc: "hidden@example.org",
  replyTo: "help@example.com",
  subject: "Hello",
  text: "Hello Ann\n",
  headers: { "X-Campaign": "spring" },
}));
app.get("/html", () => source({
  to: ["ann@example.org"],
  from: { name: "Other", address: "other@example.com" },
  subject: "Hello",
  html: '<h1>Hello</h1><p>Read <a href="https://example.org/">this</a>.</p><img src="cid:logo.png">',
  inline: [{ name: "logo.png", content: new Uint8Array([137, 80, 78, 71]) }],
  attachments: [{ name: "a.csv", content: "a,b\n" }, { name: "b", content: "x", contentType: "text/x-b" }],
}));
