// Veterinarians: as pages, as JSON and as XML.
import { app, db, json, render } from "sampan";
import paging from "./paging.js";

const ALL = 1e9; // a limit that is none

async function vets(limit, offset) {
  const rows = await db.query(
    'SELECT first_name AS "firstName", id, last_name AS "lastName" FROM vets ORDER BY id LIMIT ? OFFSET ?', [limit, offset]);
  return Promise.all(rows.map(async (row) => {
    const specialties = await db.query(`
      SELECT id, name FROM specialties JOIN vet_specialties ON specialty_id = id WHERE vet_id = ? ORDER BY name`, [row.id]);
    return { ...row, nrOfSpecialties: specialties.length, specialties };
  }));
}

app.get("/vets.html", async (req) => {
  const { n } = await db.one("SELECT count(*) AS n FROM vets");
  const { limit, offset, ...part } = paging(req, n);
  return req.render("vets/list.html", { vets: await vets(limit, offset), ...part });
});

// XML for clients that name it and do not name JSON.
app.get("/vets", async (req) => {
  const accept = req.headers.get("accept") ?? "";
  const headers = { vary: "accept" };
  if (accept.includes("xml") && !accept.includes("json")) {
    return render("vets/list.xml", { vets: await vets(ALL, 0) }, { headers });
  }
  return json({ vetList: await vets(ALL, 0) }, { headers });
});
