"use strict";
// The option `tls`: certificates and keys in the forms that `Bun.serve` takes, as texts for native code.

const { readFileSync } = require("node:fs");
const { createPrivateKey } = require("node:crypto");
const { fail, shown, isPlainObject } = require("../options.cjs");

const KNOWN = ["cert", "key", "passphrase", "ca", "serverName", "requestCert", "rejectUnauthorized", "certFile", "keyFile", "caFile"];

/** The text of a PEM: a string, bytes, a file as of `Bun.file`, or several of them. */
function textOf(value, name) {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map((part) => textOf(part, name)).join("\n");
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("latin1");
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString("latin1");
  // A `BunFile` is read by its path, at once.
  if (value instanceof Blob && typeof value.name === "string" && value.name !== "") return fileOf(value.name, name);
  return fail(`${name} must be PEM: a string, a Buffer, a file of Bun.file, or an array of them, not ${shown(value)}`);
}

function fileOf(path, name) {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    return fail(`${name}: ${error.message}`);
  }
}

/** What an entry has under a name, or in the file under another. */
function partOf(entry, name, label) {
  const file = entry[`${name}File`];
  if (file !== undefined && entry[name] !== undefined) fail(`${label}.${name} and ${label}.${name}File mean the same: give one of them`);
  if (file !== undefined && typeof file !== "string") fail(`${label}.${name}File must be a path, not ${shown(file)}`);
  const text = file === undefined ? entry[name] : fileOf(file, `${label}.${name}File`);
  return text === undefined ? undefined : textOf(text, `${label}.${name}`).replaceAll("\0", "");
}

/** A key as a text without a passphrase. */
function openKey(key, passphrase, label) {
  if (passphrase === undefined) return key;
  if (typeof passphrase !== "string") fail(`${label}.passphrase must be a string, not ${shown(passphrase)}`);
  try {
    return createPrivateKey({ key, passphrase }).export({ type: "pkcs8", format: "pem" });
  } catch (error) {
    return fail(`${label}.key cannot be opened with ${label}.passphrase: ${error.message}`);
  }
}

/**
 * The option `tls`, checked: the texts of certificates and keys with a zero between, those of authorities for clients, and whether
 * clients need a certificate. `undefined` where there is none.
 */
function checkTls(options) {
  if (options === undefined || options === null || options === false) return undefined;
  const entries = Array.isArray(options) ? options : [options];
  if (entries.length === 0) fail("tls: give at least one certificate: { cert, key }");
  const texts = [];
  const authorities = [];
  let isRequired = false;
  entries.forEach((entry, index) => {
    const label = entries.length > 1 ? `tls[${index}]` : "tls";
    if (!isPlainObject(entry)) fail(`${label} must be an object: { cert, key }, not ${shown(entry)}`);
    for (const name of Object.keys(entry)) {
      if (!KNOWN.includes(name) && entry[name] !== undefined) fail(`${label} has no ${JSON.stringify(name)}; it has ${KNOWN.join(", ")}`);
    }
    const [cert, key] = ["cert", "key"].map((name) => partOf(entry, name, label) ?? fail(`${label}.${name} is missing`));
    checkName(cert, entry.serverName, entries.length, label);
    texts.push(cert, openKey(key, entry.passphrase, label));
    const ca = partOf(entry, "ca", label);
    if (entry.requestCert === true && ca === undefined) fail(`${label}.requestCert needs ${label}.ca: the authorities that issue the certificates of clients`);
    if (ca !== undefined && entry.requestCert !== true) {
      fail(`${label}.ca is for certificates of clients: write requestCert: true too, or put intermediate certificates behind cert`);
    }
    if (ca !== undefined) authorities.push(ca);
    isRequired ||= entry.requestCert === true && entry.rejectUnauthorized !== false;
  });
  return { texts: texts.join("\0"), authorities: authorities.length === 0 ? undefined : authorities.join("\n"), isRequired };
}

/** A certificate of a list is chosen by the names in it: `serverName` must be one of them. */
function checkName(cert, serverName, count, label) {
  if (serverName === undefined) return;
  if (typeof serverName !== "string" || serverName === "") fail(`${label}.serverName must be a name, not ${shown(serverName)}`);
  const { X509Certificate } = require("node:crypto");
  let certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch (error) {
    fail(`${label}.cert cannot be used: ${error.message}`);
  }
  if (count > 1 && certificate.checkHost(serverName) === undefined) fail(`${label}.cert is not for ${label}.serverName ${JSON.stringify(serverName)}`);
}

module.exports = { checkTls };
