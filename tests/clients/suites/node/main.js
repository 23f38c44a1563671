// Runs the checks of each library: "ok NAME" or "not ok NAME: why" a line, "done" at the end.
const server = { host: '127.0.0.1', port: Number(process.env.GANNET_PORT), user: 'root', password: '', database: 'node' };

async function main() {
  for (const library of ['mysql2', 'sequelize', 'typeorm']) {
    const checks = require(`./${library}_checks.js`);
    const context = await checks.open(server);
    for (const [name, check] of Object.entries(checks.checks)) {
      try {
        await check(context);
        console.log(`ok ${library}.${name}`);
      } catch (e) {
        console.log(`not ok ${library}.${name}: ${(e && e.original && e.original.sqlMessage) || ''} ${String((e && e.stack) || e).replace(/\n/g, ' | ')}`);
      }
    }
    await checks.close(context);
  }
  console.log('done');
}

main().catch((e) => { console.log(e); process.exit(1); });
