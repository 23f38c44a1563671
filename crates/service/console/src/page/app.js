// The frame: who is signed in, which page, which time. The address holds the view, so that a link shows the same.

import { busy, clock, day, el, hideTip, svg } from '/draw.js';
import { pages, signIn } from '/views.js';

const main = document.getElementById('main');
const head = document.getElementById('head');
const live = document.getElementById('live');
let me = null;
let timer = 0;
let turn = 0;

// ---- the server ----

export async function get(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, v]) => v !== null && v !== undefined && v !== ''));
  const response = await fetch(path + (query.size ? '?' + query : ''), { cache: 'no-store' });
  return read(response);
}

export async function post(path, body) {
  const headers = { 'Content-Type': 'application/json' };
  if (me) headers['X-Gannet-Proof'] = me.proof;
  return read(await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) }));
}

async function read(response) {
  const json = await response.json().catch(() => ({}));
  if (response.ok) return json;
  const error = new Error(json.error || `the server answers ${response.status}`);
  error.status = response.status;
  throw error;
}

// ---- the view ----
//
// #page?last=600            the last ten minutes, going on
// #page?from=..&to=..       a time that stands still
// #page?..&a=..&b=..        in it, the part that was chosen
// #page?..&user=..          only what belongs to this

export const FILTERS = ['digest', 'user', 'host', 'schema', 'class', 'wait', 'object', 'blocker', 'root', 'session'];

export const view = { page: 'overview', last: 600, from: null, to: null, a: null, b: null, filters: {}, more: {} };

function readAddress() {
  const [page, query] = location.hash.replace(/^#\/?/, '').split('?');
  const p = new URLSearchParams(query || '');
  const number = (name) => (/^\d+$/.test(p.get(name) || '') ? Number(p.get(name)) : null);
  view.page = pages[page] ? page : 'overview';
  view.from = number('from');
  view.to = number('to');
  view.last = view.from && view.to ? null : number('last') || 600;
  view.a = number('a');
  view.b = number('b');
  view.filters = Object.fromEntries(FILTERS.filter((f) => p.get(f)).map((f) => [f, p.get(f)]));
  view.more = Object.fromEntries([...p].filter(([k]) => !['from', 'to', 'last', 'a', 'b', ...FILTERS].includes(k)));
}

export function address(changes = {}) {
  const v = { ...view, ...changes };
  const p = new URLSearchParams();
  if (v.last) { if (v.last !== 600) p.set('last', v.last); } else { p.set('from', v.from); p.set('to', v.to); }
  if (v.a && v.b) { p.set('a', v.a); p.set('b', v.b); }
  for (const [k, value] of Object.entries({ ...v.filters, ...v.more })) if (value) p.set(k, value);
  return '#' + v.page + (p.size ? '?' + p : '');
}

export function go(changes) {
  location.hash = address(changes);
}

// The time that is shown.
export function span() {
  const now = Date.now() + me.ahead;
  // Of a server that is younger than that, its life.
  const begin = Math.max(now - view.last * 1000, Math.min(me.started, now - 60000));
  return view.last ? { from: Math.floor(begin), to: Math.floor(now) } : { from: view.from, to: view.to };
}

// The time that lists are about: what was chosen, or all that is shown.
export function chosen() {
  return view.a && view.b ? { from: view.a, to: view.b } : span();
}

// Choosing a part holds the picture: what is looked at does not run away.
export function choose(a, b) {
  if (a === null) { go({ a: null, b: null, ...(view.held ? { last: view.held, from: null, to: null } : {}) }); return; }
  const { from, to } = span();
  go({ a, b, from, to, last: null });
}

export function filter(name, value) {
  go({ page: 'overview', filters: { ...view.filters, [name]: value }, more: {} });
}

export function isHeld() {
  return !view.last;
}

export function user() {
  return me;
}

// ---- the frame ----

function frame() {
  head.hidden = !me;
  if (!me) return;
  document.getElementById('who').textContent = me.user;
  const keys = Object.keys(pages);
  document.getElementById('nav').replaceChildren(...keys.map((name, i) => el('a', {
    href: address({ page: name, filters: name === 'overview' ? view.filters : {}, more: {} }),
    'aria-current': name === view.page ? 'page' : null, title: `${pages[name].title} (key ${i + 1})`,
  }, pages[name].title)));
}

export function say(text) {
  const box = document.getElementById('say');
  box.textContent = text;
  box.hidden = false;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { box.hidden = true; }, 4000);
}

const RANGES = [[300, '5 min'], [600, '10 min'], [3600, '1 h'], [21600, '6 h'], [86400, '24 h']];

