// Tables, and who is asked when a name in one is clicked.

/** What clicking the name of an operation does; set when the page begins. */
let selectNode = () => {};

/** The name of a node as a button that shows it. */
function nodeButton(node) {
  const made = element('button', { type: 'button', className: 'jump', textContent: node.node });
  made.addEventListener('click', () => selectNode(node.id));
  return made;
}

/**
 * Columns are [title, cell(row), isNumber]; a cell is a text or an element. Shows `most` rows, and
 * the rest in steps when asked.
 */
function makeTable(columns, rows, { most = 100, caption = '', rowClass = () => '' } = {}) {
  const head = element('tr', {}, ...columns.map(([title, , isNumber]) =>
      element('th', { scope: 'col', className: isNumber ? 'number' : '', textContent: title })));
  const body = element('tbody');
  const add = (from, to) => body.append(...rows.slice(from, to).map((row) => element(
      'tr', { className: rowClass(row) }, ...columns.map(([, cell, isNumber]) =>
          element('td', { className: isNumber ? 'number' : 'text' }, cell(row))))));
  add(0, most);
  const table = element('table', {}, caption === '' ? null : element('caption', {}, caption),
                        element('thead', {}, head), body);
  const place = element('div', { className: 'scroll' }, table);
  if (rows.length > most) {
    const more = element('button', { type: 'button' });
    const label = () => {
      more.textContent = `${rows.length - body.rows.length} more`;
      more.hidden = body.rows.length === rows.length;
    };
    more.addEventListener('click', () => {
      add(body.rows.length, body.rows.length + 1000);
      label();
    });
    label();
    place.append(more);
  }
  return place;
}

function devicesTable(model) {
  const time = model.time;
  return makeTable([
    ['device', (d) => element('span', {}, deviceSwatch(model.devices.indexOf(d)), d.device)],
    ['ops', (d) => String(d.ops), true],
    ['flops', (d) => formatCount(d.flops), true],
    ['touched', (d) => formatBytes(d.bytes_touched), true],
    ['busy', (d) => time(d.busy_ns), true],
    ['of the step', (d) => percent(d.busy_ns, model.stepNs), true],
    ['weights', (d) => formatBytes(d.weight_bytes), true],
    ['received', (d) => formatBytes(d.receive_bytes), true],
    ['peak', (d) => formatBytes(d.peak_bytes), true],
    ['limit', (d) => d.limit_bytes === null ? 'none' : formatBytes(d.limit_bytes), true],
    ['of the limit', (d) => d.limit_bytes === null ? '' : percent(d.peak_bytes, d.limit_bytes), true],
    ['peak at', (d) => d.peak_node],
    ...(model.devices.every((d) => d.weight === 1)
        ? [] : [['weight', (d) => String(d.weight), true]]),
  ], model.devices);
}

function strategiesTable(model) {
  const rows = model.explanation.strategies;
  return makeTable([
    ['strategy', (s) => s.strategy],
    ['step', (s) => s.failure === null ? model.time(s.step_ns) : '', true],
    ['against this one', (s) => s.failure === null
        ? `${(s.step_ns / model.stepNs).toFixed(2)} times` : '', true],
    ['devices', (s) => s.failure === null ? String(s.devices_used) : '', true],
    ['peak', (s) => s.failure === null ? formatBytes(s.peak_bytes) : '', true],
    ['transfers', (s) => s.failure === null ? String(s.transfers) : '', true],
    ['moved', (s) => s.failure === null ? formatBytes(s.transfer_bytes) : '', true],
    ['why not', (s) => s.failure ?? ''],
  ], rows, { rowClass: (s) => s.strategy === model.explanation.strategy ? 'here' : '' });
}

function linksTable(model) {
  return makeTable([
    ['link', (l) => l.link],
    ['kind', (l) => l.kind],
    ['transfers', (l) => String(l.transfers), true],
    ['moved', (l) => formatBytes(l.bytes), true],
    ['busy', (l) => model.time(l.busy_ns), true],
    ['of the step', (l) => percent(l.busy_ns, model.stepNs), true],
    ['', (l) => l.queues ? 'one at a time' : 'all at once'],
  ], model.links.filter((link) => link.transfers > 0));
}

function transfersTable(model) {
  return makeTable([
    ['tensor', (t) => t.tensor],
    ['from', (t) => t.from],
    ['to', (t) => t.to],
    ['bytes', (t) => formatBytes(t.bytes), true],
    ['start', (t) => model.time(t.start_ns), true],
    ['wait', (t) => model.time(t.wait_ns), true],
    ['time', (t) => model.time(t.transfer_ns), true],
  ], [...model.transfers].sort((a, b) => b.transfer_ns - a.transfer_ns),
  { caption: 'the longest first' });
}

function pathTable(model) {
  return makeTable([
    ['what', (p) => p.kind],
    ['where', (p) => p.where],
    ['time', (p) => model.time(p.ns), true],
    ['of the step', (p) => percent(p.ns, model.stepNs), true],
    ['count', (p) => String(p.count), true],
    ['from', (p) => p.first],
    ['to', (p) => p.last === p.first ? '' : p.last],
  ], model.path.segments);
}

function wishesTable(model) {
  return makeTable([
    ['configuration', (a) => a.configuration ?? ''],
    ['device or layer', (a) => a.name],
    ['operations', (a) => String(a.nodes), true],
    ['pinned to', (a) => a.device ?? ''],
    ['why', (a) => a.why],
  ], model.explanation.annotations);
}

function opsTable(model) {
  const nodes = [...model.nodes].sort(
      (a, b) => (b.finish_ns - b.start_ns) - (a.finish_ns - a.start_ns) || a.id - b.id);
  return makeTable([
    ['operation', nodeButton],
    ['kind', (n) => n.op],
    ['device', (n) => element('span', {}, deviceSwatch(n.deviceIndex), n.device)],
    ['number', (n) => String(n.rank), true],
    ['start', (n) => model.time(n.start_ns), true],
    ['time', (n) => model.time(n.finish_ns - n.start_ns), true],
    ['of the step', (n) => percent(n.finish_ns - n.start_ns, model.stepNs), true],
    ['', (n) => n.critical ? 'critical' : ''],
  ], nodes, { caption: 'the longest first', most: 50 });
}
