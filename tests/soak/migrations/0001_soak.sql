CREATE TABLE writes (
  writer INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  value TEXT NOT NULL, -- the same in all rows of a request
  PRIMARY KEY (writer, seq)
) STRICT;

CREATE TABLE wanted (
  client INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  done INTEGER NOT NULL DEFAULT 0, -- how often the job has run to its end
  PRIMARY KEY (client, seq)
) STRICT;
