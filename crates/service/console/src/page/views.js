// The pages.

import { address, bar, choose, chosen, filter, get, go, post, redraw, say, span, user, view } from '/app.js';
import { bytes, clock, count, curveChart, day, el, heatMap, meter, ns, percent, seconds, spark, stack, svg, swatch, timeChart } from '/draw.js';

const CLASSES = ['cpu', 'lock', 'commit', 'io', 'engine', 'network', 'user', 'other'];
const NAMES = { cpu: 'CPU', lock: 'Locks', commit: 'Commit', io: 'I/O', engine: 'Engine', network: 'Network', user: 'Sleep', other: 'Other' };
const color = (name) => `var(--${name})`;

function card(width, title, content, aside) {
  return el('section', { class: 'card ' + width, 'aria-label': title },
    el('div', { class: 'top' }, el('h2', {}, title), el('span', { class: 'grow' }), aside || null), content);
}

function empty(text) {
  return el('div', { class: 'empty' }, text);
}

function table(head, body) {
  return el('div', { class: 'scroll' }, el('table', {},
    el('thead', {}, el('tr', {}, head.map((h) => el('th', { scope: 'col', class: h.startsWith('>') ? 'n' : null }, h.replace('>', ''))))),
    el('tbody', {}, body)));
}

// A row that leads on, by a click or the keyboard.
function leads(onclick, ...cells) {
  return el('tr', { class: 'go', tabindex: 0, onclick, onkeydown: (e) => { if (e.key === 'Enter') onclick(); } }, cells);
}

// ---- signing in ----

export function signIn(enter) {
  const wrong = el('div', { class: 'bad', role: 'alert' });
  const name = el('input', { name: 'user', autocomplete: 'username', required: true, autofocus: true, spellcheck: 'false' });
  const password = el('input', { name: 'password', type: 'password', autocomplete: 'current-password' });
  const button = el('button', { class: 'first', type: 'submit' }, 'Sign in');
  const form = el('form', { class: 'card sign' },
    svg('svg', { class: 'mark', viewBox: '0 0 32 32', 'aria-hidden': 'true' }, svg('path', { d: 'M3 20c6-1 9-5 12-11 1 5 4 7 14 7-6 1-9 4-11 9-3-4-7-6-15-5z' })),
    el('h1', {}, 'Gannet'), el('div', { class: 'note' }, 'Sign in with an account of this server.'),
    el('label', {}, 'User', name), el('label', {}, 'Password', password), wrong, button);
  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    button.disabled = true;
    try {
      enter(await post('/api/sign-in', { user: name.value, password: password.value }));
    } catch (error) {
      wrong.textContent = error.message;
      password.value = '';
      password.focus();
    } finally {
      button.disabled = false;
    }
  });
  queueMicrotask(() => name.focus());
  return form;
}

// ---- overview ----

// The last moments of a series, for a figure.
function figure(name, value, unit, values) {
  return el('div', { class: 'card figure' }, el('div', { class: 'name' }, name),
    el('div', { class: 'value' }, value, unit ? el('small', {}, unit) : null), spark(values.slice(-120)));
}

function mean(values, n) {
  const last = values.slice(-n);
  return last.length ? last.reduce((a, b) => a + b, 0) / last.length : 0;
}

function within(s, { from, to }) {
  const keep = s.t.map((t, i) => t > from && t - s.span[i] < to);
  const pick = (list) => list.filter((_, i) => keep[i]);
  return { pick, some: keep.some(Boolean) };
}

