// Puts the page together.

function showSummary(model) {
  const { explanation, time } = model;
  const throughput = explanation.goal === 'throughput';
  const used = model.devices.filter((device) => device.ops > 0).length;
  const moved = model.transfers.reduce((sum, transfer) => sum + transfer.bytes, 0);
  const bound = explanation.lower_bound_ns;
  const above = bound > 0 ? (explanation.objective_ns / bound - 1) * 100 : 0;
  byId('title').textContent = model.about.title;
  document.title = `${model.about.title}: placement`;
  byId('summary').textContent = `Found by ${explanation.strategy}; ` +
      `${model.measured === null ? 'all times are predicted.' : 'times are predicted except where it says measured.'}` +
      (explanation.complete ? '' : ' Operations whose shapes depend on data are placed when the model runs.');
  const figures = [
    [throughput ? 'period of steps' : 'step', time(explanation.objective_ns)],
    ...(throughput ? [['one step', time(explanation.latency_ns)]] : []),
    ...(explanation.step_ns_without > 0
        ? [['without the added devices and changed links', time(explanation.step_ns_without)]] : []),
    ['lower bound of any placement', time(bound),
     above <= 0 ? 'the placement is optimal' : `this one is ${above.toFixed(1)} % above`],
    ...measuredFigure(explanation.times),
    ...explanation.splits.map((split) => splitFigure(split, time)),
    ...(model.measured === null ? [] : [['measured', time(model.measured.latency_ms.p50 * 1e6)]]),
    ...(model.other === null ? [] : [['other placement', time(model.other.explanation.latency_ns)]]),
    ['operations', String(model.nodes.length)],
    ['devices used', `${used} of ${model.devices.length}`],
    ['transfers', String(model.transfers.length), formatBytes(moved)],
  ];
  byId('figures').append(...figures.map(([name, value, note]) => element(
      'div', {}, element('dt', {}, name),
      element('dd', {}, value, note ? element('small', {}, ` ${note}`) : null))));
}

/** How much of the operations' predicted times was measured; none of costs that were given. */
function measuredFigure(times) {
  const all = times.measured_ns + times.interpolated_ns + times.estimated_ns;
  return all > 0 ? [['measured part of the times', percent(times.measured_ns, all),
                     `${percent(times.estimated_ns, all)} estimated`]] : [];
}

/** What CPU devices in parts do for the step, or would do. */
function splitFigure(split, time) {
  const parts = `${split.devices.join(', ')} in ${split.parts} × ${split.threads} threads`;
  if (split.step_ns === null) {
    return [`${parts}: not used`, '–', split.why];
  }
  const change = split.whole_step_ns === null ? []
      : [`${time(split.whole_step_ns)} ${split.taken ? 'without' : 'is what it takes'}`];
  return [`${parts}${split.taken ? '' : ': not used'}`, time(split.step_ns),
          [...change, ...(split.why ? [split.why] : [])].join('; ')];
}

/** Parts of the critical path beside each other. */
function showPath(model) {
  const parts = [['compute', 'compute_ns', 'var(--compute)'], ['link', 'link_ns', 'var(--link)'],
                 ['wait', 'wait_ns', 'var(--wait)']];
  const texts = parts.map(([name, key]) =>
      `${name} ${model.time(model.path[key])} (${percent(model.path[key], model.stepNs)})`);
  parts.forEach(([, key, color], i) => {
    const part = element('span', { title: texts[i] });
    Object.assign(part.style, { background: color, flexGrow: String(model.path[key]) });
    byId('path-bar').append(part);
    byId('path-legend').append(element('li', {}, swatch(color), texts[i]));
  });
  byId('path-bar').setAttribute('aria-label', `Critical path: ${texts.join(', ')}`);
  byId('path-table').append(pathTable(model));
}

function showTables(model) {
  byId('devices-table').append(devicesTable(model));
  byId('strategies-table').append(strategiesTable(model));
  byId('links-table').append(model.transfers.length > 0 ? linksTable(model)
                                                        : element('p', {}, 'Nothing is sent.'));
  byId('transfers-summary').textContent = `All ${model.transfers.length} transfers`;
  byId('transfers-table').append(transfersTable(model));
  if (model.explanation.annotations.length > 0) {
    byId('wishes').hidden = false;
    byId('wishes-table').append(wishesTable(model));
  }
  byId('ops-table').append(opsTable(model));
}

function showLegend(model) {
  byId('devices-legend').append(
      ...model.devices.map((device, d) => device.ops === 0 ? null : element(
          'li', {}, deviceSwatch(d), `${device.device} (${device.ops})`)).filter(Boolean),
      element('li', {}, swatch('var(--cut)'), 'goes to another device'),
      element('li', {}, lineMark('var(--ink)', 'solid', 3), 'critical path'),
      element('li', {}, lineMark('var(--accent)', 'solid', 3), 'selected'),
      element('li', {}, lineMark('var(--limit)', 'solid', 3), 'found'),
      model.other === null ? '' : element('li', {}, lineMark('var(--cut)', 'dashed', 3),
                                          'on another device in the other placement'));
}

