import { app, db, files, password, t } from "sampan";

let hash; // made once for all tests, because it takes long

t.beforeEach(async () => {
  hash ??= await password.hash("correct horse");
  await db.exec("INSERT INTO users (email, password, is_confirmed, invited_at) VALUES ('ann@example.org', ?, 1, 0)", [hash]);
  await t.post("/login", { form: { email: "ann@example.org", password: "correct horse" } });
});

// A BMP of 24 bits per pixel: a chessboard of red and blue, whose squares have `side` pixels.
function picture(width, height, side) {
  const rowBytes = Math.ceil((width * 3) / 4) * 4;
  const bytes = new Uint8Array(54 + rowBytes * height);
  const head = new DataView(bytes.buffer);
  head.setUint16(0, 0x424d);
  for (const [place, number] of [[2, bytes.length], [10, 54], [14, 40], [18, width], [22, height], [34, rowBytes * height]]) {
    head.setUint32(place, number, true);
  }
  head.setUint16(26, 1, true);
  head.setUint16(28, 24, true);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const isRed = (Math.floor(x / side) + Math.floor(y / side)) % 2 === 0;
      bytes[54 + y * rowBytes + x * 3 + (isRed ? 2 : 0)] = 255;
    }
  }
  return bytes;
}

// Saves a note with a picture.
async function save(path, content) {
  const image = { content, filename: "a", type: "application/octet-stream" };
  const answer = await t.post(path, { form: { title: "Garden", body: "Tulips", image } });
  t.equal(answer.status, 303);
  return answer.headers.location;
}

t.test("a picture gets a thumbnail by a job", async () => {
  const note = await save("/notes/new", picture(640, 320, 4));
  t.equal((await t.get(`${note}/image`)).status, 200);
  t.equal((await t.get(`${note}/thumbnail`)).status, 404);
  t.equal((await t.get("/")).html.count(".card img"), 0);
  t.equal((await t.runJobs()).ran, 1);
  t.equal((await t.get("/")).html.count(".card img"), 1);
  const small = await t.get(`${note}/thumbnail`);
  t.equal(small.headers["content-type"], "image/bmp");
  t.equal(small.body, picture(160, 80, 1));
});

t.test("a small picture stays as it is", async () => {
  const content = picture(3, 2, 1);
  const note = await save("/notes/new", content);
  await t.runJobs();
  t.equal((await t.get(`${note}/thumbnail`)).body, content);
});

t.test("a picture that cannot get a thumbnail says why", async () => {
  const compressed = picture(3, 2, 1);
  compressed[28] = 8;
  const large = new Uint8Array(5_000_100);
  large.set(picture(3, 2, 1));
  for (const [content, reason] of [
    [new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0]), "only BMP pictures get one"],
    [picture(640, 320, 4).slice(0, 1000), "the picture is damaged"],
    [large, "the picture has more than 5 MB"],
    [compressed, "with 24 or 32 bits per pixel and without compression"],
  ]) {
    const note = await save("/notes/new", content);
    await t.runJobs();
    t.contains((await t.get(note)).html.text("main"), reason);
    t.equal((await t.get(`${note}/thumbnail`)).status, 404);
  }
});

t.test("another picture replaces the files of the first, and a deleted note leaves none", async () => {
  const note = await save("/notes/new", picture(3, 2, 1));
  await t.runJobs();
  await save(`${note}/edit`, picture(2, 2, 1));
  await t.runJobs();
  t.equal((await t.get(`${note}/thumbnail`)).body, picture(2, 2, 1));
  t.equal([files.list("images").length, files.list("thumbnails").length], [1, 1]);
  await t.post(`${note}/delete`);
  t.equal([files.list("images").length, files.list("thumbnails").length], [0, 0]);
});

t.test("a job of a picture that is gone does nothing", async () => {
  await app.enqueue("thumbnail", { image: "gone" });
  t.equal((await t.runJobs()).ran, 1);
  t.ok(!files.exists("thumbnails/gone"));
});

t.test("a note has one picture", async () => {
  const image = { content: picture(3, 2, 1), filename: "a", type: "image/bmp" };
  const answer = await t.post("/notes/new", { form: { title: "Garden", body: "Tulips", image: [image, image] } });
  t.equal(answer.status, 422);
  t.contains(answer.html.text("#image-error"), "Choose one picture");
});

t.test("control characters divide tags", async () => {
  const answer = await t.post("/notes/new", { form: { title: "Garden", body: "Tulips", tags: "\0 home\x01spring \x7f" } });
  const page = (await t.get(answer.headers.location)).html;
  t.equal([page.count(".tags a"), page.text(".tags a")], [2, "home"]);
});
