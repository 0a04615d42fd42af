// What the pages read of the database. The columns have the names of the fields in the forms.
import { db } from "sampan";

const OWNER = 'SELECT id, first_name AS "firstName", last_name AS "lastName", address, city, telephone';

function found(row, what) {
  if (!row) throw Object.assign(new Error(`${what} does not exist`), { status: 404 });
  return row;
}

// An id in a path: what is none is the id of nothing.
const number = (id) => (/^\d{1,15}$/.test(id) ? Number(id) : 0);

export async function owner(id) {
  return found(await db.one(`${OWNER} FROM owners WHERE id = ?`, [number(id)]), `the owner ${id}`);
}

// The owners whose last name begins with a prefix. The index on the column finds them, whatever their case.
const BEGINS = "FROM owners WHERE last_name >= :prefix AND last_name < :behind";
const LAST = "\u{10ffff}"; // the last character of all

export async function countOwners(prefix) {
  const { n } = await db.one(`SELECT count(*) AS n ${BEGINS}`, { prefix, behind: prefix + LAST });
  return n;
}

export function owners(prefix, limit, offset) {
  const pets = "(SELECT string_agg(name, ', ' ORDER BY name) FROM pets WHERE owner_id = owners.id) AS pets";
  return db.query(`${OWNER}, ${pets} ${BEGINS} ORDER BY last_name, first_name, id LIMIT :limit OFFSET :offset`,
    { prefix, behind: prefix + LAST, limit, offset });
}

const PET = `
  SELECT pets.id, pets.name, birth_date AS "birthDate", types.name AS type FROM pets JOIN types ON types.id = type_id`;

export function pets(owner) {
  return db.query(`${PET} WHERE owner_id = ? ORDER BY pets.name`, [owner.id]);
}

export async function pet(owner, id) {
  return found(await db.one(`${PET} WHERE owner_id = ? AND pets.id = ?`, [owner.id, number(id)]), `the pet ${id}`);
}

// The visits of all pets of an owner.
export function visits(owner) {
  return db.query(`
    SELECT pet_id AS "petId", visit_date AS date, description FROM visits JOIN pets ON pets.id = pet_id
    WHERE owner_id = ? ORDER BY visit_date, visits.id`, [owner.id]);
}

export async function types() {
  const rows = await db.query("SELECT name FROM types ORDER BY name");
  return rows.map((row) => row.name);
}
