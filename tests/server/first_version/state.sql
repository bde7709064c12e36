BEGIN TRANSACTION;
CREATE TABLE api_keys (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    digest BLOB NOT NULL UNIQUE,
    last_four TEXT NOT NULL,
    user INTEGER NOT NULL REFERENCES users (number) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER
) STRICT;
INSERT INTO "api_keys" VALUES(1,'local server',X'392BA7FC20D4A7B700F3349690C692E07747C9296DEAF72B8889F4EB61C2D839','sion',1,1769904000000,1769904000000);
CREATE TABLE exports (
    id TEXT PRIMARY KEY,
    partner INTEGER NOT NULL REFERENCES partners (number) ON DELETE CASCADE,
    status TEXT NOT NULL,
    format TEXT NOT NULL,
    compression TEXT NOT NULL,
    start_date TEXT NOT NULL,
    end_date TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    row_count INTEGER,
    size_bytes INTEGER,
    sha256 TEXT,
    error TEXT
) STRICT;
INSERT INTO "exports" VALUES('2bc280ec-74c5-4dc0-855f-bcfd8220c3a5',1,'completed','csv','none','2026-01-31','2026-02-01','f5ee44b2c4fb9945b74af4dab68f0619c966165f579080889fc0ee59db3a64c4',1769904000000,1769904000000,10,2997,'7a42fee522c92b60ac3f69b08d8d191f8643efead8df6daafc37e15fad08b635',NULL);
CREATE TABLE partners (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    currency TEXT NOT NULL
) STRICT;
INSERT INTO "partners" VALUES(1,'acme','Acme','USD');
CREATE TABLE secrets (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "secrets" VALUES('download',X'29DBA7503E0DBF748B4033E0CF49FE051D8F7DBBEB5207D0E81FE05D59E63D9B');
INSERT INTO "secrets" VALUES('token',X'B645FCDF4E3C7CE6E675997464C85C7056BF8233AD4E9CF64F34441E3BCCF025');
CREATE TABLE user_partners (
    user INTEGER NOT NULL REFERENCES users (number) ON DELETE CASCADE,
    partner INTEGER NOT NULL REFERENCES partners (number) ON DELETE CASCADE,
    PRIMARY KEY (user, partner)
) STRICT, WITHOUT ROWID;
CREATE TABLE users (
    number INTEGER PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('admin', 'partner')),
    password_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
INSERT INTO "users" VALUES(1,'admin@example.com','admin','$argon2id$v=19$m=19456,t=2,p=1$bG9jYWwtc2VydmVyLWtleQ$pC/SlKJ+3hPzQcQO5AqqjG2HOemVmF+1nQjiYyptX5E',1769904000000);
CREATE INDEX exports_by_request
    ON exports (partner, start_date, end_date, format, compression, created_at);
COMMIT;
PRAGMA user_version = 1;