function figures(s) {
  const { pick } = within(s, chosen());
  const held = view.a && view.b;
  const n = held ? 1e9 : 5;
  const all = CLASSES.map((c) => pick(s.active[c]));
  const active = all[0].map((_, i) => all.reduce((sum, c) => sum + c[i], 0));
  const show = (list, format = count) => format(mean(pick(list), n));
  const split = (text) => { const at = text.lastIndexOf(' '); return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]; };
  const one = (name, text, values, unit) => { const [v, u] = split(text); return figure(name, v, [u, unit].filter(Boolean).join(' '), values); };
  return el('div', { class: 'figures' },
    one('Statements', show(s.statements), pick(s.statements), '/s'),
    one('Active sessions', count(mean(active, n)), active, `of ${count(mean(pick(s.connected), n))}`),
    one('Latency, median', ns(mean(pick(s.p50).filter(Boolean), n)), pick(s.p50)),
    one('Latency, p99', ns(mean(pick(s.p99).filter(Boolean), n)), pick(s.p99)),
    one('Processors', percent(mean(pick(s.cpu), n) / s.cores), pick(s.cpu), `of ${s.cores}`),
    one('Rows read', show(s.rows_read), pick(s.rows_read), '/s'));
}

function activeChart(s, range) {
  const layers = CLASSES.filter((c) => s.active[c].some(Boolean) || c === 'cpu')
    .map((c) => ({ name: NAMES[c], color: color(c), values: s.active[c], key: c }));
  const legend = el('div', { class: 'legend' }, layers.map((l) => el('button', { type: 'button', title: `Only ${l.name}`, onclick: () => filter('class', l.key) }, swatch(l.color), l.name)));
  const chart = timeChart({ ...range, t: s.t, span: s.span, stacked: true, layers, height: 250, label: 'Average active sessions',
    rule: { value: s.cores, name: s.cores === 1 ? '1 core' : `${s.cores} cores` }, chosen: view.a && view.b ? [view.a, view.b] : null, onchoose: choose });
  return card('w12', 'Average active sessions', chart, legend);
}

function linesCard(width, title, s, range, lines, unit, height = 170) {
  const layers = lines.map(([name, key, c]) => ({ name, color: color(c), values: s[key] }));
  return card(width, title, timeChart({ ...range, t: s.t, span: s.span, layers, unit, height, label: title, chosen: view.a && view.b ? [view.a, view.b] : null, onchoose: choose }),
    el('div', { class: 'legend' }, layers.map((l) => el('span', {}, swatch(l.color), l.name))));
}

// What each part is divided by, and what its rows lead to.
const DIVISIONS = [['digest', 'Statements'], ['user', 'Users'], ['host', 'Hosts'], ['wait', 'Waits'], ['object', 'Tables and indexes'], ['root', 'Blockers'], ['schema', 'Schemas'], ['session', 'Sessions']];

function topCard(width, title, by, answer, short) {
  const greatest = answer.rows.length ? answer.rows[0].active : 0;
  const rows = answer.rows.slice(0, short ? 6 : 14).map((r) => {
    const name = by === 'digest' ? r.label || (r.key === '-' ? 'not known yet' : r.key) : by === 'root' || by === 'session' || by === 'blocker' ? `session ${r.key}` : r.key;
    return leads(() => (by === 'digest' && r.key !== '-' ? go({ page: 'statements', more: { digest_of: r.key }, filters: {} }) : filter(by, r.key)),
      el('td', { class: 'code', title: name }, name),
      el('td', {}, stack(r.classes.map((v, i) => [v, color(CLASSES[i])]), greatest)),
      el('td', { class: 'n' }, r.active >= 0.01 ? r.active.toFixed(2) : '<0.01'));
  });
  const aside = el('span', { class: 'note' }, answer.of > rows.length ? `${rows.length} of ${answer.of} · ` : '', rows.length ? 'average active' : '');
  return card(width, title, rows.length ? el('div', { class: 'scroll' }, el('table', {}, el('tbody', {}, rows))) : empty('nobody'), aside);
}

// The lists are asked for less often than the pictures, unless something was chosen.
let lists = { of: null, at: 0, tops: [] };

async function divisions() {
  const of = address();
  if (of !== lists.of || Date.now() - lists.at > 2900) {
    const part = chosen();
    lists = { of, at: Date.now(), tops: await Promise.all(DIVISIONS.slice(0, 6).map(([by]) => get('/api/top', { ...part, by, ...view.filters }))) };
  }
  return lists.tops;
}

