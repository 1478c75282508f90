// SPDX-License-Identifier: BSD-3-Clause
// The live page of `roce-impair run --web`: shows each state that the run pushes, and sends requests
// as `roce-impair ctl` does.
'use strict';

const { element, rate, whole, time, bytes } = Page;
const $ = (id) => document.getElementById(id);
const settings = Page.data();

// The token comes in the fragment, which a browser sends to nobody, and leaves the address bar.
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given !== null) {
    sessionStorage.setItem('token', given);
    history.replaceState(null, '', location.pathname);
  }
  return sessionStorage.getItem('token') ?? '';
}
let token = takeToken();
const authorization = () => ({ Authorization: `Bearer ${token}` });

function showProblem(text) {
  $('problem').textContent = text ?? '';
  $('problem').hidden = !text;
}

// One request; the answer, whose refusal is shown. What the page asks for on its own leaves an
// earlier refusal.
async function ask(request, onItsOwn = false) {
  let answer;
  try {
    const response = await fetch('/do', { method: 'POST', body: JSON.stringify(request),
      headers: { ...authorization(), 'Content-Type': 'application/json' } });
    answer = await response.json();
  } catch (error) {
    answer = { ok: false, error: `no answer: ${error.message}` };
  }
  if (!onItsOwn || !answer.ok) showProblem(answer.ok ? null : answer.error);
  return answer;
}

// Differences of two states, per second.
function perSecond(now, before, seconds, field) {
  if (!before || !(seconds > 0)) return 0;
  return Math.max(now[field].bytes - before[field].bytes, 0) * 8 / seconds;
}
const arrow = (direction) => (direction.name === 'west-to-east' ? 'west → east' : 'east → west');
const share = (part, all) => (all > 0 ? `${Number((100 * part / all).toPrecision(4))} %` : '');

let last = null;
function showDirections(report, before, seconds) {
  for (const direction of report.directions) {
    const old = before?.directions.find((one) => one.name === direction.name);
    const eastward = direction.name === 'west-to-east';
    const text = `in ${rate(perSecond(direction, old, seconds, 'received'))}, out ${rate(perSecond(direction, old, seconds, 'sent'))}; ` +
      `${whole(direction.in_flight.frames)} frames inside, ${share(direction.dropped_by_rule.frames, direction.received.frames) || '0 %'} dropped by rules`;
    $(eastward ? 'eastward' : 'westward').textContent = eastward ? `→ ${text}` : `${text} ←`;
  }
  for (const port of report.ports) $(port.side).textContent = `${port.side}: ${port.port}`;
}
function showIdentity(report) {
  $('identity').dataset.holds = report.identity_holds;
  $('identity').textContent = report.identity_holds
    ? 'Every frame is accounted for.' : 'The accounts do not add up: `roce-impair ctl show --json` has every figure.';
}
function showRules(report, before, seconds) {
  const number = (text) => element('td', { class: 'number' }, text);
  const rows = report.directions.flatMap((direction) => direction.rules.map((rule) => {
    const old = before?.directions.find((one) => one.name === direction.name)?.rules.find((one) => one.name === rule.name);
    return element('tr', {}, element('td', { class: 'keep' }, rule.name), element('td', {}, arrow(direction)),
      number(rate(perSecond(rule, old, seconds, 'received'))), number(rate(perSecond(rule, old, seconds, 'sent'))),
      number(whole(rule.received.frames)), number(whole(rule.dropped_by_rule.frames)),
      number(share(rule.dropped_by_rule.frames, rule.received.frames)), number(whole(rule.in_flight.frames)));
  }));
  $('rules').tBodies[0].replaceChildren(...rows);
}
const marked = (direction) => direction.stages.reduce((sum, rule) => sum + (rule.acted.mark ?? 0), 0);

