// Drives the console in a headless Chromium, by the DevTools protocol over a pipe. Arguments: the address, a folder.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [base, shots] = process.argv.slice(2);
mkdirSync(shots, { recursive: true });
const browser = spawn('chromium', ['--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--remote-debugging-pipe', '--disable-background-networking',
  '--no-first-run', `--user-data-dir=${mkdtempSync(join(tmpdir(), 'console-'))}`, 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
const waiting = new Map();
const faults = [];
let number = 0;
let rest = '';
browser.stdio[4].on('data', (data) => {
  const parts = (rest + data).split('\0');
  rest = parts.pop();
  for (const part of parts) {
    const m = JSON.parse(part);
    if (m.id) { const { done, fail } = waiting.get(m.id); waiting.delete(m.id); if (m.error) fail(new Error(m.error.message)); else done(m.result); }
    if (m.method === 'Runtime.exceptionThrown') faults.push('exception: ' + (m.params.exceptionDetails.exception?.description || m.params.exceptionDetails.text));
    if (m.method === 'Log.entryAdded' && m.params.entry.level === 'error' && !/status of 401/.test(m.params.entry.text)) faults.push('console: ' + m.params.entry.text + ' ' + (m.params.entry.url || ''));
    if (m.method === 'Runtime.consoleAPICalled' && ['error', 'warning'].includes(m.params.type)) faults.push('console: ' + JSON.stringify(m.params.args));
    if (m.method === 'Network.requestWillBeSent') {
      const { url } = m.params.request;
      if (!url.startsWith(base + '/') && !url.startsWith('data:') && !url.startsWith('blob:')) faults.push('foreign request: ' + url);
    }
  }
});
let session;
const send = (method, params = {}) => new Promise((done, fail) => {
  waiting.set(++number, { done, fail });
  browser.stdio[3].write(JSON.stringify({ id: number, method, params, sessionId: session }) + '\0');
});
const pause = (ms) => new Promise((r) => setTimeout(r, ms));
const evaluate = async (expression) => {
  const r = await send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
  if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception?.description || r.exceptionDetails.text);
  return r.result.value;
};
const until = async (expression, what) => {
  for (let i = 0; i < 100; i++) {
    if (await evaluate(`Boolean(${expression})`)) return;
    await pause(100);
  }
  throw new Error('not seen: ' + what + '; the page says: ' + await evaluate('document.body.innerText.slice(0, 400)'));
};
const size = (width, height) => send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 500 });
const scheme = (value) => send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] });
const shoot = async (name, whole = true) => {
  await pause(350);
  const { data } = await send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: whole });
  writeFileSync(join(shots, name + '.png'), Buffer.from(data, 'base64'));
};
const mouse = (type, x, y, buttons = 0) => send('Input.dispatchMouseEvent', { type, x, y, button: type === 'mouseMoved' && !buttons ? 'none' : 'left', buttons, clickCount: 1 });
const press = async (key) => {
  await send('Input.dispatchKeyEvent', { type: 'keyDown', key, text: key.length === 1 ? key : undefined });
  await send('Input.dispatchKeyEvent', { type: 'keyUp', key });
};

