CREATE TABLE owners (
  id INTEGER PRIMARY KEY,
  first_name TEXT NOT NULL,
  last_name TEXT NOT NULL COLLATE NOCASE,
  address TEXT NOT NULL,
  city TEXT NOT NULL,
  telephone TEXT NOT NULL
) STRICT;
CREATE INDEX owners_last_name ON owners (last_name);

CREATE TABLE types (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE pets (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL COLLATE NOCASE,
  birth_date TEXT NOT NULL,
  type_id INTEGER NOT NULL REFERENCES types (id),
  owner_id INTEGER NOT NULL REFERENCES owners (id),
  UNIQUE (owner_id, name)
) STRICT;

CREATE TABLE visits (
  id INTEGER PRIMARY KEY,
  pet_id INTEGER NOT NULL REFERENCES pets (id),
  visit_date TEXT NOT NULL,
  description TEXT NOT NULL
) STRICT;
CREATE INDEX visits_pet ON visits (pet_id, visit_date);

CREATE TABLE vets (
  id INTEGER PRIMARY KEY,
  first_name TEXT NOT NULL,
  last_name TEXT NOT NULL
) STRICT;

CREATE TABLE specialties (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE vet_specialties (
  vet_id INTEGER NOT NULL REFERENCES vets (id),
  specialty_id INTEGER NOT NULL REFERENCES specialties (id),
  PRIMARY KEY (vet_id, specialty_id)
) STRICT, WITHOUT ROWID;