// The smallest delay that a share of the frames between two states had at most; null without frames.
function delayOf(now, before, share) {
  const old = new Map(before.delays_ns.map(([first, , count]) => [first, count]));
  const since = now.delays_ns.map(([first, end, count]) => [(first + end) / 2, count - (old.get(first) ?? 0)]);
  let left = Math.ceil(share * since.reduce((sum, [, count]) => sum + count, 0));
  if (left === 0) return null;
  return since.find(([, count]) => (left -= count) <= 0)[0];
}

// The last five minutes: a point per state and series.
const HISTORY = 600;
const series = (name, colour) => ({ name, colour, t: [], y: [], of: 0 });
const PLOTS = [
  { id: 'rate', title: 'Rate', format: rate, of: (one, old, dt, field) => perSecond(one, old, dt, field),
    series: [['in, west → east', 'blue', 0, 'received'], ['out, west → east', 'vermilion', 0, 'sent'],
      ['in, east → west', 'green', 1, 'received'], ['out, east → west', 'purple', 1, 'sent']] },
  { id: 'dropped', title: 'Dropped by rules, of the frames received in each half second',
    format: (value) => `${Number(value.toPrecision(4))} %`,
    of: (one, old) => 100 * (one.dropped_by_rule.frames - old.dropped_by_rule.frames) /
      Math.max(one.received.frames - old.received.frames, 1),
    series: [['west → east', 'blue', 0], ['east → west', 'green', 1]] },
  { id: 'inside', title: 'Frames inside', format: whole, of: (one) => one.in_flight.frames,
    series: [['west → east', 'blue', 0], ['east → west', 'green', 1]] },
  { id: 'delay', title: 'Delay that rules asked for, in each half second', format: time,
    present: (one) => one.delay_ns.count > 0,
    of: (one, old, dt, quantile) => delayOf(one, old, quantile),
    series: [['median, west → east', 'blue', 0, 0.5], ['99 %, west → east', 'vermilion', 0, 0.99],
      ['median, east → west', 'green', 1, 0.5], ['99 %, east → west', 'purple', 1, 0.99]] },
  { id: 'queue', title: 'Bytes in queues', format: bytes,
    present: (one) => one.stages.some((rule) => rule.queued_bytes !== undefined),
    of: (one) => one.stages.reduce((sum, rule) => sum + (rule.queued_bytes ?? 0), 0),
    series: [['west → east', 'blue', 0], ['east → west', 'green', 1]] },
  { id: 'ce', title: 'Marked CE, of the frames received in each half second',
    format: (value) => `${Number(value.toPrecision(4))} %`,
    present: (one) => marked(one) > 0,
    of: (one, old) => 100 * (marked(one) - marked(old)) /
      Math.max(one.received.frames - old.received.frames, 1),
    series: [['west → east', 'blue', 0], ['east → west', 'green', 1]] },
].map((plot) => ({ ...plot, kept: plot.series.map(([name, colour]) => series(name, colour)), drawn: null }));

function addPoints(plot, report, before, dt) {
  plot.series.forEach(([, , index, field], at) => {
    const { t, y } = plot.kept[at];
    t.push(report.seconds);
    y.push(plot.of(report.directions[index], before.directions[index], dt, field));
    if (t.length > HISTORY) { t.shift(); y.shift(); }
  });
}
function showHistory(report, before, dt) {
  if (!before?.directions.length) return;  // before the ports are open there are none
  for (const plot of PLOTS) {
    if (!plot.drawn && plot.present && !report.directions.some(plot.present)) continue;
    addPoints(plot, report, before, dt);
    if (plot.drawn) { plot.drawn.setData(Page.columnsOf(plot.kept)); continue; }
    plot.drawn = Page.plot($(`${plot.id}-figure`), { id: `${plot.id}-plot`, title: plot.title, label: `${plot.title}, last 5 minutes`,
      series: plot.kept, format: plot.format, axisSize: 86, height: 150, fromZero: true, nothing: '' });
    $(`${plot.id}-plot`).uplot = plot.drawn;
  }
}
function rulesText(rules) {
  return rules.map((rule) => `${rule.name}\n` + Object.entries(rule.stages ?? {})
    .map(([stage, text]) => `  ${stage.padEnd(12)}${text}\n`).join('')).join('');
}
function showChoices(rules) {
  const names = rules.map((rule) => rule.name);
  if (JSON.stringify(names) === $('rule').dataset.names) return;
  const chosen = $('rule').value;
  $('rule').dataset.names = JSON.stringify(names);
  $('rule').replaceChildren(...names.map((name) => element('option', { value: name }, name)));
  if (names.includes(chosen)) $('rule').value = chosen;
}

