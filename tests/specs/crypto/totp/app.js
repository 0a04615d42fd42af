import { app, crypto } from "sampan";

// The secret of RFC 6238 appendix B, "12345678901234567890".
const SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
const verify = (code, options) => crypto.totpVerify(SECRET, code, options) ?? "refused";

app.get("/rfc", () => [
  verify("287082", { time: 59 }), verify("081804", { time: 1111111109 }), verify("050471", { time: 1111111111 }),
  verify("005924", { time: 1234567890 }), verify("279037", { time: 2000000000 }),
  verify("353130", { time: 20000000000 }),
]);
app.get("/typed", () => [
  verify("287 082", { time: 59 }),
  crypto.totpVerify("gezd gnbv gy3t qojq gezd gnbv gy3t qojq", "287082", { time: 59 }),
]);
app.get("/refused", () => [
  verify("287083", { time: 59 }), verify("", { time: 59 }), verify("2870820", { time: 59 }),
  verify("28708a", { time: 59 }), verify("287082"),
]);
app.get("/window", () => [
  verify("287082", { time: 89 }), verify("287082", { time: 90 }), verify("287082", { time: 90, window: 2 }),
  verify("287082", { time: 89, window: 0 }), verify("287082", { time: 0 }),
]);
app.get("/once", () => {
  const counter = verify("287082", { time: 59 });
  return [
    verify("287082", { time: 59, after: counter }), verify("287082", { time: 59, after: counter - 1 }),
    verify("359152", { time: 59, after: counter }),
  ];
});
app.get("/secret", () => {
  const secret = crypto.totpSecret();
  return [/^[A-Z2-7]+$/.test(secret), secret.length, secret !== crypto.totpSecret()];
});
app.get("/uri", () => [crypto.totpUri({ secret: SECRET, account: "ann@example.org", issuer: "Boats & Söhne" })]);
app.get("/uri_colon", () => crypto.totpUri({ secret: SECRET, account: "a:b", issuer: "Boats" }));
app.get("/uri_issuer", () => crypto.totpUri({ secret: SECRET, account: "ann" }));
app.get("/wide", () => verify("287082", { window: 11 }));
app.get("/no_base32", () => crypto.totpVerify("a secret!", "287082"));
app.get("/option", () => verify("287082", { digits: 8 }));
