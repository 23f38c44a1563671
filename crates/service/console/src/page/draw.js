// Elements, numbers, pictures. No text of the server ever becomes markup: it is only ever set as text.

export function el(name, attributes, ...children) {
  const node = document.createElement(name);
  return fill(node, attributes, children);
}

export function svg(name, attributes, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? '' : value);
  }
  for (const child of children.flat(9)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

// ---- numbers ----

export function count(n) {
  if (n === null || n === undefined || !isFinite(n)) return '–';
  const a = Math.abs(n);
  if (a >= 1e9) return trim(n / 1e9) + ' G';
  if (a >= 1e6) return trim(n / 1e6) + ' M';
  if (a >= 1e4) return trim(n / 1e3) + ' k';
  if (a >= 100 || Number.isInteger(n)) return String(Math.round(n));
  return trim(n);
}

function trim(n) {
  const a = Math.abs(n);
  return String(+n.toFixed(a >= 100 ? 0 : a >= 10 ? 1 : 2));
}

export function bytes(n) {
  if (n === null || n === undefined || !isFinite(n)) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  while (Math.abs(n) >= 1024 && i < 4) { n /= 1024; i += 1; }
  return trim(n) + ' ' + units[i];
}

export function ns(n) {
  if (n === null || n === undefined || !isFinite(n)) return '–';
  if (n >= 60e9) return seconds(n / 1e9);
  if (n >= 1e9) return trim(n / 1e9) + ' s';
  if (n >= 1e6) return trim(n / 1e6) + ' ms';
  if (n >= 1e3) return trim(n / 1e3) + ' µs';
  return Math.round(n) + ' ns';
}

export function seconds(s) {
  if (s < 60) return trim(s) + ' s';
  if (s < 3600) return Math.floor(s / 60) + ' min ' + Math.floor(s % 60) + ' s';
  if (s < 86400) return Math.floor(s / 3600) + ' h ' + Math.floor(s % 3600 / 60) + ' min';
  return Math.floor(s / 86400) + ' d ' + Math.floor(s % 86400 / 3600) + ' h';
}

export function percent(f) {
  return isFinite(f) ? trim(f * 100) + ' %' : '–';
}

const two = (n) => String(n).padStart(2, '0');

export function clock(ms, fine = true) {
  const d = new Date(ms);
  return two(d.getHours()) + ':' + two(d.getMinutes()) + (fine ? ':' + two(d.getSeconds()) : '');
}

export function day(ms) {
  const d = new Date(ms);
  return d.getFullYear() + '-' + two(d.getMonth() + 1) + '-' + two(d.getDate()) + ' ' + clock(ms);
}

// ---- the tip beside the pointer ----

const tip = document.getElementById('tip');

export function showTip(x, y, ...content) {
  tip.replaceChildren(...content.flat());
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = Math.max(6, x + 18 + width > innerWidth ? x - width - 14 : x + 18) + 'px';
  tip.style.top = Math.max(6, Math.min(innerHeight - height - 6, y + 14)) + 'px';
}

export function hideTip() {
  tip.hidden = true;
}

export function rows(...pairs) {
  return el('table', {}, pairs.map(([name, value, color]) =>
    el('tr', {}, el('td', {}, color ? swatch(color) : null, name), el('td', {}, value))));
}

export function swatch(color) {
  const box = svg('svg', { width: 9, height: 9, viewBox: '0 0 9 9', 'aria-hidden': 'true' },
    svg('rect', { width: 9, height: 9, rx: 2, fill: color }));
  return el('span', {}, box, ' ');
}

// ---- scales ----

function nice(most, unit) {
  if (!(most > 0)) return { top: 1, step: 0.5 };
  const raw = most / 4;
  // Bytes are counted in powers of two.
  const [base, steps] = unit === bytes ? [2, [1, 2]] : [10, [1, 2, 2.5, 5, 10]];
  const power = base ** Math.floor(Math.log(raw) / Math.log(base) + 1e-9);
  const step = steps.map((m) => m * power).find((s) => s >= raw * (1 - 1e-9)) || base * power;
  return { top: Math.ceil(most / step) * step, step };
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200].map((s) => s * 1000);

function ticks(from, to, width) {
  const step = STEPS.find((s) => (to - from) / s <= width / 90) || 86400000;
  const offset = new Date(from).getTimezoneOffset() * 60000;
  const out = [];
  for (let t = Math.ceil((from - offset) / step) * step + offset; t <= to; t += step) out.push([t, step < 60000]);
  return out;
}

const LEFT = 56, RIGHT = 8, TOP = 8, BOTTOM = 22;

// ---- a picture over time ----
//
// layers: [{name, color, values}], drawn on top of one another where `stacked`.
// A part of the time can be chosen by dragging, or with shift and the arrow keys.

export function timeChart(options) {
  const { height = 220, stacked = false, label, unit = count, layers, t, span, from, to, rule, chosen, onchoose, least = 0 } = options;
  const box = el('div', { class: 'chart', tabindex: 0, role: 'img', 'aria-label': describe(options) });
  let width = 0;
  const draw = () => {
    width = box.clientWidth;
    if (!width) return;
    const w = Math.max(60, width - LEFT - RIGHT), h = height - TOP - BOTTOM;
    const sums = t.map((_, i) => layers.reduce((n, l) => stacked ? n + (l.values[i] || 0) : Math.max(n, l.values[i] || 0), 0));
    const { top, step } = nice(Math.max(least, rule ? rule.value * 1.15 : 0, ...sums), unit);
    const x = (ms) => LEFT + (ms - from) / Math.max(1, to - from) * w;
    const y = (v) => TOP + h - v / top * h;
    const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, height, 'aria-hidden': 'true' });
    for (let v = 0; v <= top + step / 2; v += step) {
      const at = Math.round(y(v)) + 0.5;
      picture.append(svg('line', { class: 'rule', x1: LEFT, x2: LEFT + w, y1: at, y2: at }),
        svg('text', { x: LEFT - 7, y: at + 4, 'text-anchor': 'end' }, unit(v)));
    }
    for (const [ms, fine] of ticks(from, to, w)) {
      if (x(ms) < LEFT + 14 || x(ms) > LEFT + w - 14) continue;
      picture.append(svg('text', { x: x(ms), y: height - 5, 'text-anchor': 'middle' }, clock(ms, fine)));
    }
    const clip = svg('clipPath', { id: `clip${++number}` }, svg('rect', { x: LEFT, y: 0, width: w, height: TOP + h }));
    const inner = svg('g', { 'clip-path': `url(#clip${number})` });
    picture.append(svg('defs', {}, clip), inner);
    const base = t.map(() => 0);
    for (const layer of layers) {
      const upper = stacked ? base.map((b, i) => b + (layer.values[i] || 0)) : layer.values;
      for (const [a, b] of pieces(t, span)) {
        const at = (i) => [x(t[i]), x(t[i] - span[i])];
        let path = '';
        if (stacked) {
          for (let i = a; i <= b; i++) path += `${i === a ? 'M' : 'L'}${at(i)[1].toFixed(1)},${y(upper[i]).toFixed(1)}L${at(i)[0].toFixed(1)},${y(upper[i]).toFixed(1)}`;
          for (let i = b; i >= a; i--) path += `L${at(i)[0].toFixed(1)},${y(base[i]).toFixed(1)}L${at(i)[1].toFixed(1)},${y(base[i]).toFixed(1)}`;
          inner.append(svg('path', { d: path + 'Z', fill: layer.color }));
        } else {
          for (let i = a; i <= b; i++) path += `${i === a ? 'M' : 'L'}${x(t[i] - span[i] / 2).toFixed(1)},${y(upper[i]).toFixed(1)}`;
          inner.append(svg('path', { class: 'line', d: path, stroke: layer.color }));
        }
      }
      if (stacked) upper.forEach((v, i) => { base[i] = v; });
    }
    if (rule) {
      const at = Math.round(y(rule.value)) + 0.5;
      picture.append(svg('line', { class: 'cores', x1: LEFT, x2: LEFT + w, y1: at, y2: at }),
        svg('text', { class: 'cores-label', x: LEFT + 6, y: at - 5 }, rule.name));
    }
    const brush = svg('rect', { class: 'brush', y: TOP, height: h, hidden: true });
    const cursor = svg('line', { class: 'cursor', y1: TOP, y2: TOP + h, visibility: 'hidden' });
    const hit = svg('rect', { class: 'hit', x: LEFT, y: TOP, width: w, height: h });
    picture.append(brush, cursor, hit);
    const show = (a, b) => {
      brush.removeAttribute('hidden');
      brush.setAttribute('x', Math.max(LEFT, x(Math.min(a, b))));
      brush.setAttribute('width', Math.max(1, Math.min(LEFT + w, x(Math.max(a, b))) - Math.max(LEFT, x(Math.min(a, b)))));
    };
    if (chosen) show(chosen[0], chosen[1]);
    interact({ box, hit, cursor, show, from, to, x, w, t, span, onchoose, tell: (i, px, py) => {
      const lines = layers.map((l) => [l.name, unit(l.values[i] || 0), l.color]);
      if (stacked) lines.reverse().push(['together', unit(sums[i])]);
      showTip(px, py, el('b', {}, clock(t[i] - span[i]) + (span[i] > 1500 ? ' – ' + clock(t[i]) : '')), rows(...lines));
    } });
    box.replaceChildren(picture);
    if (!t.length) box.append(el('div', { class: 'empty' }, 'Nothing is kept of this time.'));
  };
  new ResizeObserver(() => { if (box.clientWidth !== width) draw(); }).observe(box);
  queueMicrotask(draw);
  if (label) box.dataset.label = label;
  return box;
}

