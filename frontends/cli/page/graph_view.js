// The graph, coloured by device; scopes may be folded to one box each.

class GraphView {
  constructor(model, onSelect) {
    this.model = model;
    this.canvas = byId('graph');
    this.folding = new Folding(model);
    this.onPath = GraphView.pairsOfPath(model);
    this.selected = -1;
    this.found = new Set();
    this.showPath = true;
    this.scale = 0;  // pixels a unit of the layout; 0: not fitted yet
    this.onSelect = onSelect;
    this.onDraw = () => {};
    this.surface = new Surface(this.canvas, (...to) => this.paint(...to));
    this.arrange();
    this.listen();
  }

  /** "from to" of neighbours on the critical path. */
  static pairsOfPath(model) {
    const path = model.path.steps.filter((step) => step[0] === 'compute');
    return new Set(path.slice(1).map((step, i) => `${path[i][1]} ${step[1]}`));
  }

  /** Lays out what is folded and unfolded now. */
  arrange() {
    Object.assign(this, foldGraph(this.model, this.folding));
    const aspect = Math.max(this.canvas.clientWidth, 1) / Math.max(this.canvas.clientHeight, 1);
    this.layout = layOut(this.boxes.length, this.edges, aspect);
    this.bounds = boundsOfRoutes(this.layout);
    const { nodes, tensors } = this.model;
    const some = (e, wants) => this.tensors[e].some((t) => tensors[t].consumers.some(
        (consumer) => wants(tensors[t].producer, consumer)));
    this.cut = this.edges.map((_, e) => some(e, (from, to) =>
        nodes[from].deviceIndex !== nodes[to].deviceIndex));
    this.critical = this.edges.map((_, e) => some(e, (from, to) => this.onPath.has(`${from} ${to}`)));
    this.canvas.dataset.boxes = String(this.boxes.length);
    this.surface.request();
  }

  /** Changes what is folded, and shows all of it. */
  refold(change) {
    change(this.folding);
    this.arrange();
    this.fit();
  }

