// Veterinarians: as pages, as JSON and as XML.
import { app, db, json, render } from "sampan";
import paging from "./paging.js";

function vets(limit, offset) {
  const rows = db.query(
    "SELECT first_name AS firstName, id, last_name AS lastName FROM vets ORDER BY id LIMIT ? OFFSET ?", [limit, offset]);
  return rows.map((row) => {
    const specialties = db.query(`
      SELECT id, name FROM specialties JOIN vet_specialties ON specialty_id = id WHERE vet_id = ? ORDER BY name`, [row.id]);
    return { ...row, nrOfSpecialties: specialties.length, specialties };
  });
}

app.get("/vets.html", (req) => {
  const { limit, offset, ...part } = paging(req, db.one("SELECT count(*) AS n FROM vets").n);
  return req.render("vets/list.html", { vets: vets(limit, offset), ...part });
});

// XML for clients that name it and do not name JSON.
app.get("/vets", (req) => {
  const accept = req.headers.get("accept") ?? "";
  const headers = { vary: "accept" };
  if (accept.includes("xml") && !accept.includes("json")) {
    return render("vets/list.xml", { vets: vets(-1, 0) }, { headers });
  }
  return json({ vetList: vets(-1, 0) }, { headers });
});
