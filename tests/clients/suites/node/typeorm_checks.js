require('reflect-metadata');
const assert = require('assert');
const { DataSource, EntitySchema, In, Like, MoreThan, Table, TableColumn, TableIndex, TableForeignKey } = require('typeorm');

const Author = new EntitySchema({ name: 'Author', tableName: 'author', columns: {
  id: { type: 'int', primary: true, generated: true }, name: { type: 'varchar', length: 60, comment: 'full name' }, mail: { type: 'varchar', unique: true, nullable: true },
  level: { type: 'enum', enum: ['low', 'high'], default: 'low' }, flags: { type: 'set', enum: ['a', 'b'], nullable: true }, price: { type: 'decimal', precision: 10, scale: 2, default: '1.50' }, active: { type: 'boolean', default: true }, data: { type: 'json', nullable: true },
  big: { type: 'bigint', unsigned: true, nullable: true }, born: { type: 'date', nullable: true }, at: { type: 'datetime', precision: 3, nullable: true }, made: { type: 'datetime', createDate: true }, changed: { type: 'datetime', updateDate: true }, removed: { type: 'datetime', deleteDate: true, nullable: true },
  version: { type: 'int', version: true }, letters: { type: 'int', asExpression: 'char_length(`name`)', generatedType: 'VIRTUAL', nullable: true, insert: false, update: false },
}, relations: { books: { type: 'one-to-many', target: 'Book', inverseSide: 'author' } }, indices: [{ columns: ['level', 'name'] }] });
const Book = new EntitySchema({ name: 'Book', tableName: 'book', columns: { id: { type: process.env.SUITE_SERVER === 'maria' ? 'uuid' : 'varchar', primary: true, generated: 'uuid' }, title: { type: 'varchar', charset: 'utf8mb4', collation: 'utf8mb4_unicode_ci' }, pages: { type: 'int', default: 0 } },
  relations: { author: { type: 'many-to-one', target: 'Author', inverseSide: 'books', onDelete: 'CASCADE', joinColumn: true }, genres: { type: 'many-to-many', target: 'Genre', joinTable: true } } });
const Genre = new EntitySchema({ name: 'Genre', tableName: 'genre', columns: { id: { type: 'int', primary: true, generated: true }, name: { type: 'varchar', length: 20 } } });

class First1700000000000 {
  async up(r) {
    await r.createTable(new Table({ name: 'moved', columns: [{ name: 'id', type: 'int', isPrimary: true, isGenerated: true, generationStrategy: 'increment' }, { name: 'a', type: 'varchar', length: '20', default: "'z'" }, { name: 'author', type: 'int', isNullable: true }] }), true);
    await r.addColumn('moved', new TableColumn({ name: 'b', type: 'double', isNullable: true })); await r.changeColumn('moved', 'a', new TableColumn({ name: 'a', type: 'varchar', length: '40', default: "'q'" }));
    await r.renameColumn('moved', 'b', 'c'); await r.createIndex('moved', new TableIndex({ name: 'i_ac', columnNames: ['a', 'c'] }));
    await r.createForeignKey('moved', new TableForeignKey({ columnNames: ['author'], referencedTableName: 'author', referencedColumnNames: ['id'], onDelete: 'SET NULL' }));
  }
  async down(r) { const t = await r.getTable('moved'); await r.dropForeignKey('moved', t.foreignKeys[0]); await r.dropIndex('moved', 'i_ac'); await r.dropColumn('moved', 'c'); await r.dropTable('moved'); }
}

exports.open = async (server) => {
  const db = new DataSource({ type: process.env.SUITE_SERVER === 'maria' ? 'mariadb' : 'mysql', ...{ host: server.host, port: server.port, username: server.user, password: server.password, database: server.database }, entities: [Author, Book, Genre], migrations: [First1700000000000], supportBigNumbers: true });
  await db.initialize();
  return { db, authors: db.getRepository('Author'), books: db.getRepository('Book'), genres: db.getRepository('Genre') };
};
exports.close = async ({ db }) => db.destroy();