  listen() {
    listenToPointer(this.canvas, {
      drag: (dx, dy) => this.move(dx, dy),
      wheel: (x, y, event) => {
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.002)), x, y);
      },
      hover: (x, y, event) => {
        const box = this.boxAt(x, y);
        this.canvas.style.cursor = box === null ? 'grab' : 'pointer';
        showTip(box === null ? this.describeEdge(this.edgeAt(x, y)) : this.describe(box), event);
      },
      leave: hideTip,
      click: (x, y) => this.click(this.boxAt(x, y)),
    });
    this.canvas.addEventListener('keydown', (event) => {
      const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60],
                      ArrowDown: [0, -60] };
      if (moves[event.key]) {
        this.move(...moves[event.key]);
      } else if (event.key === '+' || event.key === '-') {
        this.zoom(event.key === '+' ? 1.3 : 1 / 1.3);
      } else if (event.key === '0') {
        this.fit();
      } else {
        return;
      }
      event.preventDefault();
    });
  }

  click(box) {
    if (box === null) {
      return;
    }
    if (box.scope === null) {
      this.onSelect(box.nodes[0]);
      return;
    }
    hideTip();
    this.folding.unfold(box.scope);
    this.arrange();
    this.show(this.boxOf[box.nodes[0]]);
  }

  describe(box) {
    return box.scope === null ? describeNode(this.model, this.model.nodes[box.nodes[0]])
                              : describeBox(this.model, box);
  }

  describeEdge(e) {
    const tensors = e < 0 ? [] : this.tensors[e].map((t) => this.model.tensors[t]);
    const most = 8;
    const lines = tensors.slice(0, most).map((each) => `${each.tensor}: ${describeTensor(each)}`);
    return [...lines, ...(tensors.length > most ? [`${tensors.length - most} more`] : [])].join('\n');
  }

  fit() {
    const { width, height } = this.surface;
    const margin = 16;
    this.scale = Math.min((width - 2 * margin) / this.layout.width,
                          (height - 2 * margin) / this.layout.height, 1.5);
    this.left = (width - this.layout.width * this.scale) / 2;
    this.top = (height - this.layout.height * this.scale) / 2;
    this.surface.request();
  }

  move(dx, dy) {
    this.left += dx;
    this.top += dy;
    this.surface.request();
  }

  zoom(factor, x = this.surface.width / 2, y = this.surface.height / 2) {
    const scale = Math.min(Math.max(this.scale * factor, 1e-4), 4);
    this.left = x - (x - this.left) * scale / this.scale;
    this.top = y - (y - this.top) * scale / this.scale;
    this.scale = scale;
    this.surface.request();
  }

  /** Brings a point of the layout to the middle. */
  centre(x, y) {
    this.left = this.surface.width / 2 - x * this.scale;
    this.top = this.surface.height / 2 - y * this.scale;
    this.surface.request();
  }

  /** Shows a box; near enough to read it. */
  show(b) {
    this.scale = Math.max(this.scale, 0.8);
    this.centre(this.layout.x[b], this.layout.y[b]);
  }

  /** Shows a node; unfolds what it is in. */
  select(id) {
    this.selected = id;
    if (this.folding.reveal(id)) {
      this.arrange();
    }
    this.show(this.boxOf[id]);
  }

  boxAt(px, py) {
    const x = (px - this.left) / this.scale;
    const y = (py - this.top) / this.scale;
    const near = Math.max(0, 4 / this.scale - nodeHeight / 2);  // small boxes can be hit, too
    let best = null;
    this.boxes.forEach((box, b) => {
      const dx = Math.abs(x - this.layout.x[b]);
      const dy = Math.abs(y - this.layout.y[b]);
      if (dx <= nodeWidth / 2 + near && dy <= nodeHeight / 2 + near) {
        best = best === null || dx + dy < best[1] ? [box, dx + dy] : best;
      }
    });
    return best === null ? null : best[0];
  }

  /** The edge there; -1: none. */
  edgeAt(px, py) {
    const x = (px - this.left) / this.scale;
    const y = (py - this.top) / this.scale;
    let [best, least] = [-1, 5 / this.scale];
    this.layout.routes.forEach((route, e) => {
      const [left, top, right, bottom] = this.bounds[e];
      if (x >= left && x <= right && y >= top && y <= bottom) {
        const distance = distanceToRoute(this.layout, route, x, y);
        [best, least] = distance < least ? [e, distance] : [best, least];
      }
    });
    return best;
  }

  /** [left, top, right, bottom] of the layout that is seen. */
  get view() {
    return [-this.left / this.scale, -this.top / this.scale,
            (this.surface.width - this.left) / this.scale,
            (this.surface.height - this.top) / this.scale];
  }

  paint(context, width, height, theme) {
    if (this.scale === 0) {
      this.fit();
    }
    context.save();
    context.translate(this.left, this.top);
    context.scale(this.scale, this.scale);
    this.paintEdges(context, theme, this.view);
    paintBoxes(this, context, theme, this.view);
    context.restore();
    this.onDraw();
  }

  paintEdges(context, theme, view) {
    const thin = 1 / this.scale;
    const curved = this.scale > 0.12;
    const chosen = this.selected < 0 ? -1 : this.boxOf[this.selected];
    const isPath = (e) => this.showPath && this.critical[e];
    const draw = (color, width, alpha, wants) => {
      Object.assign(context, { strokeStyle: color, lineWidth: width, globalAlpha: alpha });
      drawEdges(context, this.layout, this.bounds, view, curved, wants);
    };
    draw(theme.edge, Math.max(1, 0.6 * thin), 0.75, (e) => !this.cut[e] && !isPath(e));
    draw(theme.cut, Math.max(1.6, 0.9 * thin), 0.9, (e) => this.cut[e] && !isPath(e));
    draw(theme.ink, Math.max(2.6, thin), 1, isPath);
    draw(theme.accent, Math.max(3, 1.8 * thin), 1, (e) => this.edges[e].includes(chosen));
    context.globalAlpha = 1;
  }
}
