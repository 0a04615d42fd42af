import { app, codec } from "sampan";

const BYTES = new Uint8Array([0, 251, 255, 97]);
const same = (bytes) => bytes.join() === BYTES.join();

app.get("/encode", () => [
  codec.base64Encode(BYTES), codec.base64urlEncode(BYTES.buffer), codec.hexEncode(BYTES), codec.base64Encode(""),
  codec.base64Encode("ü"), codec.hexEncode(""), codec.base32Encode(BYTES), codec.base32Encode("foobar"),
]);
app.get("/decode", () => [
  same(codec.base64Decode("APv/YQ==")), same(codec.base64Decode("APv/YQ")), same(codec.base64urlDecode("APv_YQ")),
  same(codec.hexDecode("00FBff61")), codec.hexDecode("").length === 0,
  same(codec.base32Decode("AD576YI=")), same(codec.base32Decode("ad576yi")), codec.base32Decode("").length === 0,
]);
app.get("/bad", () => [
  codec.base64Decode("APv_YQ==") === null, codec.base64Decode("A") === null, codec.base64Decode("APv/\nYQ==") === null,
  codec.base64Decode("APv/YR==") === null, codec.base64urlDecode("APv/YQ") === null, codec.hexDecode("abc") === null,
  codec.hexDecode("zz") === null, codec.hexDecode("+1") === null, codec.base32Decode("AD576YJ=") === null,
  codec.base32Decode("AD576YI==") === null, codec.base32Decode("A1") === null,
]);