// The choice of the time, and what narrows the view.
export function bar(title) {
  const times = el('div', { class: 'switch', role: 'group', 'aria-label': 'Time' }, RANGES.map(([s, name]) =>
    el('button', { type: 'button', 'aria-pressed': String(view.last === s), onclick: () => go({ last: s, from: null, to: null, a: null, b: null }) }, name)));
  const held = isHeld() ? [el('span', { class: 'note' }, `${day(view.from)} – ${clock(view.to)}`),
    el('button', { type: 'button', onclick: () => go({ last: 600, from: null, to: null, a: null, b: null }) }, 'Go on live')] : [];
  const chips = Object.entries(view.filters).map(([name, value]) => {
    const { [name]: gone, ...others } = view.filters;
    return el('button', { class: 'chip', type: 'button', title: `${name} ${value}: show all again`, onclick: () => go({ filters: others }) },
      el('span', {}, name + ' ' + (name === 'digest' ? value.slice(0, 10) + '…' : value)), '×');
  });
  return el('div', { class: 'bar' }, el('h1', {}, title), chips, el('span', { class: 'grow' }), held, times,
    el('button', { class: 'quiet', type: 'button', title: 'Save this view as one file that opens without the server', onclick: save }, 'Save'));
}

// The page as one file: what is seen, with its styles, without scripts.
async function save() {
  const copy = document.documentElement.cloneNode(true);
  copy.querySelectorAll('script, link, noscript, #tip, #say').forEach((n) => n.remove());
  const css = await (await fetch('/style.css')).text();
  copy.querySelector('head').append(el('style', {}, css));
  const pictures = [...document.querySelectorAll('canvas')];
  copy.querySelectorAll('canvas').forEach((canvas, i) => {
    canvas.replaceWith(el('img', { src: pictures[i].toDataURL(), width: pictures[i].clientWidth, alt: 'Statements by time and latency' }));
  });
  const { from, to } = chosen();
  copy.querySelector('main').prepend(el('p', { class: 'note' }, `Gannet ${me.version}, ${day(from)} to ${day(to)}`));
  const link = el('a', { download: `gannet-${view.page}-${day(to).replace(/[: ]/g, '-')}.html`,
    href: URL.createObjectURL(new Blob(['<!doctype html>' + copy.outerHTML], { type: 'text/html' })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// ---- drawing ----

async function draw(fresh) {
  clearTimeout(timer);
  const mine = ++turn;
  if (!me) { frame(); main.replaceChildren(signIn(enter)); return; }
  const page = pages[view.page];
  if (fresh) hideTip();
  try {
    // A picture that somebody drags in, or a list in which somebody writes, is left alone.
    const write = main.contains(document.activeElement) && document.activeElement.matches('input, select');
    if (fresh || !(busy.size || write || document.hidden)) {
      const content = await page.draw();
      if (mine !== turn) return;
      const at = focused();
      main.replaceChildren(...[content].flat());
      if (fresh) frame();
      refocus(at);
      document.title = `${page.title} · Gannet`;
    }
    live.className = isHeld() ? 'live held' : 'live';
    live.textContent = isHeld() ? 'held' : 'live';
  } catch (error) {
    if (mine !== turn) return;
    if (error.status === 401) { me = null; draw(true); return; }
    live.className = 'live off';
    live.textContent = error.status ? 'error' : 'no answer';
    if (error.status) main.replaceChildren(el('div', { class: 'card empty' }, error.message));
  }
  if (!isHeld() || page.always) timer = setTimeout(() => draw(false), page.every || (view.last > 3600 ? 10000 : 1000));
}

// What had the keyboard keeps it when the page is drawn anew.
function focused() {
  const all = [...main.querySelectorAll('a, button, input, select, [tabindex]')];
  return all.indexOf(document.activeElement);
}

function refocus(at) {
  if (at < 0) return;
  const all = main.querySelectorAll('a, button, input, select, [tabindex]');
  if (all[at]) all[at].focus({ preventScroll: true });
}

export function redraw() {
  draw(true);
}

function enter(answer) {
  me = { ...answer, ahead: answer.now - Date.now(), started: answer.now - answer.uptime * 1000 };
  readAddress();
  draw(true);
}

addEventListener('hashchange', () => { readAddress(); draw(true); });
document.addEventListener('visibilitychange', () => { if (!document.hidden) draw(false); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw(true));
document.getElementById('out').addEventListener('click', async () => {
  await post('/api/sign-out', {}).catch(() => null);
  me = null;
  draw(true);
});
addEventListener('keydown', (e) => {
  if (!me || e.ctrlKey || e.metaKey || e.altKey || e.target.matches('input, select, textarea')) return;
  const keys = Object.keys(pages);
  if (e.key >= '1' && e.key <= String(keys.length)) go({ page: keys[e.key - 1], filters: {}, more: {} });
  else if (e.key === 'Escape') go({ a: null, b: null, filters: {}, last: 600, from: null, to: null });
  else if (e.key === ' ' && e.target === document.body) {
    e.preventDefault();
    if (isHeld()) go({ last: 600, from: null, to: null, a: null, b: null }); else go({ ...span(), last: null });
  }
});

readAddress();
get('/api/me').then(enter, () => draw(true));
