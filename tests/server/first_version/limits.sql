BEGIN TRANSACTION;
CREATE TABLE sends (
    credential TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
INSERT INTO "sends" VALUES('key:1',1769904000000);
CREATE INDEX sends_by_credential ON sends (credential, at);
COMMIT;
PRAGMA user_version = 1;
