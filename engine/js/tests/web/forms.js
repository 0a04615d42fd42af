// FormData, Blob, File and their encodings.
const parse = (text, type = "multipart/form-data; boundary=b") =>
  new Response(text, { headers: { "content-type": type } }).formData();

test("FormData keeps names in order", () => {
  const form = new FormData();
  form.append("a", 1);
  form.append("b", "2");
  form.append("a", "3");
  equal([form.get("a"), form.get("c"), form.getAll("a"), form.has("b"), form.has("c")], ["1", null, ["1", "3"], true, false]);
  form.set("a", "9");
  equal([...form], [["a", "9"], ["b", "2"]]);
  form.delete("a");
  equal([[...form.keys()], [...form.values()]], [["b"], ["2"]]);
  throws(TypeError, () => form.append("x", "text", "name"));
  throws(TypeError, () => new FormData({}));
});
test("FormData methods want their arguments", () => {
  const form = new FormData();
  for (const name of ["append", "delete", "get", "getAll", "has", "set"]) throws(TypeError, () => form[name](), name);
  throws(TypeError, () => form.append("a"));
  throws(TypeError, () => form.set("a"));
  equal([...form], []);
});
test("a Blob becomes a File", () => {
  const form = new FormData();
  form.append("f", new Blob(["x"], { type: "A/B" }));
  form.append("g", new Blob(["x"]), "named");
  const file = new File(["x"], "own", { lastModified: 5 });
  form.append("h", file);
  equal([form.get("f").name, form.get("f").type, form.get("g").name], ["blob", "a/b", "named"]);
  ok(form.get("f") instanceof File && form.get("h") === file);
});
test("multipart round trip of text and a binary file", async () => {
  const form = new FormData();
  const every = new Uint8Array(1024).map((_, i) => i);
  form.append('we"ird\r\nname', "line\nend\r\nü");
  form.append("file", new File([every, "\r\n--", every], 'fi"le\n.bin', { type: "application/x-thing" }));
  form.append("empty", new File([], ""));
  form.append("blank", "");
  const request = new Request("http://h/", { method: "POST", body: form });
  const back = await request.formData();
  equal([...back.keys()], ['we"ird\r\nname', "file", "empty", "blank"]);
  equal(back.get('we"ird\r\nname'), "line\r\nend\r\nü");
  const file = back.get("file");
  equal([file.name, file.type, file.size], ['fi"le\n.bin', "application/x-thing", 2052]);
  equal([...(await file.bytes())], [...every, 13, 10, 45, 45, ...every]);
  equal([back.get("empty").name, back.get("empty").size, back.get("empty").type, back.get("blank")],
    ["", 0, "application/octet-stream", ""]);
});
test("parses what others send", async () => {
  const quoted = await parse('--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n', 'Multipart/Form-Data; charset=utf-8; boundary="b"');
  equal(quoted.get("a"), "1");
  const curl = await parse(
    '--b\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nhi\r\n--b\r\n' +
    'Content-Disposition: form-data; name=plain\r\nX-Other: y\r\n\r\n\r\n--b--');
  equal([curl.get("f").name, await curl.get("f").text(), curl.get("plain")], ["a.txt", "hi", ""]);
  const unsaid = await parse('--b\r\nContent-Disposition: form-data; name="f"; filename="x"\r\n\r\n\r\n--b--');
  equal(unsaid.get("f").type, "text/plain");
  equal([...(await parse("--b--"))], []);
});
test("refuses malformed multipart", async () => {
  for (const body of ["", "x", "--b", "--b\r\n", "--c\r\n\r\n--c--", '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1']) {
    await rejects(TypeError, parse(body), body);
  }
  await rejects(TypeError, parse("--b--", "multipart/form-data"));
  await rejects(TypeError, parse("--b--", "multipart/mixed; boundary=b"));
  await rejects(TypeError, parse("--b--", `multipart/form-data; boundary=${"b".repeat(71)}`));
  await rejects(TypeError, new Response("a=1").formData());
});
test("urlencoded forms", async () => {
  const form = await parse("a=1&b=x+y%21&a=%C3%BC&c", "application/x-www-form-urlencoded;charset=UTF-8");
  equal([...form], [["a", "1"], ["b", "x y!"], ["a", "ü"], ["c", ""]]);
  const round = await new Response(new URLSearchParams({ k: "v&=w" })).formData();
  equal(round.get("k"), "v&=w");
  await rejects(TypeError, parse("a&".repeat(10001), "application/x-www-form-urlencoded"));
});
test("Blob", async () => {
  const blob = new Blob(["aß", bytes(1, 2), bytes(3, 4).buffer, new Blob(["z"]), 7], { type: "TEXT/Plain" });
  equal([blob.size, blob.type], [9, "text/plain"]);
  equal([...(await blob.bytes())], [0x61, 0xc3, 0x9f, 1, 2, 3, 4, 0x7a, 0x37]);
  equal([await blob.slice(0, 3).text(), await blob.slice(-2).text(), blob.slice(5, 2).size, blob.slice(0, 99, "X/y").type],
    ["aß", "z7", 0, "x/y"]);
  equal(new Blob([], { type: "ü" }).type, "");
  throws(TypeError, () => new Blob("text"));
  throws(TypeError, () => new Blob(["x"], { endings: "foo" }));
  const lines = ["a\r\nb\rc\n", new Uint8Array([13, 10])];
  equal(await new Blob(lines, { endings: "native" }).text(), "a\nb\nc\n\r\n");
  equal(await new Blob(lines).text(), "a\r\nb\rc\n\r\n");
  (await blob.bytes())[0] = 0;
  equal((await blob.bytes())[0], 0x61, "a blob does not change");
  const chunks = [];
  for await (const chunk of blob.slice(0, 1).stream()) chunks.push(...chunk);
  equal(chunks, [0x61]);
  equal((await blob.arrayBuffer()).byteLength, 9);
});
test("File", () => {
  const file = new File(["x"], "näme", { type: "a/b", lastModified: 12.7 });
  equal([file.name, file.lastModified, file.type, file.size, file instanceof Blob], ["näme", 12, "a/b", 1, true]);
  throws(TypeError, () => new File(["x"]));
  equal(Object.prototype.toString.call(file), "[object File]");
});