// Events and acts of the profile, with a button that starts each now.
function showEvents({ events, events_on_command: waiting, scenario, report }) {
  const named = new Map();  // of both directions together
  for (const { name, happened, all: asked } of report.directions.flatMap((one) => one.events ?? [])) {
    const before = named.get(name) ?? { happened: 0, all: 0 };
    named.set(name, { happened: before.happened + happened, all: before.all + asked });
  }
  const all = [...[...events, ...waiting].map((one) => [one.name, `${one.what}, ${one.direction}`]),
    ...scenario.map((one) => [one.name, (one.steps ?? []).map((step) => step.what).join(', then ')])];
  const names = [...new Set([...all.map(([name]) => name), ...named.keys()])];
  const what = new Map(all);
  $('no-events').hidden = names.length > 0;
  $('events').hidden = names.length === 0;
  const rows = names.map((name) => [name, what.get(name) ?? 'armed on this page or by ctl',
    named.has(name) ? `${whole(named.get(name).happened)} of ${whole(named.get(name).all)}` : '']);
  if (JSON.stringify(rows) !== $('events').dataset.rows) {
    $('events').dataset.rows = JSON.stringify(rows);
    $('events').tBodies[0].replaceChildren(...rows.map(([name, text, happened]) => element('tr', {},
      element('td', { class: 'keep' }, name), element('td', {}, text), element('td', {}, happened),
      element('td', {}, what.has(name) ? startButton(name) : ''))));
  }
  $('scenario').hidden = !report.scenario;
  if (report.scenario) $('scenario').textContent =
    `${whole(report.scenario.done)} of ${whole(report.scenario.all)} steps are in force.`;
}
function startButton(name) {
  const button = element('button', { type: 'button', 'aria-label': `Start ${name} now` }, 'Start');
  button.disabled = settings.read_only;
  button.addEventListener('click', () => ask({ do: 'event', name }));
  return button;
}

// The newest records of the ledger, asked for every two seconds.
const RECORDS_MS = 2000;
let recordsAt = -Infinity;
async function showRecords(report) {
  $('no-records').hidden = Boolean(report.ledger);
  if (!report.ledger || performance.now() - recordsAt < RECORDS_MS) return;
  recordsAt = performance.now();
  const { records } = await ask({ do: 'records' }, true);
  if (!records?.length) return;
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))];
  $('records').hidden = false;
  $('records').tHead.replaceChildren(element('tr', {}, ...columns.map((name) => element('th', { scope: 'col' }, name))));
  $('records').tBodies[0].replaceChildren(...records.reverse().map((record) =>
    element('tr', {}, ...columns.map((name) => element('td', {}, text(record[name]))))));
}
// The newest recording, and the button that is of use.
function showRecording({ capture }) {
  if (capture) $('recording').textContent =
    `${capture.active ? 'Recording to' : 'Recorded'} ${capture.file}: ${whole(capture.frames)} frames` +
    (capture.missing > 0 ? `, ${whole(capture.missing)} missing.` : '.');
  $('start-recording').disabled = settings.read_only || Boolean(capture?.active);
  $('stop-recording').disabled = settings.read_only || !capture?.active;
}
const text = (value) => (value === undefined || value === null ? ''
  : typeof value === 'object' ? JSON.stringify(value) : String(value));