let number = 0;

// Runs of moments without a gap.
function pieces(t, span) {
  const out = [];
  let begin = 0;
  for (let i = 1; i <= t.length; i++) {
    if (i === t.length || t[i] - span[i] - t[i - 1] > Math.max(2500, span[i] * 1.5)) {
      if (i > begin) out.push([begin, i - 1]);
      begin = i;
    }
  }
  return out;
}

function describe({ label, layers, unit = count }) {
  const last = layers.map((l) => `${l.name} ${unit(l.values[l.values.length - 1] || 0)}`);
  return `${label || 'Chart'}. Last: ${last.join(', ')}. Arrow keys move, with shift they choose a time.`;
}

function interact({ box, hit, cursor, show, from, to, x, w, t, span, onchoose, tell }) {
  const ms = (px) => from + (px - hit.getBoundingClientRect().left) / w * (to - from);
  const nearest = (at) => {
    let best = -1;
    for (let i = 0; i < t.length; i++) if (best < 0 || Math.abs(t[i] - span[i] / 2 - at) < Math.abs(t[best] - span[best] / 2 - at)) best = i;
    return best;
  };
  const point = (i, px, py) => {
    cursor.setAttribute('visibility', 'visible');
    cursor.setAttribute('x1', x(t[i] - span[i] / 2));
    cursor.setAttribute('x2', x(t[i] - span[i] / 2));
    tell(i, px, py);
  };
  let begun = null;
  hit.addEventListener('pointerdown', (e) => {
    if (!onchoose || e.button) return;
    begun = ms(e.clientX);
    hit.setPointerCapture(e.pointerId);
    busy.add(box);
  });
  hit.addEventListener('pointermove', (e) => {
    const i = nearest(ms(e.clientX));
    if (i >= 0) point(i, e.clientX, e.clientY);
    if (begun !== null) show(begun, ms(e.clientX));
  });
  hit.addEventListener('pointerup', (e) => {
    busy.delete(box);
    if (begun === null) return;
    const [a, b] = [begun, ms(e.clientX)].sort((p, q) => p - q);
    begun = null;
    hideTip();
    if ((b - a) / (to - from) * w > 5) onchoose(Math.max(from, Math.round(a)), Math.min(to, Math.round(b)));
    else onchoose(null);
  });
  hit.addEventListener('pointercancel', () => { begun = null; busy.delete(box); });
  hit.addEventListener('pointerleave', () => { cursor.setAttribute('visibility', 'hidden'); hideTip(); });
  box.onkeydown = (e) => {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!way || !t.length) return;
    e.preventDefault();
    const at = box.at === undefined ? t.length - 1 : nearest(box.at) + way;
    const i = Math.max(0, Math.min(t.length - 1, at));
    if (e.shiftKey && onchoose) {
      box.mark = box.mark === undefined ? t[i] : box.mark;
      onchoose(Math.min(box.mark, t[i]) - span[i], Math.max(box.mark, t[i]));
    } else {
      box.mark = undefined;
    }
    box.at = t[i] - span[i] / 2;
    const { left, top } = box.getBoundingClientRect();
    point(i, left + x(box.at), top + 30);
  };
  box.onblur = () => { cursor.setAttribute('visibility', 'hidden'); hideTip(); };
}