/** A line as it is drawn in the timeline or around a box of the graph. */
function lineMark(color, style, width = 2) {
  const made = element('span', { className: 'mark', ariaHidden: 'true' });
  made.style.borderTop = `${width}px ${style} ${color}`;
  return made;
}

function showTimeLegend() {
  byId('time-legend').append(
      element('li', {}, lineMark('var(--wait)', 'solid'),
              'idle, waiting for data from elsewhere'),
      element('li', {}, lineMark('var(--wait)', 'dotted'), 'idle, nothing left to do in this step'),
      element('li', {}, swatch('var(--wait)'), 'on the critical path: wait, ' +
              'all data is there, but the device or link is busy with others'),
      element('li', {}, swatch('var(--link)'), 'a transfer'),
      element('li', {}, lineMark('var(--ink)', 'solid'), 'around an operation: on the critical path'));
}

/** Buttons whose data-do names what to call. */
function listenToButtons(id, acts) {
  byId(id).addEventListener('click', (event) => acts[event.target.dataset.do]?.());
}

/** "op=…" or "find=…" behind the # of the address. */
function followAddress(model, search, select) {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (wanted.has('find')) {
    byId('find').value = wanted.get('find');
    search.find(wanted.get('find'));
    search.showNext();
  }
  const node = model.nodes.find((each) => each.node === wanted.get('op'));
  if (node !== undefined) {
    select(node.id);
  }
}

function describeCanvases(model) {
  byId('timeline').setAttribute('aria-label', 'What runs when on each device and link; the list of ' +
                                'operations below has start and time of each');
  byId('memory').setAttribute('aria-label', 'Memory in use over the step: ' + model.devices.map(
      (d) => `${d.device} at most ${formatBytes(d.peak_bytes)}`).join(', '));
  byId('graph').setAttribute('aria-label', `Graph of ${model.nodes.length} operations, coloured by ` +
                             'device; arrow keys move it, plus and minus zoom');
}

/** The timeline of the placement to compare with, in a list; an empty one without. */
function otherTimeline(model, axis, select) {
  if (model.other === null) {
    return [];
  }
  byId('other-heading').hidden = byId('other-timeline').hidden = false;
  const here = new Map(model.nodes.map((node) => [node.node, node]));
  return [new Timeline('other-timeline', model.other, axis, (node) => {
    if (here.has(node.node)) {
      select(here.get(node.node).id);
    }
  })];
}

function begin() {
  const data = JSON.parse(byId('data').textContent);
  const model = readModel(data);
  if (data.other) {
    compareWith(model, readModel({ ...data, explanation: data.other }));
  }
  if (data.measured) {
    readMeasured(model, data.measured);
  }
  showSummary(model);
  showPath(model);
  showTables(model);
  showLegend(model);
  showTimeLegend();
  showNoDetails();
  describeCanvases(model);
  showMeasured(model);
  showComparison(model);
  const axis = new TimeAxis(Math.max(model.stepNs, model.other?.stepNs ?? 0));
  const select = (id) => {
    timeline.select(id);
    graph.select(id);
    showDetails(model, model.nodes[id]);
    history.replaceState(null, '', `#${new URLSearchParams({ op: model.nodes[id].node })}`);
  };
  const timeline = new Timeline('timeline', model, axis, (node) => select(node.id));
  const others = otherTimeline(model, axis, select);
  const memory = new MemoryView(model, axis);
  const graph = new GraphView(model, select);
  selectNode = (id) => {
    select(id);
    byId('graph').scrollIntoView({ block: 'center' });
  };
  const search = new Search(model, (ids) => {
    graph.found = new Set(ids);
    graph.surface.request();
  }, select);
  listenToButtons('time-buttons', { in: () => axis.zoom(1.5), out: () => axis.zoom(1 / 1.5),
                                    all: () => axis.all() });
  refoldGraph = (change) => graph.refold(change);
  new GraphMap(graph);
  listenToButtons('graph-buttons', {
    in: () => graph.zoom(1.4), out: () => graph.zoom(1 / 1.4), all: () => graph.fit(),
    fold: () => graph.refold((folding) => folding.closeAll()),
    unfold: () => graph.refold((folding) => folding.openAll()),
  });
  document.querySelectorAll('[data-do=fold], [data-do=unfold]').forEach((button) => {
    button.hidden = !graph.folding.hasScopes;
  });
  byId('show-path').addEventListener('change', (event) => {
    graph.showPath = event.target.checked;
    graph.surface.request();
  });
  [timeline, ...others, memory, graph].forEach((view) => view.surface.draw());
  followAddress(model, search, select);
  Object.assign(document.documentElement.dataset, {
    nodes: model.nodes.length, edges: graph.edges.length, ready: Math.round(performance.now()),
  });
}

begin();
