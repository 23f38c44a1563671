const assert = require('assert');
const mysql = require('mysql2/promise');

exports.open = async (server) => {
  const c = await mysql.createConnection({ ...server, multipleStatements: true, supportBigNumbers: true, bigNumberStrings: true, namedPlaceholders: true, timezone: 'Z' });
  return { server, c };
};
exports.close = async ({ c }) => c.end();

const TYPES = `CREATE TABLE types (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, b BOOLEAN, t TINYINT, i INT, u INT UNSIGNED, g BIGINT, d DECIMAL(20,6), f FLOAT, x DOUBLE,
  s VARCHAR(100), c CHAR(5), txt TEXT, bin VARBINARY(50), blb BLOB, j JSON, e ENUM('a','b'), st SET('x','y','z'), y YEAR, da DATE, dt DATETIME(3), ts TIMESTAMP(6) NULL, tm TIME(2), bt BIT(12))`;
const ROW = { b: 1, t: -128, i: -2147483648, u: 4294967295, g: '9223372036854775807', d: '12345678901234.567890', f: 0.5, x: 1.5e300, s: 'naïve 日本 🐍', c: 'abc', txt: 't'.repeat(60000),
  bin: Buffer.from([0, 255, 1]), blb: Buffer.alloc(50000, 7), j: JSON.stringify({ a: [1, null, 'x'] }), e: 'b', st: 'x,z', y: 2026, da: '2024-02-29', dt: new Date('2026-01-02T03:04:05.678Z'),
  ts: new Date('2026-01-02T03:04:05.678Z'), tm: '-12:34:56.78', bt: Buffer.from([0x0f, 0xff]) };

function sameRow(r) {
  assert.equal(r.b, 1); assert.equal(r.t, -128); assert.equal(r.i, -2147483648); assert.equal(r.u, 4294967295); assert.equal(String(r.g), ROW.g); assert.equal(r.d, ROW.d);
  assert.equal(r.f, 0.5); assert.equal(r.x, 1.5e300); assert.equal(r.s, ROW.s); assert.equal(r.c, 'abc'); assert.equal(r.txt, ROW.txt); assert.ok(r.bin.equals(ROW.bin));
  assert.ok(r.blb.equals(ROW.blb)); assert.deepEqual(typeof r.j === 'string' ? JSON.parse(r.j) : r.j, { a: [1, null, 'x'] }); assert.equal(r.e, 'b'); assert.equal(r.st, 'x,z'); assert.equal(r.y, 2026);
  assert.equal(r.da.toISOString().slice(0, 10), '2024-02-29'); assert.equal(r.dt.getTime(), ROW.dt.getTime()); assert.equal(r.ts.getTime(), ROW.ts.getTime());
  assert.equal(r.tm.replace(/0+$/, ''), '-12:34:56.78'); assert.ok(r.bt.equals(ROW.bt));
}

