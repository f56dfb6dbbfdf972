// Operations by the scopes of their names ("encoder/layer0/conv"): a folded scope is one box.

/** Of more operations the graph begins with scopes folded to about so many boxes, and has a map. */
const mostUnfolded = 200;
const mostScopes = 12;  // that a name is taken to have

/** The scopes of a name, the outer first; of a group ("a/conv+a/relu") those of its first member. */
function scopesOf(name) {
  const parts = name.split('+', 1)[0].split('/', mostScopes + 1);
  return parts.slice(0, -1).map((_, i) => parts.slice(0, i + 1).join('/')).filter((s) => s !== '');
}

class Folding {
  constructor(model) {
    this.paths = model.nodes.map((node) => scopesOf(node.node));
    this.members = this.collect();  // ids of nodes by scope
    this.open = new Set();
    if (model.nodes.length > mostUnfolded) {
      this.openSome();
    } else {
      this.openAll();
    }
  }

  collect() {
    const members = new Map();
    this.paths.forEach((path, id) => path.forEach((scope) => {
      if (!members.has(scope)) {
        members.set(scope, []);
      }
      members.get(scope).push(id);
    }));
    return members;
  }

  get hasScopes() { return this.members.size > 0; }
  openAll() { this.open = new Set(this.members.keys()); }
  closeAll() { this.open.clear(); }
  unfold(scope) { this.open.add(scope); }
  fold(scope) { this.open.delete(scope); }

  /** Unfolds what a node is in; whether that changes anything. */
  reveal(id) {
    const folded = this.paths[id].filter((scope) => !this.open.has(scope));
    folded.forEach((scope) => this.open.add(scope));
    return folded.length > 0;
  }

  /** The folded scope that a node is drawn in; null where it is drawn by itself. */
  scopeOf(id) {
    const scope = this.paths[id].find((each) => !this.open.has(each));
    return scope === undefined || this.members.get(scope).length === 1 ? null : scope;
  }

  /** Boxes { scope or null, nodes: ids }, in the order of their first nodes. */
  boxes() {
    const byScope = new Map();
    const boxes = [];
    this.paths.forEach((_, id) => {
      const scope = this.scopeOf(id);
      if (scope !== null && byScope.has(scope)) {
        byScope.get(scope).nodes.push(id);
        return;
      }
      const box = { scope, nodes: [id] };
      boxes.push(box);
      if (scope !== null) {
        byScope.set(scope, box);
      }
    });
    return boxes;
  }

  /** Unfolds the largest scopes as long as there are not too many boxes. */
  openSome() {
    for (let boxes = this.boxes(); boxes.length < mostUnfolded;) {
      const largest = boxes.filter((box) => box.scope !== null)
          .reduce((most, box) => box.nodes.length > (most?.nodes.length ?? 1) ? box : most, null);
      if (largest === null) {
        return;
      }
      this.open.add(largest.scope);
      boxes = this.boxes();
      if (boxes.length > mostUnfolded) {
        this.open.delete(largest.scope);
        return;
      }
    }
  }
}

/**
 * What is drawn: { boxes, boxOf (by node), edges: [from, to], from < to, tensors: ids by edge }.
 * Between boxes there may be edges in both directions: they are one.
 */
function foldGraph(model, folding) {
  const boxes = folding.boxes();
  const boxOf = new Int32Array(model.nodes.length);
  boxes.forEach((box, b) => box.nodes.forEach((id) => { boxOf[id] = b; }));
  const known = new Map();
  const edges = [];
  const tensors = [];
  model.tensors.forEach((tensor, t) => {
    for (const consumer of tensor.producer === null ? [] : tensor.consumers) {
      const ends = [boxOf[tensor.producer], boxOf[consumer]].sort((a, b) => a - b);
      const key = ends[0] * boxes.length + ends[1];
      if (ends[0] === ends[1]) {
        continue;
      }
      if (!known.has(key)) {
        known.set(key, edges.length);
        edges.push(ends);
        tensors.push(new Set());
      }
      tensors[known.get(key)].add(t);
    }
  });
  return { boxes, boxOf, edges, tensors: tensors.map((set) => [...set]) };
}

/** "encoder: 24 operations on …". */
function describeBox(model, box) {
  const nodes = box.nodes.map((id) => model.nodes[id]);
  const devices = [...new Set(nodes.map((node) => node.device))];
  const time = nodes.reduce((sum, node) => sum + nodeTime(node), 0);
  return `${box.scope}\n${nodes.length} operations on ${devices.join(', ')}, together ` +
      `${model.time(time)}\nclick to unfold`;
}