// Pictures that somebody drags in: they are not drawn anew meanwhile.
export const busy = new Set();

// ---- latencies over time ----

export function heatMap({ t, span, bounds, counts, from, to, height = 200, chosen }) {
  const box = el('div', { class: 'chart', role: 'img', 'aria-label': 'Statements by time and latency; darker is more' });
  let width = 0;
  const draw = () => {
    width = box.clientWidth;
    if (!width) return;
    const w = Math.max(60, width - LEFT - RIGHT), h = height - TOP - BOTTOM;
    // Two buckets of eight to a power of two, from 1 µs on.
    const cells = t.map(() => new Map());
    let low = Infinity, high = -Infinity, most = 0;
    const row = (bucket) => Math.floor(bucket / 2);
    counts.forEach((pairs, i) => {
      for (let k = 0; k < pairs.length; k += 2) {
        const at = row(pairs[k]);
        const n = (cells[i].get(at) || 0) + pairs[k + 1] * 1000 / Math.max(1, span[i]);
        cells[i].set(at, n);
        low = Math.min(low, at); high = Math.max(high, at); most = Math.max(most, n);
      }
    });
    if (!t.length || most === 0) { box.replaceChildren(el('div', { class: 'empty' }, 'No statements ended in this time.')); return; }
    low = Math.max(0, low - 2); high = Math.min(bounds.length / 2 - 1, high + 2);
    const scale = window.devicePixelRatio || 1;
    const canvas = el('canvas', { width: Math.round(width * scale), height: Math.round(height * scale) });
    canvas.style.height = height + 'px';
    const g = canvas.getContext('2d');
    g.scale(scale, scale);
    const ink = getComputedStyle(document.documentElement);
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    const x = (ms) => LEFT + (ms - from) / Math.max(1, to - from) * w;
    const y = (at) => TOP + h - (at - low) / (high - low + 1) * h;
    const cell = h / (high - low + 1);
    cells.forEach((column, i) => {
      const a = x(t[i] - span[i]), b = x(t[i]);
      for (const [at, n] of column) {
        g.fillStyle = shade(Math.log1p(n) / Math.log1p(most), dark);
        g.fillRect(a, y(at + 1), Math.max(1, b - a + 0.4), cell + 0.4);
      }
    });
    g.fillStyle = ink.getPropertyValue('--faint');
    g.font = '11px ' + getComputedStyle(document.body).fontFamily;
    g.textAlign = 'end';
    let last = Infinity;
    for (let at = low; at <= high; at++) {
      const bound = bounds[at * 2];
      if (at % 4 === 0 && last - y(at) > 26) { g.fillText(short(bound), LEFT - 7, y(at) + 4); last = y(at); }
    }
    g.textAlign = 'center';
    for (const [ms, fine] of ticks(from, to, w)) {
      if (x(ms) > LEFT + 14 && x(ms) < LEFT + w - 14) g.fillText(clock(ms, fine), x(ms), height - 5);
    }
    if (chosen) {
      g.fillStyle = ink.getPropertyValue('--accent'); g.globalAlpha = 0.13;
      g.fillRect(x(chosen[0]), TOP, x(chosen[1]) - x(chosen[0]), h);
    }
    canvas.addEventListener('pointermove', (e) => {
      const r = canvas.getBoundingClientRect();
      const ms = from + (e.clientX - r.left - LEFT) / w * (to - from);
      const at = Math.floor(low + (TOP + h - (e.clientY - r.top)) / cell);
      const i = t.findIndex((end, k) => ms <= end && ms > end - span[k]);
      if (i < 0 || at < low || at > high) { hideTip(); return; }
      showTip(e.clientX, e.clientY, el('b', {}, clock(t[i])),
        rows(['latency', ns(bounds[at * 2]) + ' – ' + ns(bounds[at * 2 + 2])], ['statements a second', count(cells[i].get(at) || 0)]));
    });
    canvas.addEventListener('pointerleave', hideTip);
    box.replaceChildren(canvas);
  };
  new ResizeObserver(() => { if (box.clientWidth !== width) draw(); }).observe(box);
  queueMicrotask(draw);
  return box;
}