async function main() {
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
  session = (await send('Target.attachToTarget', { targetId, flatten: true })).sessionId;
  for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await send(domain + '.enable');
  await scheme('light');
  await size(1440, 900);
  await send('Page.navigate', { url: base + '/' });
  await until(`document.querySelector('form.sign')`, 'the form');
  await shoot('sign-in', false);
  const type = async (name, text) => {
    await evaluate(`document.querySelector('[name=${name}]').focus()`);
    await send('Input.insertText', { text });
  };
  await type('user', 'console_watch');
  await type('password', 'wrong');
  await evaluate(`document.querySelector('form.sign button').click()`);
  await until(`document.querySelector('form.sign .bad').textContent.includes('Access denied')`, 'the refusal');
  await type('password', 'see');
  await evaluate(`document.querySelector('form.sign button').click()`);
  await until(`document.querySelectorAll('.chart svg path').length > 2`, 'the charts');
  await until(`[...document.querySelectorAll('td.code')].some((td) => td.textContent.includes('shop'))`, 'a statement that is active');
  await shoot('overview');

  // Every page by its key.
  const pages = ['overview', 'statements', 'locks', 'sessions', 'engine', 'model'];
  for (const [i, page] of pages.entries()) {
    await evaluate(`document.activeElement.blur()`);
    await press(String(i + 1));
    await until(`document.querySelector('nav [aria-current]')?.textContent.toLowerCase() === '${page}' && document.querySelector('main h1')`, page);
    if (page === 'locks') await until(`document.querySelector('.node.root .tag.bad')?.textContent === 'holds up 4'`, 'the root of four waiters');
    await pause(700);
    if (page !== 'overview') await shoot(page);
    const wide = await evaluate(`document.documentElement.scrollWidth - innerWidth`);
    if (wide > 0) faults.push(`${page} is ${wide} pixels too wide at 1440`);
  }

  // A part of the time, by the pointer: the lists follow, and the address says it.
  await press('1');
  await until(`document.querySelector('.chart .hit')`, 'the chart');
  const r = JSON.parse(await evaluate(`JSON.stringify(document.querySelector('.chart .hit').getBoundingClientRect())`));
  const y = r.top + r.height / 2;
  await mouse('mousePressed', r.right - 14, y, 1);
  for (let i = 1; i <= 8; i++) await mouse('mouseMoved', r.right - 14 - i * 2, y, 1);
  await mouse('mouseReleased', r.right - 32, y);
  await until(`/[?&]a=\\d+&b=\\d+/.test(location.hash) && document.querySelector('#live').textContent === 'held'`, 'the chosen time');
  await shoot('brush');
  await press('Escape');
  await until(`!/a=/.test(location.hash)`, 'all again');

  // From a class to a statement.
  await evaluate(`[...document.querySelectorAll('.legend button')].find((b) => b.textContent.trim() === 'Locks').click()`);
  await until(`document.querySelector('.chip')?.textContent.includes('class lock')`, 'the chip');
  await until(`[...document.querySelectorAll('td.code')].some((td) => td.textContent.includes('UPDATE'))`, 'the statement that waits');
  await evaluate(`document.querySelector('section[aria-label=Statements] tr.go').click()`);
  await until(`document.querySelector('main h1')?.textContent === 'Statement' && document.querySelectorAll('pre').length > 1`, 'the statement');
  await shoot('statement');
  const link = await evaluate('location.href');
  await send('Page.navigate', { url: 'about:blank' });
  await send('Page.navigate', { url: link });
  await until(`document.querySelector('main h1')?.textContent === 'Statement'`, 'the same view by its link');

  // Other widths and the dark scheme.
  for (const [width, height, name] of [[1440, 900, 'wide'], [820, 1100, 'middle'], [390, 844, 'narrow']]) {
    for (const value of ['light', 'dark']) {
      await size(width, height);
      await scheme(value);
      for (const page of width === 1440 && value === 'light' ? [] : ['overview', 'locks', 'model']) {
        await evaluate(`location.hash = '#${page}'`);
        await until(`document.querySelector('nav [aria-current]')?.textContent.toLowerCase() === '${page}'`, page);
        await pause(900);
        const wide = await evaluate(`document.documentElement.scrollWidth - innerWidth`);
        if (wide > 0) faults.push(`${page} is ${wide} pixels too wide at ${width}`);
        await shoot(`${page}-${name}-${value}`);
      }
    }
  }
  // What screen readers are told: each button and field has a name, each picture too.
  const nameless = await evaluate(`[...document.querySelectorAll('button, input, select, a, [role=img]')].filter((n) => !(n.textContent.trim() || n.getAttribute('aria-label') || n.labels?.length)).length`);
  if (nameless) faults.push(`${nameless} things have no name`);
  await evaluate(`document.getElementById('out').click()`);
  await until(`document.querySelector('form.sign')`, 'the form again');
}

main().catch((e) => faults.push(e.message)).finally(() => {
  browser.kill();
  for (const fault of faults) console.error(fault);
  process.exit(faults.length ? 1 : 0);
});
setTimeout(() => { console.error('the browser takes too long'); process.exit(1); }, 180000).unref();
