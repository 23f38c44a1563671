const assert = require('assert');
const { Sequelize, DataTypes: T, Op, Transaction, fn, col, literal } = require('sequelize');

exports.open = async (server) => {
  const db = new Sequelize(server.database, server.user, server.password, { host: server.host, port: server.port, dialect: 'mysql', logging: false });
  const User = db.define('User', {
    name: { type: T.STRING(40), allowNull: false }, email: { type: T.STRING, unique: true, validate: { isEmail: true } }, age: T.INTEGER.UNSIGNED, score: T.DECIMAL(12, 4),
    big: T.BIGINT, ratio: T.DOUBLE, active: { type: T.BOOLEAN, defaultValue: true }, kind: { type: T.ENUM('admin', 'guest'), defaultValue: 'guest' }, born: T.DATEONLY, seen: T.DATE(3), profile: T.JSON,
    photo: T.BLOB, bio: T.TEXT('medium'), uid: { type: T.UUID, defaultValue: T.UUIDV4 },
  }, { paranoid: true, indexes: [{ fields: ['kind', { name: 'age', order: 'DESC' }] }, { fields: [{ name: 'bio', length: 20 }] }] });
  const Post = db.define('Post', { title: { type: T.STRING, comment: "the post's title" }, views: { type: T.INTEGER, defaultValue: 0 } }, { version: true });
  const Tag = db.define('Tag', { label: { type: T.STRING(30), primaryKey: true } }, { timestamps: false });
  User.hasMany(Post, { as: 'posts', foreignKey: { name: 'authorId', allowNull: false }, onDelete: 'CASCADE', onUpdate: 'CASCADE' });
  Post.belongsTo(User, { as: 'author', foreignKey: 'authorId' });
  Post.belongsToMany(Tag, { through: 'PostTags' }); Tag.belongsToMany(Post, { through: 'PostTags' });
  return { db, User, Post, Tag, q: db.getQueryInterface() };
};
exports.close = async ({ db }) => db.close();