async function overview() {
  const range = span();
  const [s, h, tops] = await Promise.all([get('/api/series', range), get('/api/heat', range), divisions()]);
  const filtered = Object.keys(view.filters).length > 0;
  const about = view.a && view.b ? `${clock(view.a)} – ${clock(view.b)}, ${seconds((view.b - view.a) / 1000)}` : null;
  return [bar('Overview'), figures(s), el('div', { class: 'grid' },
    activeChart(s, range),
    linesCard('w6', 'Throughput', s, range, [['statements/s', 'statements', 'io'], ['transactions/s', 'transactions', 'engine']], count, 200),
    card('w6', 'Latency of statements', heatMap({ ...h, ...range, chosen: view.a && view.b ? [view.a, view.b] : null })),
    el('div', { class: 'w12 bar' }, el('h2', {}, filtered ? 'Active sessions of what was chosen' : 'Who was active'),
      el('span', { class: 'note' }, about ? `${about}. Escape shows all again.` : 'Drag in a picture to choose a time; everything below follows.')),
    DIVISIONS.slice(0, 6).map(([by, title], i) => topCard(i === 0 ? 'w12' : i < 3 ? 'w6' : 'w4', title, by, tops[i], i > 0)))];
}

// ---- statements ----

const ORDERS = [['total', 'Time'], ['count', 'Count'], ['p99', 'p99'], ['locks', 'Lock time'], ['examined', 'Rows examined'], ['errors', 'Errors']];

async function statements() {
  if (view.more.digest_of) return one(view.more.digest_of);
  const order = view.more.order || 'total';
  const answer = await get('/api/digests', { order });
  const sum = answer.rows.reduce((n, r) => n + r.total_ns, 0);
  const rows = answer.rows.map((r) => leads(() => (r.digest ? go({ more: { digest_of: r.digest } }) : null),
    el('td', { class: 'code', title: r.text }, r.text || 'all other statements'),
    el('td', { class: 'soft hide-narrow' }, r.schema || '–'),
    el('td', { class: 'n' }, count(r.count)),
    el('td', { class: 'n' }, el('span', {}, percent(r.total_ns / (sum || 1)))),
    el('td', { class: 'n hide-narrow' }, ns(r.total_ns / r.count)),
    el('td', { class: 'n' }, ns(r.p99)),
    el('td', { class: 'n hide-narrow' }, count(r.rows_examined / Math.max(1, r.rows_sent + r.rows_affected))),
    el('td', { class: r.errors ? 'n bad hide-narrow' : 'n soft hide-narrow' }, count(r.errors))));
  const choice = el('div', { class: 'switch', role: 'group', 'aria-label': 'Order' }, ORDERS.map(([key, name]) =>
    el('button', { type: 'button', 'aria-pressed': String(order === key), onclick: () => go({ more: { order: key } }) }, name)));
  return [el('div', { class: 'bar' }, el('h1', {}, 'Statements'), el('span', { class: 'note' }, `${count(answer.of)} kinds in ${seconds(answer.uptime)}`), el('span', { class: 'grow' }), choice),
    el('section', { class: 'card' }, el('div', { class: 'scroll wide' }, el('table', {},
      el('thead', {}, el('tr', {}, [['', ''], ['Schema', 'hide-narrow'], ['Count', 'n'], ['Time', 'n'], ['Mean', 'n hide-narrow'], ['p99', 'n'], ['Examined a row', 'n hide-narrow'], ['Errors', 'n hide-narrow']].map(([h, c]) => el('th', { scope: 'col', class: c }, h)))),
      el('tbody', {}, rows))))];
}

