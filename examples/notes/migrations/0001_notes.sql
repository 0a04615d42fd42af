CREATE TABLE users (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE COLLATE NOCASE,
  password TEXT NOT NULL -- its hash
) STRICT;

CREATE TABLE notes (
  id INTEGER PRIMARY KEY,
  user_id INTEGER NOT NULL REFERENCES users (id),
  title TEXT NOT NULL,
  body TEXT NOT NULL,
  image TEXT, -- the type of the picture, which is storage/images/ID
  created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) STRICT;
CREATE INDEX notes_user ON notes (user_id);

CREATE TABLE tags (
  note_id INTEGER NOT NULL REFERENCES notes (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  PRIMARY KEY (note_id, name)
) STRICT, WITHOUT ROWID;

-- The index for the search has no text of its own: triggers tell it what changes in the notes.
CREATE VIRTUAL TABLE notes_index USING fts5 (title, body, content = 'notes', content_rowid = 'id');
CREATE TRIGGER notes_insert AFTER INSERT ON notes BEGIN
  INSERT INTO notes_index (rowid, title, body) VALUES (new.id, new.title, new.body);
END;
CREATE TRIGGER notes_delete AFTER DELETE ON notes BEGIN
  INSERT INTO notes_index (notes_index, rowid, title, body) VALUES ('delete', old.id, old.title, old.body);
END;
CREATE TRIGGER notes_update AFTER UPDATE OF title, body ON notes BEGIN
  INSERT INTO notes_index (notes_index, rowid, title, body) VALUES ('delete', old.id, old.title, old.body);
  INSERT INTO notes_index (rowid, title, body) VALUES (new.id, new.title, new.body);
END;