exports.checks = {
  async authenticate({ db }) { await db.authenticate(); assert.ok(await db.databaseVersion()); },
  async sync({ db }) { await db.sync({ force: true }); },
  async sync_again_alters_nothing_away({ db, User }) { await db.sync({ alter: true }); assert.equal(await User.count(), 0); },
  async create({ User }) {
    const u = await User.create({ name: 'Ann', email: 'ann@x.org', age: 30, score: '12.3456', big: '9007199254740993', ratio: 0.25, born: '1990-02-28', seen: new Date('2026-01-02T03:04:05.678Z'), profile: { a: [1, { b: null }] }, photo: Buffer.from([0, 1, 255]), bio: 'x'.repeat(100000) });
    const r = await User.findByPk(u.id);
    assert.equal(r.score, '12.3456'); assert.equal(String(r.big), '9007199254740993'); assert.equal(r.born, '1990-02-28'); assert.equal(r.seen.getTime(), u.seen.getTime());
    const profile = typeof r.profile === 'string' ? JSON.parse(r.profile) : r.profile;
    assert.deepEqual(profile, { a: [1, { b: null }] }); assert.ok(r.photo.equals(u.photo)); assert.equal(r.kind, 'guest'); assert.equal(r.active, true);
  },
  async unique_violation({ User }) { await assert.rejects(User.create({ name: 'B', email: 'ann@x.org' }), (e) => e.name === 'SequelizeUniqueConstraintError' && e.errors[0].path.includes('email')); },
  async not_null({ db }) { await assert.rejects(db.query('INSERT INTO Users (name, createdAt, updatedAt) VALUES (NULL, NOW(), NOW())'), (e) => e.original.errno === 1048); },
  async bulk_create({ User }) {
    await User.bulkCreate(Array.from({ length: 50 }, (_, i) => ({ name: `u${i}`, email: `u${i}@x.org`, age: i, kind: i % 2 ? 'admin' : 'guest' })));
    await User.bulkCreate([{ name: 'changed', email: 'u1@x.org', age: 99 }], { updateOnDuplicate: ['name', 'age'] });
    assert.equal((await User.findOne({ where: { email: 'u1@x.org' } })).age, 99); assert.equal(await User.count(), 51);
  },
  async upsert({ User }) { await User.upsert({ name: 'again', email: 'u2@x.org' }); assert.equal((await User.findOne({ where: { email: 'u2@x.org' } })).name, 'again'); },
  async find_or_create({ User }) {
    const [a, made] = await User.findOrCreate({ where: { email: 'new@x.org' }, defaults: { name: 'new' } }); const [b, again] = await User.findOrCreate({ where: { email: 'new@x.org' }, defaults: { name: 'x' } });
    assert.ok(made && !again && a.id === b.id);
  },
  async where({ User }) {
    const n = (where) => User.count({ where });
    assert.equal(await n({ age: { [Op.between]: [10, 19] } }), 10); assert.equal(await n({ [Op.or]: [{ age: 3 }, { name: { [Op.like]: 'u4%' } }] }), 12);
    assert.equal(await n({ name: { [Op.regexp]: '^u[0-4]$' } }), 3); assert.equal(await n({ age: { [Op.notIn]: [1, 2] }, kind: 'admin' }), 25); assert.equal(await n({ profile: { a: { [Op.ne]: null } } }), 1);
  },
  async aggregates({ User }) {
    const rows = await User.findAll({ attributes: ['kind', [fn('COUNT', col('id')), 'n'], [fn('MAX', col('age')), 'oldest']], group: ['kind'], having: literal('n > 1'), order: [['kind', 'ASC']], raw: true });
    assert.equal(rows.length, 2); assert.equal(rows[0].n + rows[1].n, 52); assert.equal(await User.max('age'), 99); assert.equal(await User.sum('age', { where: { age: { [Op.lt]: 10 } } }), 44);
  },
  async associations({ User, Post, Tag }) {
    const ann = await User.findOne({ where: { name: 'Ann' } }); const tags = await Tag.bulkCreate([{ label: 'a' }, { label: 'b' }]);
    for (let i = 0; i < 5; i++) { const p = await ann.createPost({ title: `p${i}`, views: i }); await p.setTags(i % 2 ? tags : [tags[0]]); }
    const full = await User.findOne({ where: { id: ann.id }, include: [{ model: Post, as: 'posts', include: [Tag], where: { views: { [Op.gte]: 1 } } }], order: [[{ model: Post, as: 'posts' }, 'views', 'DESC']] });
    assert.deepEqual(full.posts.map((p) => p.views), [4, 3, 2, 1]); assert.equal(full.posts[1].Tags.length, 2);
    const limited = await User.findAll({ include: [{ model: Post, as: 'posts' }], limit: 3, order: [['id', 'ASC']] }); assert.equal(limited.length, 3); assert.equal(limited[0].posts.length, 5);
    const { count, rows } = await Post.findAndCountAll({ include: [{ model: Tag, where: { label: 'b' } }], distinct: true, limit: 1 }); assert.equal(count, 2); assert.equal(rows.length, 1);
  },
  async foreign_keys({ db, User, Post }) {
    await assert.rejects(Post.create({ title: 'x', authorId: 4711 }), (e) => e.name === 'SequelizeForeignKeyConstraintError' && e.fields.includes('authorId'));
    const u = await User.create({ name: 'gone' }); await u.createPost({ title: 'gone' }); await u.destroy({ force: true }); assert.equal(await Post.count({ where: { title: 'gone' } }), 0);
  },
  async increments_and_versions({ Post }) {
    const p = await Post.findOne({ where: { title: 'p1' } }); await p.increment('views', { by: 10 }); await p.reload(); assert.equal(p.views, 11);
    const stale = await Post.findByPk(p.id); await p.update({ title: 'p1b' }); await assert.rejects(stale.update({ title: 'other' }), (e) => e.name === 'SequelizeOptimisticLockError');
  },
  async paranoid({ User }) { const u = await User.findOne({ where: { name: 'u5' } }); await u.destroy(); assert.equal(await User.findByPk(u.id), null); await u.restore(); assert.ok(await User.findByPk(u.id)); },
  async transactions({ db, User }) {
    for (const isolationLevel of Object.values(Transaction.ISOLATION_LEVELS)) {
      await assert.rejects(db.transaction({ isolationLevel }, async (t) => { await User.create({ name: 'T' }, { transaction: t }); throw new Error('back'); }), /back/);
    }
    assert.equal(await User.count({ where: { name: 'T' } }), 0);
    await db.transaction(async (t) => { const inner = await db.transaction({ transaction: t }); await User.create({ name: 'S' }, { transaction: inner }); await inner.rollback(); await User.create({ name: 'K' }, { transaction: t }); });
    assert.equal(await User.count({ where: { name: ['S', 'K'] } }), 1);
  },
  async locks({ db, User }) {
    await db.transaction(async (t) => {
      await User.findOne({ where: { id: 7 }, lock: t.LOCK.UPDATE, transaction: t });
      await db.transaction(async (o) => { const rows = await User.findAll({ where: { id: [7, 8] }, lock: o.LOCK.UPDATE, skipLocked: true, transaction: o }); assert.deepEqual(rows.map((r) => r.id), [8]); });
    });
  },
  async describe({ q }) {
    const t = await q.describeTable('Users'); assert.equal(t.id.primaryKey, true); assert.equal(t.id.autoIncrement, true); assert.equal(t.kind.type, "ENUM('admin','guest')"); assert.equal(t.name.allowNull, false); assert.equal(t.score.type, 'DECIMAL(12,4)');
    const i = await q.showIndex('Users'); assert.ok(i.some((x) => x.primary) && i.some((x) => x.unique && x.fields[0].attribute === 'email'));
    const k = await q.getForeignKeyReferencesForTable('Posts'); assert.equal(k[0].columnName, 'authorId'); assert.equal(k[0].referencedTableName, 'Users'); assert.ok((await q.showAllTables()).length >= 4);
  },
  async alterations({ q, User }) {
    await q.addColumn('Users', 'extra', { type: T.STRING(10), defaultValue: 'x', after: 'name' }); await q.changeColumn('Users', 'extra', { type: T.STRING(20), allowNull: false, defaultValue: 'y' });
    await q.renameColumn('Users', 'extra', 'more'); await q.addIndex('Users', ['more', 'age'], { name: 'more_age', unique: false }); await q.removeIndex('Users', 'more_age');
    await q.addConstraint('Users', { fields: ['more', 'email'], type: 'unique', name: 'more_email' }); await q.removeConstraint('Users', 'more_email');
    assert.equal((await q.describeTable('Users')).more.defaultValue, 'y'); await q.removeColumn('Users', 'more'); assert.ok(await User.count());
  },
  async truncate_and_drop({ db, User }) { await db.query('SET FOREIGN_KEY_CHECKS = 0; '.trim()); await db.drop(); assert.equal((await db.getQueryInterface().showAllTables()).filter((t) => /Users|Posts|Tags/.test(t.tableName || t)).length, 0); },
};
