-- SPDX-License-Identifier: BSD-2-Clause
-- The tables of the history, version 1; docs/HISTORY.md explains them. What belongs to an interval
-- goes with it, and no interval is without its run.

PRAGMA page_size = 4096;
-- The first page is written without a journal: whoever only reads cannot undo what a killed daemon has begun.
PRAGMA journal_mode = MEMORY;
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
-- The program ends the transaction.
BEGIN IMMEDIATE;

CREATE TABLE meta (
	name TEXT PRIMARY KEY NOT NULL,
	value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE run (
	id INTEGER PRIMARY KEY,
	start_ns INTEGER NOT NULL,
	start_mono_ns INTEGER NOT NULL,
	host TEXT NOT NULL,
	boot_id TEXT NOT NULL,
	kernel TEXT NOT NULL
) STRICT;

CREATE TABLE kind (
	id INTEGER PRIMARY KEY,
	uid INTEGER NOT NULL,
	seen INTEGER NOT NULL,
	comm TEXT NOT NULL,
	user TEXT,
	cgroup TEXT
) STRICT;
CREATE INDEX kind_by_value ON kind (comm, uid, cgroup, user);

-- KIND_NOBODY and KIND_OTHERS.
INSERT INTO kind (id, uid, seen, comm) VALUES (1, 4294967295, 0, ''), (2, 4294967295, 0, '[others]');

CREATE TABLE call (
	id INTEGER PRIMARY KEY,
	abi TEXT NOT NULL,
	nr INTEGER NOT NULL,
	name TEXT NOT NULL,
	moves_data INTEGER NOT NULL
) STRICT;

CREATE TABLE interval (
	id INTEGER PRIMARY KEY,
	level INTEGER NOT NULL,
	run INTEGER NOT NULL REFERENCES run (id),
	start_mono_ns INTEGER NOT NULL,
	end_mono_ns INTEGER NOT NULL,
	start_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL,
	flags INTEGER NOT NULL,
	threads_unknown INTEGER NOT NULL,
	UNIQUE (level, run, start_mono_ns)
) STRICT;

CREATE TABLE cell (
	interval INTEGER NOT NULL REFERENCES interval (id) ON DELETE CASCADE,
	kind INTEGER NOT NULL,
	call INTEGER NOT NULL,
	calls INTEGER NOT NULL,
	errors INTEGER NOT NULL,
	interrupted INTEGER NOT NULL,
	untimed INTEGER NOT NULL,
	denied INTEGER NOT NULL,
	no_return INTEGER NOT NULL,
	result_sum INTEGER NOT NULL,
	wall_ns INTEGER NOT NULL,
	off_ns INTEGER NOT NULL,
	runq_ns INTEGER NOT NULL,
	max_ns INTEGER NOT NULL,
	min_ns INTEGER,
	histogram BLOB,
	errnos BLOB,
	PRIMARY KEY (interval, kind, call)
) STRICT, WITHOUT ROWID;

CREATE TABLE share (
	interval INTEGER NOT NULL REFERENCES interval (id) ON DELETE CASCADE,
	kind INTEGER NOT NULL,
	processes INTEGER NOT NULL,
	user_ns INTEGER NOT NULL,
	PRIMARY KEY (interval, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE loss (
	interval INTEGER NOT NULL REFERENCES interval (id) ON DELETE CASCADE,
	name TEXT NOT NULL,
	count INTEGER NOT NULL,
	PRIMARY KEY (interval, name)
) STRICT, WITHOUT ROWID;

-- Views for people: names and text. Those of calls add up right whatever levels there are.

CREATE VIEW finest AS
SELECT *,
	strftime('%Y-%m-%dT%H:%M:%SZ', start_ns / 1000000000, 'unixepoch') AS start,
	strftime('%Y-%m-%dT%H:%M:%SZ', end_ns / 1000000000, 'unixepoch') AS end
FROM interval i
WHERE NOT EXISTS (
	SELECT 1 FROM interval finer
	WHERE finer.level = i.level - 1 AND finer.run = i.run AND
		finer.start_mono_ns >= i.start_mono_ns AND finer.start_mono_ns < i.end_mono_ns
);

CREATE VIEW calls AS
SELECT i.id AS interval, i.level, i.start, i.end, i.start_ns, i.end_ns,
	k.comm, coalesce(k.user, k.uid) AS user, k.cgroup,
	coalesce(n.name, printf('syscall_0x%x', c.call >> 3)) AS syscall,
	c.calls, c.errors, c.interrupted, c.untimed, c.denied, c.no_return,
	CASE WHEN n.moves_data THEN c.result_sum END AS bytes,
	c.wall_ns, c.off_ns, c.runq_ns, c.min_ns, c.max_ns, c.histogram, c.errnos
FROM finest i
CROSS JOIN cell c ON c.interval = i.id
JOIN kind k ON k.id = c.kind
LEFT JOIN call n ON n.id = c.call;

CREATE VIEW processes AS
SELECT i.id AS interval, i.level, i.start, i.end, i.start_ns, i.end_ns,
	k.comm, coalesce(k.user, k.uid) AS user, k.cgroup, s.processes, s.user_ns
FROM finest i
CROSS JOIN share s ON s.interval = i.id
JOIN kind k ON k.id = s.kind;

CREATE VIEW intervals AS
SELECT i.id AS interval, i.level,
	strftime('%Y-%m-%dT%H:%M:%SZ', i.start_ns / 1000000000, 'unixepoch') AS start,
	strftime('%Y-%m-%dT%H:%M:%SZ', i.end_ns / 1000000000, 'unixepoch') AS end,
	(i.end_mono_ns - i.start_mono_ns) / 1e9 AS covered_s,
	r.host, r.boot_id, r.kernel, i.run, i.threads_unknown
FROM interval i
JOIN run r ON r.id = i.run;

PRAGMA application_id = 0x62707472;
PRAGMA user_version = 1;
