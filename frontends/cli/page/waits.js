// Why something does not run: what it waits for, and what its device does meanwhile.

/** When a tensor that a node reads is on the node's device, and what brings it. */
function arrivalOf(model, node, t) {
  const transfer = model.arrivals.get(`${t} ${node.device}`);
  if (transfer !== undefined) {
    return { time: transfer.start_ns + transfer.transfer_ns, transfer };
  }
  const { producer } = model.tensors[t];
  return { time: producer === null ? 0 : model.nodes[producer].finish_ns, producer };
}

/** The last of a node's inputs to arrive; { time: 0 } where it has none. */
function lastArrival(model, node) {
  return node.inputs.map((t) => ({ tensor: model.tensors[t], ...arrivalOf(model, node, t) }))
      .reduce((last, next) => next.time > last.time ? next : last, { time: 0 });
}

/** How long a node had all its inputs before it began: its device, or its cores, did others. */
const waitOf = (model, node) => Math.max(node.start_ns - lastArrival(model, node).time, 0);

/** The operations that a device does within a time. */
function busyWith(model, device, start, finish) {
  return model.nodes.filter((node) => node.device === device && node.start_ns < finish &&
                                      node.finish_ns > start);
}

function namesOf(nodes, most = 3) {
  const more = nodes.length - most;
  return nodes.slice(0, most).map((node) => node.node).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Why the next operation did not begin before: "" for what is no wait. */
function whyIdle(model, next) {
  const last = lastArrival(model, next);
  if (last.transfer !== undefined) {
    return `waiting for data: ${next.node} needs ${last.tensor.tensor}, which comes from ` +
        `${last.transfer.from} until ${model.time(last.time)}`;
  }
  return last.time > 0 && last.producer !== null
      ? `waiting for data: ${next.node} needs ${last.tensor.tensor}, made until ${model.time(last.time)}`
      : `waiting to begin ${next.node}`;
}

/** Times in which a device does nothing: { start, finish, why, isDone }; the last has nothing left. */
function idleTimes(model, device) {
  const nodes = model.nodes.filter((node) => node.deviceIndex === device)
      .sort((a, b) => a.start_ns - b.start_ns);
  const idle = [];
  let free = 0;
  for (const node of nodes) {
    if (node.start_ns > free) {
      idle.push({ start: free, finish: node.start_ns, next: node, isDone: false });
    }
    free = Math.max(free, node.finish_ns);
  }
  if (free < model.stepNs) {
    idle.push({ start: free, finish: model.stepNs, next: null, isDone: true });
  }
  return idle;
}

function describeIdle(model, idle) {
  const why = idle.isDone ? 'nothing left to do in this step' : whyIdle(model, idle.next);
  return `idle for ${model.time(idle.finish - idle.start)}\n${why}`;
}

/** { waiting, done }: ns of a device's idle times. */
function idleSums(model, device) {
  const sums = { waiting: 0, done: 0 };
  for (const { start, finish, isDone } of idleTimes(model, device)) {
    sums[isDone ? 'done' : 'waiting'] += finish - start;
  }
  return sums;
}

/** What a part of the critical path is, for its tip. */
function describePart(model, item) {
  const long = model.time(item.finish - item.start);
  if (item.part === 'link wait') {
    return `wait of ${long}: ${item.transfer.tensor} is ready, the link is busy with others`;
  }
  if (item.part === 'device wait' || item.part === 'core wait') {
    const others = busyWith(model, item.node.device, item.start, item.finish)
        .filter((node) => node !== item.node);
    const what = item.part === 'core wait' ? 'cores are busy with another device\'s operations'
                                           : `${item.node.device} is busy with others`;
    return `wait of ${long}: all that ${item.node.node} reads is there, ${what}` +
        (others.length > 0 ? `: ${namesOf(others)}` : '');
  }
  return `${item.part}: ${long}`;
}
