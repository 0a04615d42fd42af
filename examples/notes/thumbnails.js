// Thumbnails, made by a job. Scripts have no library for pictures, so only a format without compression gets one: BMP.
import { app, db, files, time } from "sampan";

const BYTES_MAX = 5 * 1000 * 1000; // of a picture that gets a thumbnail
const SIDE_MAX = 160; // of a thumbnail, in pixels
const SAMPLES = 4; // in each direction: a pixel is the mean of so many times so many

// Reads the head of a BMP: where a pixel of column and row lies, the width and the height. Or why there is no thumbnail.
function readHead(bmp) {
  const head = new DataView(bmp.buffer, bmp.byteOffset, bmp.byteLength);
  if (bmp.length < 54 || head.getUint16(0) !== 0x424d) return { reason: "only BMP pictures get one" };
  const start = head.getUint32(10, true), width = head.getUint32(18, true), bits = head.getUint16(28, true);
  const isTopFirst = head.getInt32(22, true) < 0; // other pictures begin with the lowest row
  const height = Math.abs(head.getInt32(22, true));
  if (![24, 32].includes(bits) || head.getUint32(30, true) !== 0) {
    return { reason: "only BMP pictures with 24 or 32 bits per pixel and without compression get one" };
  }
  const rowBytes = Math.floor((bits * width + 31) / 32) * 4;
  if (!width || !height || start + rowBytes * height > bmp.length) return { reason: "the picture is damaged" };
  const at = (column, row) => {
    [column, row] = [Math.min(column, width - 1), Math.min(row, height - 1)];
    return start + (isTopFirst ? height - 1 - row : row) * rowBytes + (column * bits) / 8;
  };
  return { at, width, height };
}

// Writes the mean of the samples that make a pixel of the thumbnail: three bytes, as BMP has them.
function writeMean(small, place, bmp, at, column, row, scale) {
  let blue = 0, green = 0, red = 0;
  for (let y = 0; y < SAMPLES; y += 1) {
    for (let x = 0; x < SAMPLES; x += 1) {
      const from = at(Math.floor((column + x / SAMPLES) * scale), Math.floor((row + y / SAMPLES) * scale));
      blue += bmp[from];
      green += bmp[from + 1];
      red += bmp[from + 2];
    }
  }
  const count = SAMPLES * SAMPLES;
  small.set([blue / count, green / count, red / count], place);
}

// A small BMP of a large one. Or why there is none.
async function shrink(bmp) {
  const { reason, at, width, height } = readHead(bmp);
  if (reason) return { reason };
  const scale = Math.max(1, width / SIDE_MAX, height / SIDE_MAX);
  const columns = Math.max(1, Math.floor(width / scale)), rows = Math.max(1, Math.floor(height / scale));
  const rowBytes = Math.ceil((columns * 3) / 4) * 4; // a row ends at a multiple of four bytes
  const small = new Uint8Array(54 + rowBytes * rows);
  const head = new DataView(small.buffer);
  head.setUint16(0, 0x424d);
  for (const [place, number] of [[2, small.length], [10, 54], [14, 40], [18, columns], [22, rows], [34, rowBytes * rows]]) {
    head.setUint32(place, number, true);
  }
  head.setUint16(26, 1, true);
  head.setUint16(28, 24, true);
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      writeMean(small, 54 + row * rowBytes + column * 3, bmp, at, column, row, scale);
    }
    await time.sleep(0); // other jobs of this thread go on
  }
  return { made: small };
}

app.job("thumbnail", { timeout: "30 s" }, async (args) => {
  const note = await db.one("SELECT user_id FROM notes WHERE image = ?", [args.image]);
  if (!note) return; // it was deleted, or has another picture by now
  const isLarge = files.stat(`images/${args.image}`).size > BYTES_MAX;
  const { made, reason } = isLarge ? { reason: "the picture has more than 5 MB" }
    : await shrink(await files.bytes(`images/${args.image}`));
  if (made) await files.write(`thumbnails/${args.image}`, made);
  await db.exec("UPDATE notes SET has_thumbnail = ?, no_thumbnail = ? WHERE image = ?", [made ? 1 : 0, reason ?? null, args.image]);
  app.publish(`notes:${note.user_id}`, "thumbnail");
});
