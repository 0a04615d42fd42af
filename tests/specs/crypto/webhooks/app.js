import { app, codec, crypto, time } from "sampan";

const STANDARD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const GITHUB = "It's a Secret to Everybody";

const hex = (secret, text) => codec.hexEncode(crypto.hmac("sha256", secret, text));

function code(...args) {
  try {
    crypto.verifyWebhook(...args);
    return "accepted";
  } catch (fault) {
    return [fault.code, fault.status];
  }
}

// What Stripe would send now, or some seconds from now.
function stripe(secret, body, seconds = 0) {
  const at = Math.floor(time.now()) + seconds;
  return { "Stripe-Signature": `t=${at},v0=00,v1=${hex(secret, `${at}.${body}`)}` };
}

function standard(body, seconds = 0) {
  const at = String(Math.floor(time.now()) + seconds);
  const tag = crypto.hmac("sha256", codec.base64Decode(STANDARD.slice(6)), `msg_1.${at}.${body}`);
  return { "webhook-id": "msg_1", "webhook-timestamp": at, "webhook-signature": `v1,AAAA v1,${codec.base64Encode(tag)}` };
}

app.get("/stripe", () => {
  const old = ["new", "old"];
  return [
    code("stripe", "old", '{"a":1}', stripe("old", '{"a":1}')),
    code("stripe", old, "x", stripe("old", "x")),
    code("stripe", "new", "x", stripe("old", "x")),
    code("stripe", "old", "y", stripe("old", "x")),
    code("stripe", "old", "x", stripe("old", "x", -290)),
    code("stripe", "old", "x", stripe("old", "x", -310)),
    code("stripe", "old", "x", stripe("old", "x", 310)),
    code("stripe", "old", "x", stripe("old", "x", -310), { tolerance: 600 }),
    code("stripe", "old", "x", {}),
    code("stripe", "old", "x", { "stripe-signature": "v1=00" }),
  ];
});
app.get("/standard", () => {
  const { "webhook-id": _, ...parts } = standard("x");
  return [
    code("standard", STANDARD, "x", standard("x")),
    code("standard", STANDARD, "y", standard("x")),
    code("standard", STANDARD, "x", standard("x", 400)),
    code("standard", STANDARD, "x", parts),
  ];
});
app.get("/public_key", () => {
  const secret = codec.base64Decode("nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=");
  const key = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
  const headers = standard("x");
  const text = `msg_1.${headers["webhook-timestamp"]}.x`;
  headers["webhook-signature"] = `v1a,${codec.base64Encode(crypto.ed25519Sign(text, secret))}`;
  return [
    code("standard", key, "x", headers),
    code("standard", [STANDARD, key], "x", headers),
    code("standard", key, "y", headers),
    code("standard", STANDARD, "x", headers),
    code("standard", key, "x", standard("x")),
  ];
});
app.get("/bytes", () => {
  const body = new Uint8Array([255, 0, 254]);
  return [code("github", "s", body, { "X-HUB-SIGNATURE-256": `sha256=${hex("s", body)}` })];
});
app.post("/github", (req) => {
  req.verifyWebhook("github", ["another", GITHUB]);
  return "thanks";
});
app.post("/unread", { stream: true }, (req) => {
  req.verifyWebhook("github", GITHUB);
  return "thanks";
});
app.post("/read", { stream: true }, async (req) => {
  const text = await req.text();
  req.verifyWebhook("github", GITHUB);
  return text;
});
app.post("/read-buffer", { stream: true }, async (req) => {
  const buffer = await req.arrayBuffer();
  req.verifyWebhook("github", GITHUB);
  return { bytes: buffer instanceof ArrayBuffer && buffer.byteLength };
});
app.post("/pieces", { stream: true }, async (req) => {
  for await (const _ of req.body);
  req.verifyWebhook("github", GITHUB);
  return "thanks";
});
app.get("/id", () => {
  const headers = standard("x");
  return ["msg.1", "msg 1", "", "msg_1"].map((id) => code("standard", STANDARD, "x", { ...headers, "webhook-id": id }));
});
app.get("/swapped", () => crypto.verifyWebhook("a secret that nobody may see", "github", "", {}));
app.get("/scheme", () => crypto.verifyWebhook("svix", "s", "", {}));
app.get("/no_secret", () => crypto.verifyWebhook("github", "", "", {}));
app.get("/no_secrets", () => crypto.verifyWebhook("github", [], "", {}));
app.get("/base64", () => crypto.verifyWebhook("standard", "whsec_!", "", {}));
app.get("/private_key", () => crypto.verifyWebhook("standard", "whsk_AAAA", "", {}));
app.get("/tolerance", () => crypto.verifyWebhook("stripe", "s", "", {}, { tolerance: 0 }));
app.get("/option", () => crypto.verifyWebhook("stripe", "s", "", {}, { leeway: 1 }));