async function one(digest) {
  const range = span();
  const [d, h, s, users, waits, objects] = await Promise.all([get('/api/digest', { digest }), get('/api/heat', { ...range, digest }), get('/api/top', { ...chosen(), by: 'class', digest }),
    ...['user', 'wait', 'object'].map((by) => get('/api/top', { ...chosen(), by, digest }))]);
  const most = Math.max(...d.latency.map((l) => l[2]), 1);
  const first = d.latency.length ? Math.log2(d.latency[0][0] || 1) : 0, last = d.latency.length ? Math.log2(d.latency[d.latency.length - 1][1]) : 1;
  const at = (v) => (Math.log2(v || 1) - first) / Math.max(0.01, last - first) * 100;
  const bars = svg('svg', { viewBox: '0 0 100 60', preserveAspectRatio: 'none', height: 270, role: 'img', 'aria-label': 'Executions by latency' },
    d.latency.map(([low, high, n]) => svg('rect', { x: at(low), width: Math.max(0.2, at(high) - at(low) - 0.15), y: 60 - n / most * 58, height: n / most * 58, fill: color('io') },
      svg('title', {}, `${ns(low)} – ${ns(high)}: ${count(n)}`))));
  const pair = (name, value) => [el('dt', {}, name), el('dd', {}, value)];
  return [el('div', { class: 'bar' }, el('h1', {}, 'Statement'), el('code', { class: 'soft' }, digest.slice(0, 16) + '…'), el('span', { class: 'grow' }),
    el('button', { type: 'button', onclick: () => go({ more: {} }) }, 'All statements'),
    el('button', { type: 'button', onclick: () => filter('digest', digest) }, 'When it was active')),
  el('div', { class: 'grid' },
    card('w12', 'Text', el('pre', {}, d.text)),
    card('w4', 'Figures', el('dl', { class: 'pairs' }, pair('executions', count(d.count)), pair('errors', count(d.errors)), pair('mean', ns(d.total_ns / d.count)),
      pair('median', ns(d.p50)), pair('p95', ns(d.p95)), pair('p99', ns(d.p99)), pair('longest', ns(d.max_ns)), pair('waited for locks', percent(d.locks_ns / (d.total_ns || 1))),
      pair('rows sent', count(d.rows_sent)), pair('rows changed', count(d.rows_affected)), pair('rows examined', count(d.rows_examined)),
      pair('without an index', count(d.no_index)), pair('first seen', day(d.first_ms)), pair('last seen', day(d.last_ms)))),
    card('w12', 'Latency over time', h.counts.some((c) => c.length) ? heatMap({ ...h, ...range, chosen: view.a && view.b ? [view.a, view.b] : null })
      : empty('It was not among the busiest statements in this time.')),
    card('w8', 'Latency since the start', el('div', { class: 'chart' }, bars,
      el('div', { class: 'bar note' }, el('span', {}, d.latency.length ? ns(d.latency[0][0]) : ''), el('span', { class: 'grow' }), el('span', {}, d.latency.length ? ns(d.latency[d.latency.length - 1][1]) : '')))),
    card('w6', 'A sample', el('pre', {}, d.sample)),
    card('w6', 'Its plan', d.plan ? el('pre', {}, d.plan) : empty(d.no_plan)),
    topCard('w4', 'Users', 'user', users, true), topCard('w4', 'Waits', 'wait', waits, true), topCard('w4', 'Tables and indexes', 'object', objects, true),
    s.rows.length ? null : el('div', { class: 'w12 note' }, 'It was never seen at work in the time that is shown: it is quick, or rare.'))];
}

// ---- locks ----

// Two clicks end something: the first asks.
function killer(id, what, name) {
  const button = el('button', { class: 'danger', type: 'button' }, name);
  let sure = false;
  button.addEventListener('click', async () => {
    if (!sure) {
      sure = true;
      button.classList.add('sure');
      button.textContent = 'Really?';
      hold = Date.now() + 4000;
      setTimeout(() => { sure = false; button.classList.remove('sure'); button.textContent = name; }, 4000);
      return;
    }
    try {
      await post('/api/kill', { id: String(id), what });
      say(`Session ${id} is told to end its ${what}.`);
    } catch (error) {
      say(error.message);
    }
    hold = 0;
    redraw();
  });
  return button;
}

let hold = 0;
let kept = null;

// While somebody is asked whether they are sure, the page stands still.
async function steady(make) {
  if (Date.now() < hold && kept) return kept;
  kept = await make();
  return kept;
}