// A duration in few letters.
function short(n) {
  for (const [unit, size] of [['s', 1e9], ['ms', 1e6], ['µs', 1e3]]) if (n >= size) return Math.round(n / size) + ' ' + unit;
  return n + ' ns';
}

// From pale to deep; of one hue, readable by people who tell colours apart badly.
function shade(f, dark) {
  const l = dark ? 24 + 58 * f : 93 - 62 * f;
  return `hsl(${218 - 18 * f} ${48 + 34 * f}% ${l}%)`;
}

// ---- small things ----

export function spark(values, most) {
  const top = Math.max(most || 0, ...values) || 1;
  const n = Math.max(1, values.length - 1);
  const at = values.map((v, i) => `${(i / n * 100).toFixed(2)},${(25 - v / top * 23).toFixed(2)}`);
  return svg('svg', { class: 'spark', viewBox: '0 0 100 26', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    at.length > 1 ? [svg('path', { class: 'under', d: `M0,26L${at.join('L')}L100,26Z` }), svg('path', { d: 'M' + at.join('L') })] : null);
}

// A bar of parts, as long as it is of the greatest.
export function stack(parts, greatest) {
  const picture = svg('svg', { viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  let x = 0;
  for (const [value, color] of parts) {
    const width = greatest > 0 ? value / greatest * 100 : 0;
    if (width > 0) picture.append(svg('rect', { x, y: 0, width, height: 10, fill: color }));
    x += width;
  }
  return el('span', { class: 'stack' }, picture);
}

export function meter(part, hot) {
  const width = Math.max(0, Math.min(1, part || 0)) * 100;
  return svg('svg', { class: 'meter', viewBox: '0 0 100 8', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    svg('rect', { class: 'all', width: 100, height: 8 }), svg('rect', { class: hot ? 'part hot' : 'part', width, height: 8 }));
}

// Curves over a number: of clients.
export function curveChart({ curves, label, height = 240, unit = count, mark, most }) {
  const box = el('div', { class: 'chart', role: 'img', 'aria-label': label });
  let width = 0;
  const draw = () => {
    width = box.clientWidth;
    if (!width) return;
    const w = Math.max(60, width - LEFT - RIGHT), h = height - TOP - BOTTOM;
    const right = Math.max(1, ...curves.flatMap((c) => c.points.map((p) => p[0])));
    const { top, step } = nice(Math.max(most || Math.max(...curves.flatMap((c) => c.points.map((p) => isFinite(p[1]) ? p[1] : 0))), ...(mark || []).map((m) => m.y * 1.05)));
    const x = (v) => LEFT + v / right * w, y = (v) => TOP + h - Math.min(v, top * 1.02) / top * h;
    const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, height, 'aria-hidden': 'true' });
    for (let v = 0; v <= top + step / 2; v += step) {
      const at = Math.round(y(v)) + 0.5;
      picture.append(svg('line', { class: 'rule', x1: LEFT, x2: LEFT + w, y1: at, y2: at }),
        svg('text', { x: LEFT - 7, y: at + 4, 'text-anchor': 'end' }, unit(v)));
    }
    const across = nice(right);
    for (let v = across.step; v <= right; v += across.step) picture.append(svg('text', { x: x(v), y: height - 5, 'text-anchor': 'middle' }, count(v)));
    for (const c of curves) {
      const path = c.points.filter((p) => isFinite(p[1])).map((p, i) => `${i ? 'L' : 'M'}${x(p[0]).toFixed(1)},${y(p[1]).toFixed(1)}`).join('');
      picture.append(svg('path', { class: 'line', d: path || 'M0,0', stroke: c.color, 'stroke-dasharray': c.dashed ? '4 4' : null }));
    }
    for (const m of mark || []) picture.append(svg('circle', { cx: x(m.x), cy: y(m.y), r: 4.500, fill: m.color, stroke: 'var(--card)', 'stroke-width': 2 }));
    box.replaceChildren(picture);
  };
  new ResizeObserver(() => { if (box.clientWidth !== width) draw(); }).observe(box);
  queueMicrotask(draw);
  return box;
}
