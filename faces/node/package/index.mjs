// The package as an ECMAScript module: the names of lib/scripts.cjs, which `sampan run` has filled by the time that a project imports them.
import sampan from "./index.cjs";

export default sampan.app;
export const {
  app, json, html, text, redirect, stream, sse, first, render, file, time, log, env, csv, regex, codec, crypto, password, db, session, template, files, i18n,
  cache, mail, metrics, upgrade,
  serve,
} = sampan;
