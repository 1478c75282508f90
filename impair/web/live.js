// SPDX-License-Identifier: BSD-3-Clause
// The live page of `roce-impair run --web`: shows each state that the run pushes, and sends requests
// as `roce-impair ctl` does.
'use strict';

const { element, rate, whole, time, bytes } = Page;
const { $, settings, ask, share } = Live;

// Bits per second between two states.
const perSecond = (now, before, seconds, field) => Live.perSecond(now[field].bytes * 8, before?.[field].bytes * 8, seconds);
const arrow = (direction) => (direction.name === 'west-to-east' ? 'west → east' : 'east → west');
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

// What a plot shows of one direction, west to east first.
const EASTWARD = 0, WESTWARD = 1;
const of = (index, value) => (report, before, seconds) =>
  value(report.directions[index], before.directions[index], seconds);
const both = (value) => [['west → east', 'blue', of(EASTWARD, value)], ['east → west', 'green', of(WESTWARD, value)]];
const rateOf = (field) => (now, before, seconds) => perSecond(now, before, seconds, field);
const delayOf = (share) => (now, before) => Live.quantileOf(now.delays_ns, before.delays_ns, share);
const ofReceived = (count) => (now, before) =>
  100 * (count(now) - count(before)) / Math.max(now.received.frames - before.received.frames, 1);
const isAnywhere = (test) => (report) => report.directions.some(test);
const addToHistory = Live.history([
  { id: 'rate', title: 'Rate', format: rate,
    series: [['in, west → east', 'blue', of(EASTWARD, rateOf('received'))],
      ['out, west → east', 'vermilion', of(EASTWARD, rateOf('sent'))],
      ['in, east → west', 'green', of(WESTWARD, rateOf('received'))],
      ['out, east → west', 'purple', of(WESTWARD, rateOf('sent'))]] },
  { id: 'dropped', title: 'Dropped by rules, of the frames received in each half second',
    format: Live.percent, series: both(ofReceived((one) => one.dropped_by_rule.frames)) },
  { id: 'inside', title: 'Frames inside', format: whole, series: both((one) => one.in_flight.frames) },
  { id: 'delay', title: 'Delay that rules asked for, in each half second', format: time,
    present: isAnywhere((one) => one.delay_ns.count > 0),
    series: [['median, west → east', 'blue', of(EASTWARD, delayOf(0.5))],
      ['99 %, west → east', 'vermilion', of(EASTWARD, delayOf(0.99))],
      ['median, east → west', 'green', of(WESTWARD, delayOf(0.5))],
      ['99 %, east → west', 'purple', of(WESTWARD, delayOf(0.99))]] },
  { id: 'queue', title: 'Bytes in queues', format: bytes,
    present: isAnywhere((one) => one.stages.some((rule) => rule.queued_bytes !== undefined)),
    series: both((one) => one.stages.reduce((sum, rule) => sum + (rule.queued_bytes ?? 0), 0)) },
  { id: 'ce', title: 'Marked CE, of the frames received in each half second',
    format: Live.percent, present: isAnywhere((one) => marked(one) > 0), series: both(ofReceived(marked)) },
]);

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
  if (before?.directions.length) addToHistory(report, before, seconds);  // before the ports are open there are none
  showEvents(state);
  showRecords(report);
  showRecording(report);
  const shown = rulesText(rules);
  if ($('rules-text').textContent !== shown) $('rules-text').textContent = shown;
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


if (settings.read_only) {
  $('read-only').hidden = false;
  for (const form of [$('set'), $('event'), $('record')])
    form.querySelectorAll('input, select, button').forEach((control) => { control.disabled = true; });
}
Live.follow(show);
