// SPDX-License-Identifier: BSD-3-Clause
// What the live pages of all programs share: the token, states that the run pushes, requests, and
// plots of the last five minutes.
'use strict';

const Live = (() => {
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

  // The worst statement, in its colour, and the others that are not green, with what to do.
  function showVerdict({ colour, headline, statements }) {
    $('verdict').dataset.colour = colour;
    $('verdict').textContent = headline;
    const notes = statements.filter((each) => each.colour !== 'green');
    const text = ({ result, of, observed, reason, remedy }) => `${result}: ${of ? `${of}: ` : ''}${observed}` +
      `${reason ? `: ${reason}` : ''}${remedy && result !== 'holds' ? `. ${remedy}` : ''}`;
    $('notes').hidden = notes.length === 0;
    $('notes').replaceChildren(...notes.map((each) => Page.element('li', { class: each.colour }, text(each))));
  }

  // One request; the answer. Its refusal is shown at the top of the page, unless `shown` is "quiet": the
  // caller shows it. What the page asks for on its own (true) leaves an earlier refusal.
  async function ask(request, shown = false) {
    let answer;
    try {
      const response = await fetch('/do', { method: 'POST', body: JSON.stringify(request),
        headers: { ...authorization(), 'Content-Type': 'application/json' } });
      answer = await response.json();
    } catch (error) {
      answer = { ok: false, error: `no answer: ${error.message}` };
    }
    if (shown === 'quiet') showProblem(null);
    else if (!shown || !answer.ok) showProblem(answer.ok ? null : answer.error);
    return answer;
  }

  // The growth of a counter, per second; 0 where `before` is no number.
  const perSecond = (now, before, seconds) => (now > before && seconds > 0 ? (now - before) / seconds : 0);
  const percent = (value) => `${Number(value.toPrecision(4))} %`;
  const share = (part, all) => (all > 0 ? percent(100 * part / all) : '');

  // The smallest value that a share of the values between two states had at most; null where there
  // are none. A state: the buckets [first, end, count] of a histogram.
  function quantileOf(now, before, share) {
    const old = new Map(before.map(([first, , count]) => [first, count]));
    const since = now.map(([first, end, count]) => [(first + end) / 2, count - (old.get(first) ?? 0)]);
    let left = Math.ceil(share * since.reduce((sum, [, count]) => sum + count, 0));
    if (left === 0) return null;
    return since.find(([, count]) => (left -= count) <= 0)[0];
  }

  // Plots of the last five minutes, a point per state and series. A plot: {id, title, format(y),
  // present(report), series: [[name, colour, value(report, before, seconds)]]}; it is drawn into the
  // figure ID-figure once something is present. The result adds the points of a state. `moments` is a list
  // of {t, text}, to which the caller adds: all plots mark them.
  const MOST_POINTS = 600;
  function historyOf(plots, moments = []) {
    const all = plots.map((plot) => ({ ...plot, drawn: null,
      kept: plot.series.map(([name, colour]) => ({ name, colour, t: [], y: [], of: 0 })) }));
    function addPoints(plot, report, before, seconds) {
      plot.series.forEach(([, , value], at) => {
        const { t, y } = plot.kept[at];
        t.push(report.seconds);
        y.push(value(report, before, seconds));
        if (t.length > MOST_POINTS) { t.shift(); y.shift(); }
      });
    }
    return (report, before, seconds) => {
      for (const plot of all) {
        if (!plot.drawn && plot.present && !plot.present(report)) continue;
        addPoints(plot, report, before, seconds);
        if (plot.drawn) { plot.drawn.setData(Page.columnsOf(plot.kept)); continue; }
        plot.drawn = Page.plot($(`${plot.id}-figure`), { id: `${plot.id}-plot`, title: plot.title, label: `${plot.title}, last 5 minutes`,
          series: plot.kept, format: plot.format, axisSize: 86, height: 150, fromZero: true, moments, nothing: '' });
        $(`${plot.id}-plot`).uplot = plot.drawn;
      }
    };
  }

  // Server-Sent Events, read by fetch(): EventSource sends no header with the token.
  async function readEvents(show) {
    const response = await fetch('/events', { headers: authorization() });
    if (!response.ok) throw new Error((await response.json()).error);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    showProblem(null);
    for (let rest = ''; ;) {
      const { value, done } = await reader.read();
      if (done) throw new Error('the run has ended, or the connection was lost');
      const events = (rest + value).split('\n\n');
      rest = events.pop();
      for (const event of events.filter((one) => one.trim().startsWith('data: '))) {
        const isLast = show(JSON.parse(event.trim().slice(6)));
        document.documentElement.dataset.ready = 'true';
        if (isLast) return;
      }
    }
  }
  // Calls show(state) with each state that the run pushes, until it returns true: this state is the
  // last. Connects again when the connection is lost.
  const RETRY_MS = 2000;
  async function follow(show) {
    for (;;) {
      try {
        return await readEvents(show);
      } catch (error) {
        showProblem(`Not connected: ${error.message}.`);
      }
      await new Promise((done) => setTimeout(done, RETRY_MS));
    }
  }

  $('controls').append(Page.themeButton());
  $('made').textContent = `Served by ${settings.program}.`;
  addEventListener('hashchange', () => { token = takeToken(); });

  return { $, settings, ask, showVerdict, perSecond, percent, share, quantileOf, history: historyOf, follow };
})();