exports.checks = {
  async synchronize({ db }) { await db.synchronize(true); },
  async nothing_left_to_synchronize({ db }) { const log = await db.driver.createSchemaBuilder().log(); assert.deepEqual(log.upQueries.map((q) => q.query), []); },
  async save_and_find({ authors }) {
    const a = await authors.save({ name: 'Ann', mail: 'a@x', flags: ['a', 'b'], data: { x: [1, 2] }, big: '18446744073709551615', born: '2000-02-29', at: new Date('2026-01-02T03:04:05.678') });
    const b = await authors.findOneByOrFail({ id: a.id }); assert.deepEqual(b.data, { x: [1, 2] }); assert.equal(b.big, '18446744073709551615'); assert.equal(b.price, '1.50'); assert.equal(b.level, 'low'); assert.equal(b.born, '2000-02-29');
    assert.equal(b.at.getTime(), a.at.getTime()); assert.deepEqual(b.flags, ['a', 'b']); assert.equal(b.letters, 3); assert.equal(b.version, 1);
  },
  async relations({ authors, books, genres }) {
    const ann = await authors.findOneByOrFail({ name: 'Ann' }); const g = await genres.save([{ name: 'x' }, { name: 'y' }]);
    await books.save([{ title: 'one', pages: 5, author: ann, genres: g }, { title: 'two', pages: 7, author: ann, genres: [g[1]] }]);
    const full = await authors.findOne({ where: { id: ann.id }, relations: { books: { genres: true } }, order: { books: { title: 'ASC' } } }); assert.equal(full.books.length, 2); assert.equal(full.books[0].genres.length, 2);
  },
  async query_builder({ books, authors }) {
    const rows = await books.createQueryBuilder('b').leftJoin('b.author', 'a').select('a.name', 'name').addSelect('SUM(b.pages)', 'pages').groupBy('a.id').having('SUM(b.pages) > :n', { n: 10 }).getRawMany(); assert.equal(Number(rows[0].pages), 12);
    const sub = await authors.createQueryBuilder('a').where((q) => 'a.id IN ' + q.subQuery().select('b.authorId').from('Book', 'b').where('b.pages > 6').getQuery()).getMany(); assert.equal(sub.length, 1);
    const [page, n] = await books.findAndCount({ where: { title: Like('%o%'), pages: MoreThan(1) }, relations: { author: true }, skip: 1, take: 1, order: { pages: 'DESC' } }); assert.equal(n, 2); assert.equal(page[0].title, 'one');
  },
  async insert_update_delete({ authors }) {
    const r = await authors.insert([{ name: 'B' }, { name: 'C' }]); assert.equal(r.identifiers[1].id, r.identifiers[0].id + 1);
    await authors.upsert({ mail: 'a@x', name: 'Ann2' }, ['mail']); assert.equal((await authors.findOneByOrFail({ mail: 'a@x' })).name, 'Ann2');
    await authors.update({ name: In(['B', 'C']) }, { level: 'high' }); assert.equal(await authors.countBy({ level: 'high' }), 2); await authors.softDelete({ name: 'B' }); assert.equal(await authors.countBy({ level: 'high' }), 1); await authors.restore({ name: 'B' });
    await authors.increment({ name: 'C' }, 'version', 3); assert.equal((await authors.delete({ name: In(['B', 'C']) })).affected, 2);
  },
  async errors({ authors, books }) {
    await assert.rejects(authors.insert({ name: 'x', mail: 'a@x' }), (e) => e.driverError.errno === 1062); await assert.rejects(books.insert({ title: null }), (e) => e.driverError.errno === 1048);
    await assert.rejects(books.insert({ title: 'bad', author: { id: 4711 } }), (e) => e.driverError.errno === 1452);
  },
  async transactions({ db, authors }) {
    await assert.rejects(db.transaction('SERIALIZABLE', async (m) => { await m.save('Author', { name: 'T' }); throw new Error('back'); }), /back/); assert.equal(await authors.countBy({ name: 'T' }), 0);
    await db.transaction(async (m) => { await m.save('Author', { name: 'K' }); await assert.rejects(m.transaction(async (i) => { await i.save('Author', { name: 'S' }); throw new Error('inner'); }), /inner/); }); assert.equal(await authors.countBy({ name: In(['K', 'S']) }), 1);
  },
  async locks({ db }) {
    await db.transaction(async (m) => { await m.findOne('Author', { where: { name: 'K' }, lock: { mode: 'pessimistic_write' } }); await m.findOne('Author', { where: { name: 'K' }, lock: { mode: 'pessimistic_read' } });
      await m.createQueryBuilder('Author', 'a').setLock('pessimistic_write').setOnLocked('skip_locked').getMany(); });
  },
  async cascade({ authors, books }) { await authors.delete({ name: 'Ann2' }); assert.equal(await books.count(), 0); },
  async migrations({ db }) { const run = await db.runMigrations(); assert.equal(run.length, 1); await db.undoLastMigration(); assert.equal(await db.showMigrations(), true); },
  async drop({ db }) { await db.dropDatabase(); const rows = await db.query('SHOW TABLES'); assert.equal(rows.length, 0); },
};