function show(state) {
  const { report, rules } = state;
  const before = last;
  const seconds = before ? report.seconds - before.seconds : 0;
  if (before && !(seconds > 0)) return;
  last = report;
  $('title').textContent = report.profile;
  $('about').textContent = `roce-impair has been running for ${Math.floor(report.seconds)} s.`;
  showDirections(report, before, seconds);
  showIdentity(report);
  showRules(report, before, seconds);
  showChoices(rules);
  showHistory(report, before, seconds);
  showEvents(state);
  showRecords(report);
  showRecording(report);
  const shown = rulesText(rules);
  if ($('rules-text').textContent !== shown) $('rules-text').textContent = shown;
  document.documentElement.dataset.ready = 'true';
}

// Server-Sent Events, read by fetch(): EventSource sends no header with the token.
async function readEvents() {
  const response = await fetch('/events', { headers: authorization() });
  if (!response.ok) throw new Error((await response.json()).error);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  showProblem(null);
  for (let rest = ''; ;) {
    const { value, done } = await reader.read();
    if (done) throw new Error('the run has ended, or the connection was lost');
    const events = (rest + value).split('\n\n');
    rest = events.pop();
    for (const event of events)
      if (event.trim().startsWith('data: ')) show(JSON.parse(event.trim().slice(6)));
  }
}
const RETRY_MS = 2000;
async function follow() {
  for (;;) {
    try {
      await readEvents();
    } catch (error) {
      showProblem(`Not connected: ${error.message}.`);
    }
    await new Promise((done) => setTimeout(done, RETRY_MS));
  }
}

const KEYS = ['delay', 'loss', 'rate', 'jitter'];
function typedKeys() {
  const keys = KEYS.map((key) => [key, $(key).value.trim()]).filter(([, value]) => value !== '');
  return Object.fromEntries(keys.map(([key, value]) => [key, value === 'none' ? '' : value]));
}
function showEffect(text) {
  $('effect').hidden = !text;
  $('effect').textContent = text ?? '';
}
$('set').addEventListener('submit', async (event) => {
  event.preventDefault();
  const answer = await ask({ do: 'set', rule: $('rule').value, keys: typedKeys() });
  if (!answer.ok) return;
  KEYS.forEach((key) => { $(key).value = ''; });
  showEffect(`In force:\n${answer.text}`);
});
$('preview').addEventListener('click', async () => {
  const answer = await ask({ do: 'preview', rule: $('rule').value, keys: typedKeys() });
  if (answer.ok) showEffect(`Would be in force:\n${answer.text}`);
});
$('undo').addEventListener('click', async () => {
  const answer = await ask({ do: 'undo' });
  if (answer.ok) showEffect(`In force again:\n${answer.text}`);
});

$('event').addEventListener('submit', async (event) => {
  event.preventDefault();
  const typed = $('occurrence').value.trim();
  const armed = { on: $('on').value, occurrence: /^\d+$/.test(typed) ? Number(typed) : typed,
    direction: $('towards').value, action: $('action').value };
  if (armed.action === 'delay') armed.delay = $('event-delay').value.trim();
  await ask({ do: 'event', event: armed });
});

$('record').addEventListener('submit', (event) => {
  event.preventDefault();
  ask({ do: 'record', file: $('file').value.trim() });
});
$('stop-recording').addEventListener('click', () => ask({ do: 'stop-recording' }));

$('controls').append(Page.themeButton());
$('made').textContent = `Served by ${settings.program}.`;
addEventListener('hashchange', () => { token = takeToken(); });
if (settings.read_only) {
  $('read-only').hidden = false;
  for (const form of [$('set'), $('event'), $('record')])
    form.querySelectorAll('input, select, button').forEach((control) => { control.disabled = true; });
}
follow();