function node(n, root) {
  const waits = n.waits !== undefined;
  return el('li', {}, el('div', { class: root ? 'node root' : 'node' },
    el('b', {}, `Session ${n.id}`), el('span', { class: 'soft' }, [n.user, n.host].filter(Boolean).join('@')),
    root ? el('span', { class: 'tag bad' }, `holds up ${n.waiters}`) : null,
    waits ? el('span', { class: 'tag' }, `waits ${seconds(n.waits)} for ${n.for}`) : el('span', { class: 'tag' }, n.state || 'the server'),
    n.transaction_seconds ? el('span', { class: 'note' }, `transaction of ${seconds(n.transaction_seconds)}, ${count(n.undo)} changes`) : null,
    el('span', { class: 'grow' }), n.user && root ? [killer(n.id, 'query', 'End statement'), killer(n.id, 'connection', 'End session')] : null,
    n.statement ? el('span', { class: 'code', title: n.statement }, n.statement) : null),
  n.below.length ? el('ul', {}, n.below.map((c) => node(c, false))) : null);
}

function locks() {
  return steady(async () => {
    const [tree, s] = await Promise.all([get('/api/locks'), get('/api/series', span())]);
    return [bar('Locks'), el('div', { class: 'grid' },
      card('w12', tree.waiters === 0 ? 'Now' : `Now ${tree.waiters === 1 ? '1 session waits' : count(tree.waiters) + ' sessions wait'}`,
        tree.roots.length ? el('ul', { class: 'tree' }, tree.roots.map((r) => node(r, true))) : empty('Nobody waits for a lock.')),
      linesCard('w6', 'Sessions that wait for locks', s, span(), [['waiting', 'waiters', 'lock']]),
      linesCard('w6', 'Waits for rows, deadlocks', s, span(), [['waits/s', 'lock_waits', 'commit'], ['deadlocks/s', 'deadlocks', 'lock']]))];
  });
}

// ---- sessions ----

function sessions() {
  return steady(async () => {
    const answer = await get('/api/sessions');
    const rows = answer.rows.map((r) => el('tr', {}, el('td', { class: 'n' }, r.id), el('td', {}, r.user), el('td', { class: 'soft hide-narrow' }, r.host), el('td', { class: 'soft hide-narrow' }, r.schema || '–'),
      el('td', {}, r.command === 'Sleep' ? el('span', { class: 'soft' }, 'sleeps') : r.state), el('td', { class: 'n' }, seconds(r.seconds)),
      el('td', { class: 'code', title: r.statement || '' }, r.statement || ''), el('td', { class: 'n' }, r.command === 'Sleep' ? null : killer(r.id, 'query', 'End'))));
    return [el('div', { class: 'bar' }, el('h1', {}, 'Sessions'), el('span', { class: 'note' }, `${count(answer.of)} sessions${answer.of > rows.length ? `, the first ${rows.length}` : ''}`)),
      el('section', { class: 'card' }, table(['>', 'User', 'Host', 'Schema', 'State', '>Since', 'Statement', ''], rows))];
  });
}

// ---- engine ----

