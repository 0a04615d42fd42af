CREATE TABLE users (
  id INTEGER PRIMARY KEY,
  email TEXT NOT NULL UNIQUE COLLATE NOCASE,
  password TEXT NOT NULL, -- its hash
  is_confirmed INTEGER NOT NULL DEFAULT 0, -- 1 once a link in a mail to this address was followed
  invited_at REAL NOT NULL -- the time of the last mail that asks to confirm, in seconds since 1970
) STRICT;

CREATE TABLE notes (
  id INTEGER PRIMARY KEY,
  user_id INTEGER NOT NULL REFERENCES users (id),
  title TEXT NOT NULL,
  body TEXT NOT NULL,
  image TEXT UNIQUE, -- the picture is storage/images/IMAGE; each one has a name of its own
  image_type TEXT,
  has_thumbnail INTEGER NOT NULL DEFAULT 0, -- 1 once storage/thumbnails/IMAGE is there
  no_thumbnail TEXT, -- why the picture gets none
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