exports.checks = {
  async types_text({ c }) {
    await c.query('DROP TABLE IF EXISTS types'); await c.query(TYPES);
    const [r] = await c.query('INSERT INTO types SET ?', [ROW]);
    assert.equal(r.insertId, 1); assert.equal(r.affectedRows, 1);
    const [rows] = await c.query('SELECT * FROM types WHERE id = ?', [1]); sameRow(rows[0]);
  },
  async types_prepared({ c }) {
    const names = Object.keys(ROW);
    const [r] = await c.execute(`INSERT INTO types (${names.join()}) VALUES (${names.map(() => '?').join()})`, Object.values(ROW));
    assert.equal(r.insertId, 2);
    const [rows, fields] = await c.execute('SELECT * FROM types WHERE id = ?', [2]); sameRow(rows[0]);
    assert.equal(fields[0].name, 'id'); assert.equal(fields[0].orgTable ?? fields[0].table, 'types');
  },
  async nulls({ c }) {
    const [r] = await c.execute('INSERT INTO types () VALUES ()'); const [rows] = await c.execute('SELECT * FROM types WHERE id = ?', [r.insertId]);
    for (const [k, v] of Object.entries(rows[0])) if (k !== 'id') assert.equal(v, null, k);
  },
  async named_placeholders({ c }) {
    const [rows] = await c.execute('SELECT :a + 0 AS x, :b AS y', { a: 4, b: 'q' }); assert.equal(rows[0].x, 4); assert.equal(rows[0].y, 'q');
  },
  async several_statements({ c }) {
    const [r] = await c.query('SELECT 1 AS a; SELECT 2 AS b; DO 1; SELECT 3 AS c'); assert.deepEqual([r[0][0].a, r[1][0].b, r[3][0].c], [1, 2, 3]);
  },
  async several_statements_stop_at_an_error({ c }) {
    await assert.rejects(c.query('SELECT 1; SELECT * FROM nowhere; SELECT 2'), (e) => e.errno === 1146 && e.sqlState === '42S02' && e.code === 'ER_NO_SUCH_TABLE');
    const [rows] = await c.query('SELECT 5 AS v'); assert.equal(rows[0].v, 5);
  },
  async errors({ c }) {
    await assert.rejects(c.query('SELEC 1'), (e) => e.errno === 1064); await assert.rejects(c.execute('SELECT 1 +', []), (e) => e.errno === 1064);
    await assert.rejects(c.query('INSERT INTO types (id) VALUES (1)'), (e) => e.errno === 1062 && /types.PRIMARY|'PRIMARY'/.test(e.message));
    await assert.rejects(c.query('INSERT INTO types (t) VALUES (1000)'), (e) => e.errno === 1264);
    await assert.rejects(c.query("INSERT INTO types (e) VALUES ('q')"), (e) => e.errno === 1265);
    await assert.rejects(c.query("INSERT INTO types (j) VALUES ('{')"), (e) => [3140, 4025].includes(e.errno));
  },
  async transactions({ c }) {
    await c.query('CREATE TABLE IF NOT EXISTS acc (id INT PRIMARY KEY, v INT)'); await c.query('REPLACE INTO acc VALUES (1, 10), (2, 20)');
    await c.beginTransaction(); await c.query('UPDATE acc SET v = v - 5 WHERE id = 1'); await c.rollback();
    await c.beginTransaction(); await c.query('UPDATE acc SET v = v + 5 WHERE id = 2'); await c.commit();
    const [rows] = await c.query('SELECT v FROM acc ORDER BY id'); assert.deepEqual(rows.map((r) => r.v), [10, 25]);
  },
  async bulk_insert_and_info({ c }) {
    const [r] = await c.query('INSERT IGNORE INTO acc (id, v) VALUES ?', [[[1, 1], [3, 3], [4, 4]]]);
    assert.equal(r.affectedRows, 2); assert.match(r.info, /Records: 3 {2}Duplicates: 1 {2}Warnings: [01]/);
    const [u] = await c.query('UPDATE acc SET v = 3 WHERE id IN (3, 4)'); assert.equal(u.affectedRows, 2); assert.equal(u.changedRows, 1);
  },
  async upsert_and_ids({ c }) {
    await c.query('DROP TABLE IF EXISTS up'); await c.query('CREATE TABLE up (id INT AUTO_INCREMENT PRIMARY KEY, k INT UNIQUE, v INT)');
    const [a] = await c.query('INSERT INTO up (k, v) VALUES (1, 1), (2, 2)'); assert.equal(a.insertId, 1);
    const [b] = await c.query('INSERT INTO up (k, v) VALUES (2, 9) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), v = VALUES(v)'); assert.equal(b.insertId, 2); assert.equal(b.affectedRows, 2);
    const [d] = await c.query('INSERT INTO up (id, k) VALUES (77, 77)'); assert.equal(d.insertId, 77);
    const [l] = await c.query('SELECT LAST_INSERT_ID() AS l'); assert.equal(l[0].l, 2);
  },
  async pool({ server }) {
    const pool = mysql.createPool({ ...server, connectionLimit: 8 });
    const all = await Promise.all(Array.from({ length: 100 }, (_, i) => pool.execute('SELECT ? AS n, SLEEP(0.001) AS s', [i])));
    assert.deepEqual(all.map(([r]) => Number(r[0].n)), Array.from({ length: 100 }, (_, i) => i));
    await pool.end();
  },
  async reset_change_user_ping({ c, server }) {
    await c.query('SET @x = 5'); await c.changeUser({ user: 'root', password: '', database: server.database });
    const [rows] = await c.query('SELECT @x AS x, DATABASE() AS d'); assert.equal(rows[0].x, null); assert.equal(rows[0].d, 'node'); await c.ping();
  },
  async large_packets({ c }) {
    const big = 'é'.repeat(7 << 20); const [rows] = await c.query('SELECT ? AS b', [big]); assert.equal(rows[0].b.length, big.length);
  },
  async streams({ c }) {
    let n = 0;
    await new Promise((done, fail) => c.connection.query('WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i FROM n').stream().on('data', () => n++).on('end', done).on('error', fail));
    assert.equal(n, 1000);
  },
  async kill_a_query({ c, server }) {
    const other = await mysql.createConnection(server); const running = other.query('SELECT SLEEP(20)'); await new Promise((r) => setTimeout(r, 200));
    const begin = Date.now(); await c.query(`KILL QUERY ${other.threadId}`);
    await running.catch((e) => assert.equal(e.errno, 1317)); assert.ok(Date.now() - begin < 1000); await other.end();
  },
  async compression({ server }) {
    const z = await mysql.createConnection({ ...server, compress: true }); const [rows] = await z.query('SELECT REPEAT(?, 100000) AS r', ['ab']); assert.equal(rows[0].r.length, 200000); await z.end();
  },
};