async function engine() {
  const [e, s] = await Promise.all([get('/api/engine'), get('/api/series', span())]);
  const range = span();
  const page = 16384;
  const age = e.log_lsn - e.checkpoint_lsn;
  const pair = (name, value, bad) => [el('dt', {}, name), el('dd', { class: bad ? 'bad' : null }, value)];
  const waits = e.waits.slice(0, 12).map((w) => el('tr', {}, el('td', { class: 'code' }, w.name), el('td', { class: 'n' }, count(w.count)), el('td', { class: 'n' }, ns(w.ns / w.count)), el('td', { class: 'n' }, seconds(w.ns / 1e9))));
  return [bar('Engine'), el('div', { class: 'grid' },
    card('w4', 'Log', [el('div', { class: 'note' }, `${bytes(age)} since the checkpoint, of ${bytes(e.redo_capacity)}`), meter(age / e.redo_capacity, age / e.redo_capacity > 0.8),
      el('dl', { class: 'pairs' }, pair('grows by', bytes(e.log_growth) + '/s'), pair('not yet durable', bytes(e.log_lsn - e.durable_lsn)), pair('checkpoints', count(e.checkpoints)), pair('waits for room', count(e.log_waits), e.log_waits > 0))]),
    card('w4', 'Buffer pool', [el('div', { class: 'note' }, `${bytes(e.pool_resident * page)} of ${bytes(e.pool_pages * page)} in use`), meter(e.pool_resident / e.pool_pages),
      el('dl', { class: 'pairs' }, pair('changed', bytes(e.pool_dirty * page)), pair('found in it', e.pool_requests ? (100 * (1 - e.pool_reads / e.pool_requests)).toFixed(2) + ' %' : '–'), pair('read from disk', count(e.pool_reads) + ' pages'))]),
    card('w4', 'Data', [el('div', { class: 'note' }, `${bytes((e.data_pages - e.free_pages) * page)} of ${bytes(e.data_pages * page)} in use`), meter((e.data_pages - e.free_pages) / e.data_pages),
      el('dl', { class: 'pairs' }, pair('old versions', `${count(e.history)} transactions`), pair('purged', count(e.rows_purged) + ' rows'), pair('pages verified', count(e.scrub_pages)), pair('damaged', count(e.scrub_errors), e.scrub_errors > 0),
        e.recovery_percent < 100 ? pair('recovery', e.recovery_percent.toFixed(1) + ' %') : null, e.purge_error ? pair('purge', e.purge_error, true) : null)]),
    linesCard('w6', 'Log written', s, range, [['bytes/s', 'log_bytes', 'commit']], bytes),
    linesCard('w6', 'Log since the checkpoint', s, range, [['bytes', 'checkpoint_age', 'engine']], bytes),
    linesCard('w6', 'Pages', s, range, [['read/s', 'page_reads', 'io'], ['written/s', 'page_writes', 'commit']]),
    linesCard('w6', 'Old versions', s, range, [['transactions', 'history', 'lock']]),
    card('w6', 'Waits since the start', waits.length ? table(['', '>Count', '>Mean', '>Sum'], waits) : empty('none')),
    card('w6', 'Error log', e.log.length ? table(['', ''], e.log.slice(0, 10).map((l) => el('tr', {}, el('td', { class: 'soft n' }, clock(l.t)), el('td', { class: l.severity === 'Error' ? 'bad' : null }, l.text)))) : empty('nothing')))];
}

// ---- model ----

const KNOBS = [['clients', 'Clients'], ['cores', 'Cores'], ['cpu', 'CPU faster ×'], ['log', 'Log faster ×'], ['data', 'Data faster ×'], ['locks', 'Locks shorter ×'], ['think', 'Think less ×']];

