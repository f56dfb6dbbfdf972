// One operation: what it is, what it reads and writes, and why it is where it is.

/** "1x64x56x56xf32, 784 KiB". */
const describeTensor = (tensor) =>
    [tensor.type, formatBytes(tensor.bytes)].filter((text) => text !== '').join(', ');

/** How long it waited for its device, with all inputs there. */
function waitNote(model, node) {
  const wait = waitOf(model, node);
  return wait > 0 ? `\nready ${model.time(wait)} before that: ${node.device} was busy with others` : '';
}

function describeNode(model, node) {
  const reads = node.inputs.slice(0, 4).map((t) => describeTensor(model.tensors[t]));
  const gives = node.outputs.slice(0, 4).map((t) => describeTensor(model.tensors[t]));
  return `${node.node}\n${node.kind} on ${node.device}, ${model.time(nodeTime(node))}` +
      ` from ${model.time(node.start_ns)}${node.critical ? '\non the critical path' : ''}` +
      waitNote(model, node) +
      (node.measured === null ? '' : `\nmeasured: ${model.time(node.measured.ns)}`) +
      (node.moved ? `\nin the other placement on ${node.there.device}` : '') +
      (reads.length > 0 ? `\nreads ${reads.join('; ')}` : '') +
      (gives.length > 0 ? `\ngives ${gives.join('; ')}` : '');
}

function describeTransfer(model, transfer) {
  const tensor = describeTensor(model.tensors[transfer.tensor_index]);
  return `${transfer.tensor}: ${tensor}\n${transfer.from} to ${transfer.to},` +
      ` ${model.time(transfer.transfer_ns)} from ${model.time(transfer.start_ns)}` +
      (transfer.wait_ns > 0 ? `, after waiting ${model.time(transfer.wait_ns)} for the link` : '');
}

/** What a tensor is worth telling beside a name. */
function tensorNote(model, tensor, other) {
  const moved = other !== null && other.here !== other.there ? `, ${other.there}` : '';
  return ` ${describeTensor(tensor)}${moved}`;
}

function inputsList(model, node) {
  return element('ul', {}, ...node.inputs.map((t) => {
    const tensor = model.tensors[t];
    if (tensor.producer === null) {
      return element('li', {}, `${tensor.tensor}: an input of the model,${tensorNote(model, tensor, null)}`);
    }
    const producer = model.nodes[tensor.producer];
    return element('li', {}, nodeButton(producer), tensorNote(
        model, tensor, { here: node.device, there: producer.device }));
  }));
}

function outputsList(model, node) {
  const most = 20;
  const items = node.outputs.flatMap((t) => {
    const tensor = model.tensors[t];
    const readers = tensor.consumers.map((consumer) => {
      const reader = model.nodes[consumer];
      return element('li', {}, nodeButton(reader), tensorNote(
          model, tensor, { here: node.device, there: reader.device }));
    });
    return tensor.output
        ? [element('li', {}, `an output of the model,${tensorNote(model, tensor, null)}`), ...readers]
        : readers;
  });
  const more = items.length - most;
  return element('ul', {}, ...items.slice(0, most),
                 more > 0 ? element('li', {}, `${more} more`) : null);
}

/** Step or period on each device where it could be; the best ones first. */
function choicesTable(model, choices) {
  const goal = model.explanation.goal === 'throughput' ? 'period' : 'step';
  const difference = (choice) => {
    const part = 100 * choice.delta_ns / Math.max(model.explanation.objective_ns, 1);
    return `${choice.delta_ns < 0 ? '−' : '+'}${model.time(Math.abs(choice.delta_ns))}` +
        ` (${part < 0 ? '−' : '+'}${Math.abs(part).toFixed(1)} %)`;
  };
  return makeTable([
    textColumn('device', (c) => c.device),
    timeColumn(model, 'its time', (c) => c.time_ns),
    timeColumn(model, goal, (c) => c.objective_ns),
    textColumn('difference', (c) => c.here ? 'here' : difference(c)),
  ], choices, { most: 4, name: 'choices', rowClass: (c) => c.here ? 'here' : '' });
}

/** Devices where it cannot be, and why; what the prediction would be where that is known. */
function refusalsList(model, choices) {
  const prediction = (c) => c.objective_ns === null ? '' : ` (it would be ${model.time(c.objective_ns)})`;
  return element('details', {}, element('summary', {}, `Not possible on ${choices.length} more`),
                 element('ul', {}, ...choices.map((c) =>
                     element('li', {}, `${c.device}: ${c.why}${prediction(c)}`))));
}

function whyHere(model, node) {
  if (node.choices === null) {
    return [element('p', {}, 'Other devices were not tried for every operation. Ask with'),
            element('p', {}, element('code', {}, `${model.about.command} … --op ${shellQuoted(node.node)}`))];
  }
  const told = node.choices;
  return [
    told.constraint === '' ? null : element('p', {}, told.constraint),
    element('p', { className: 'hint' },
            'The prediction with this operation, and all that must be with it, on another device:'),
    choicesTable(model, told.choices.filter((choice) => choice.why === '')),
    told.choices.every((choice) => choice.why === '')
        ? null : refusalsList(model, told.choices.filter((choice) => choice.why !== '')),
  ];
}

/** Folds scopes of the graph; set when the page begins. */
let refoldGraph = () => {};

/** The scopes that a node is in, as buttons that fold them. */
function scopesLine(node) {
  const scopes = scopesOf(node.node);
  return scopes.length === 0 ? null : element('p', { className: 'hint' }, 'fold ', ...scopes.flatMap(
      (scope, i) => {
        const button = element('button', { type: 'button', className: 'jump', textContent: scope });
        button.addEventListener('click', () => refoldGraph((folding) => folding.fold(scope)));
        return i === 0 ? [button] : [', ', button];
      }));
}

function showDetails(model, node) {
  const time = model.time;
  const panel = byId('details');
  const members = node.members.filter((member) => member !== node.node);
  const heading = (text) => element('h4', {}, text);
  panel.dataset.node = node.node;
  panel.replaceChildren(...[
    element('h3', {}, node.node),
    element('p', {}, deviceSwatch(node.deviceIndex), `${node.kind} on ${node.device}`),
    element('p', {}, `${time(node.start_ns)} to ${time(node.finish_ns)}: ` +
            `${time(node.finish_ns - node.start_ns)} (${node.source}), number ${node.rank} in order` +
            `${node.critical ? ', on the critical path' : ''}${waitNote(model, node)}`),
    members.length === 0 ? null : element('p', { className: 'name' }, `holds ${members.join(', ')}`),
    node.measured === null ? null : element('p', {}, `measured: ${time(node.measured.ns)}`),
    node.moved ? element('p', {}, `in the other placement on ${node.there.device}, ` +
                         `${time(nodeTime(node.there))} from ${time(node.there.start_ns)}`) : null,
    scopesLine(node),
    heading('Why here'),
    ...whyHere(model, node),
    heading('Reads'),
    inputsList(model, node),
    heading('Is read by'),
    outputsList(model, node),
  ].filter((part) => part !== null));
}

function showNoDetails() {
  byId('details').replaceChildren(element(
      'p', { className: 'hint' }, 'Click an operation, in the graph, the timeline or the list below, ' +
      'to see what it reads and writes and why it is where it is.'));
}
