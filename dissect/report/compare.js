// SPDX-License-Identifier: BSD-3-Clause
// The page of a comparison: fills compare.html from the data of `roce-dissect compare --html`.
'use strict';

(() => {
  const { element, time, whole } = Page;
  const data = Page.data();
  const $ = (id) => document.getElementById(id);

  const statement = ({ of, observed }) => (of ? `${of}: ${observed}` : observed);
  function showVerdict() {
    const { colour, headline, statements } = data.verdict;
    $('verdict').append(element('p', { class: 'outcome', id: 'outcome', 'data-colour': colour }, headline));
    $('verdict').append(element('ul', { class: 'checks', id: 'checks' }, statements.map((each) => element('li', {},
      element('span', { class: `chip ${each.colour}` }, each.result),
      element('span', {}, `${each.asked}: ${statement(each)}`, each.reason ? `: ${each.reason}` : '')))));
  }

  // A row for each direction: counts and delays.
  const COUNTS = [['sent', 'Sent'], ['received', 'Received'], ['lost', 'Lost'], ['changed', 'Changed'], ['invented', 'Invented'],
    ['duplicated', 'Duplicated'], ['reordered', 'Reordered'], ['marked', 'Marked']];
  const DELAYS = [['min', 'Shortest'], ['p50', 'p50'], ['p99', 'p99'], ['max', 'Longest']];
  const shown = (value, text) => (value === null || value === undefined ? '' : text(value));
  function showDirections() {
    Page.table($('directions-place'), {
      id: 'directions', title: 'Both directions', rows: data.directions, of: data.directions.length,
      columns: [
        { key: 'direction', title: 'Direction', keep: true, text: (row) => row.direction.replaceAll('_', ' ') },
        ...COUNTS.map(([key, title]) => ({ key, title, number: true, text: (row) => whole(row[key]) })),
        { key: 'loss', title: 'Loss', number: true, text: (row) => `${Number((row.loss * 100).toPrecision(4))} %` },
        ...DELAYS.map(([key, title]) => ({ key, title, number: true, text: (row) => shown(row.delay_ns[key], (ns) => time(ns, 7)), value: (row) => row.delay_ns[key], help: 'one-way delay' })),
      ],
    });
  }

  document.title = `${data.files.join(', ')} - roce-dissect compare`;
  $('title').textContent = data.files.join(', ');
  $('about').textContent = data.begin ? `from ${data.begin}` : '';
  $('made').textContent = `Made by ${data.program}. All times are from the first RoCE packet on, by the near clock.`;
  $('controls').append(Page.themeButton());
  $('text').textContent = data.text;
  showVerdict();
  showDirections();
  if (data.path.length > 0) PathPlots.show($('path-place'), [data.path], 'in the capture that has it');
  else $('path').hidden = true;
  document.documentElement.dataset.ready = 'true';
})();