async function model() {
  const asked = Object.fromEntries(KNOBS.map(([k]) => [k, view.more[k]]).filter(([, v]) => v));
  const part = view.a && view.b ? chosen() : view.last ? {} : span();
  const m = await get('/api/model', { ...part, ...asked });
  const top = [bar('Model'), m.says ? el('p', { class: 'warn' }, m.says[0].toUpperCase() + m.says.slice(1) + '.') : null];
  if (!m.now) return top;
  const now = m.now, then = m.changed;
  const differs = Object.keys(asked).length > 0;
  const holds = !m.says;
  const stations = now.stations.map((s, i) => {
    const t = then.stations[i];
    return el('tr', {}, el('td', {}, s.name), el('td', { class: 'n' }, ns(s.demand * 1e9)), el('td', { class: 'n' }, s.servers === null ? 'delay' : s.servers),
      el('td', { class: s.servers !== null && s.busy > 0.8 ? 'n bad' : 'n' }, s.servers === null ? `${count(s.busy)} in it` : percent(s.busy)),
      differs ? el('td', { class: 'n' }, t.servers === null ? `${count(t.busy)} in it` : percent(t.busy)) : null);
  });
  const curve = (d, i) => d.curve.map((p) => [p[0], p[i]]);
  const x = (v) => (v === null ? NaN : v);
  const fields = el('form', { class: 'fields' }, KNOBS.map(([key, name]) => el('label', {}, name,
    el('input', { name: key, type: 'number', min: key === 'clients' || key === 'cores' ? 1 : 0.1, step: 'any', value: view.more[key] || '', placeholder: key === 'clients' ? Math.round(m.measured.clients) : key === 'cores' ? user().cores : 1 }))),
  el('button', { class: 'first', type: 'submit' }, 'What if'), el('button', { type: 'button', onclick: () => go({ more: {} }) }, 'Reset'));
  fields.addEventListener('submit', (e) => {
    e.preventDefault();
    go({ more: Object.fromEntries([...new FormData(fields)].filter(([, v]) => v)) });
  });
  const line = (name, measured, foretold, changed) => el('tr', {}, el('td', {}, name), el('td', { class: 'n' }, measured), el('td', { class: 'n' }, foretold), differs ? el('td', { class: 'n' }, el('b', {}, changed)) : null);
  return [...top, el('div', { class: 'grid' },
    card('w12', 'What if', fields),
    card('w6', 'Model beside measurement', table(['', '>Measured', '>Model', ...(differs ? ['>Changed'] : [])], [
      line('Statements a second', count(m.measured.throughput), count(x(now.throughput)), holds ? count(x(then.throughput)) : '–'),
      line('Mean latency', ns(m.measured.response * 1e9), ns(x(now.response) * 1e9), holds ? ns(x(then.response) * 1e9) : '–'),
      line('Clients', count(m.measured.clients), count(m.measured.clients), count(then.clients)),
      line('Think time', '–', ns(now.think * 1e9), ns(then.think * 1e9)),
      line('Clients at saturation', '–', now.saturation === null ? '–' : count(now.saturation), then.saturation === null ? '–' : count(then.saturation)),
      line('Most statements a second', '–', now.most === null ? '–' : count(now.most), then.most === null ? '–' : count(then.most))]),
    el('span', { class: holds ? 'tag' : 'tag bad' }, `error ${m.error >= 0 ? '+' : ''}${percent(m.error)}`)),
    card('w6', 'Stations', table(['', '>Demand', '>Servers', '>Busy', ...(differs ? ['>Changed'] : [])], stations), el('span', { class: 'note' }, now.bottleneck ? `first to fill: ${now.bottleneck}` : '')),
    card('w6', 'Statements a second, by clients', curveChart({ label: 'Throughput by number of clients', curves: [{ points: curve(now, 3), color: 'var(--faint)', dashed: true }, { points: curve(now, 1), color: color('io') },
      ...(differs && holds ? [{ points: curve(then, 1), color: color('lock') }] : [])], most: Math.max(...now.curve.map((p) => p[1] || 0), ...(differs ? then.curve.map((p) => p[1] || 0) : [0])) * 1.1,
    mark: [{ x: m.measured.clients, y: m.measured.throughput, color: color('cpu') }] }),
    el('div', { class: 'legend' }, el('span', {}, swatch(color('io')), 'model'), differs && holds ? el('span', {}, swatch(color('lock')), 'changed') : null, el('span', {}, swatch('var(--faint)'), 'bound'), el('span', {}, swatch(color('cpu')), 'measured'))),
    card('w6', 'Mean latency, by clients', curveChart({ label: 'Latency by number of clients', unit: (v) => ns(v * 1e9), curves: [{ points: curve(now, 2), color: color('io') }, ...(differs && holds ? [{ points: curve(then, 2), color: color('lock') }] : [])],
      mark: [{ x: m.measured.clients, y: m.measured.response, color: color('cpu') }] })),
    el('p', { class: 'w12 note' }, `From ${count(m.measured.statements)} statements in ${seconds(m.measured.seconds)}. Demands are busy time divided by statements; clients think between two of them. `
      + 'The model is exact for a network of queues whose requests come independently; it does not know that one sync of the log serves many commits.'))];
}

export const pages = {
  overview: { title: 'Overview', draw: overview },
  statements: { title: 'Statements', draw: statements, every: 3000, always: true },
  locks: { title: 'Locks', draw: locks, always: true },
  sessions: { title: 'Sessions', draw: sessions, always: true },
  engine: { title: 'Engine', draw: engine },
  model: { title: 'Model', draw: model, every: 5000 },
};
