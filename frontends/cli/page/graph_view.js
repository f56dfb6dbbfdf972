// The graph, coloured by device.

const labelSize = 14;

class GraphView {
  constructor(model, onSelect) {
    this.model = model;
    this.edges = nodeEdges(model);
    this.canvas = byId('graph');
    this.layout = layOut(model.nodes.length, this.edges,
                         Math.max(this.canvas.clientWidth, 1) / Math.max(this.canvas.clientHeight, 1));
    this.bounds = boundsOfRoutes(this.layout);
    this.cut = this.edges.map(([from, to]) =>
        model.nodes[from].deviceIndex !== model.nodes[to].deviceIndex);
    this.critical = this.edgesOfPath();
    this.selected = -1;
    this.found = new Set();
    this.showPath = true;
    this.scale = 0;  // pixels a unit of the layout; 0: not fitted yet
    this.surface = new Surface(this.canvas, (...to) => this.paint(...to));
    this.listen(onSelect);
  }

  /** Edges between neighbours on the critical path. */
  edgesOfPath() {
    const path = this.model.path.steps.filter((step) => step[0] === 'compute');
    const following = new Set(path.slice(1).map((step, i) => `${path[i][1]} ${step[1]}`));
    return this.edges.map(([from, to]) => following.has(`${from} ${to}`));
  }

  listen(onSelect) {
    listenToPointer(this.canvas, {
      drag: (dx, dy) => this.move(dx, dy),
      wheel: (x, y, event) => {
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.002)), x, y);
      },
      hover: (x, y, event) => {
        const node = this.nodeAt(x, y);
        this.canvas.style.cursor = node === null ? 'grab' : 'pointer';
        showTip(node === null ? '' : describeNode(this.model, node), event);
      },
      leave: hideTip,
      click: (x, y) => {
        const node = this.nodeAt(x, y);
        if (node !== null) {
          onSelect(node.id);
        }
      },
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

  /** Shows a node; near enough to read it. */
  select(id) {
    this.selected = id;
    const { x, y } = this.layout;
    this.scale = Math.max(this.scale, 0.8);
    this.left = this.surface.width / 2 - x[id] * this.scale;
    this.top = this.surface.height / 2 - y[id] * this.scale;
    this.surface.request();
  }

  nodeAt(px, py) {
    const x = (px - this.left) / this.scale;
    const y = (py - this.top) / this.scale;
    const near = Math.max(0, 4 / this.scale - nodeHeight / 2);  // small nodes can be hit, too
    let best = null;
    for (const node of this.model.nodes) {
      const dx = Math.abs(x - this.layout.x[node.id]);
      const dy = Math.abs(y - this.layout.y[node.id]);
      if (dx <= nodeWidth / 2 + near && dy <= nodeHeight / 2 + near) {
        best = best === null || dx + dy < best[1] ? [node, dx + dy] : best;
      }
    }
    return best === null ? null : best[0];
  }

  paint(context, width, height, theme) {
    if (this.scale === 0) {
      this.fit();
    }
    const view = [-this.left / this.scale, -this.top / this.scale,
                  (width - this.left) / this.scale, (height - this.top) / this.scale];
    context.save();
    context.translate(this.left, this.top);
    context.scale(this.scale, this.scale);
    this.paintEdges(context, theme, view);
    this.paintNodes(context, theme, view);
    context.restore();
  }

  paintEdges(context, theme, view) {
    const thin = 1 / this.scale;
    const curved = this.scale > 0.12;
    const isPath = (e) => this.showPath && this.critical[e];
    const touches = (e) => this.edges[e].includes(this.selected);
    const draw = (color, width, alpha, wants) => {
      Object.assign(context, { strokeStyle: color, lineWidth: width, globalAlpha: alpha });
      drawEdges(context, this.layout, this.bounds, view, curved, wants);
    };
    draw(theme.edge, Math.max(1, 0.6 * thin), 0.75, (e) => !this.cut[e] && !isPath(e));
    draw(theme.cut, Math.max(1.6, 0.9 * thin), 0.9, (e) => this.cut[e] && !isPath(e));
    draw(theme.ink, Math.max(2.6, thin), 1, isPath);
    draw(theme.accent, Math.max(3, 1.8 * thin), 1, touches);
    context.globalAlpha = 1;
  }

  paintNodes(context, theme, view) {
    const least = 1.5 / this.scale;  // nodes are seen at any scale
    const w = Math.max(nodeWidth, least);
    const h = Math.max(nodeHeight, least);
    const byDevice = this.model.devices.map(() => []);
    let drawn = 0;
    for (const node of this.model.nodes) {
      const [x, y] = [this.layout.x[node.id], this.layout.y[node.id]];
      if (x + w > view[0] && x - w < view[2] && y + h > view[1] && y - h < view[3]) {
        byDevice[node.deviceIndex].push(node);
        ++drawn;
      }
    }
    const text = this.scale > 0.45;
    const outline = this.scale * nodeHeight > 5;
    byDevice.forEach((nodes, device) => {
      context.beginPath();
      nodes.forEach(({ id }) => context.rect(this.layout.x[id] - w / 2, this.layout.y[id] - h / 2,
                                             w, h));
      context.fillStyle = outline ? theme.fill(device) : theme.stroke(device);
      context.fill();
      if (outline) {
        Object.assign(context, { strokeStyle: theme.stroke(device), lineWidth: 1 });
        context.stroke();
      }
    });
    this.paintMarks(context, theme, byDevice.flat(), w, h);
    if (text) {
      Object.assign(context, { fillStyle: theme.ink, textAlign: 'center',
                               font: `${labelSize}px system-ui, sans-serif` });
      byDevice.flat().forEach(({ id, node }) => context.fillText(
          fitText(node, nodeWidth - 8, labelSize), this.layout.x[id], this.layout.y[id]));
    }
    this.canvas.dataset.drawn = String(drawn);
  }

  /** Frames of nodes on the critical path, found and selected. */
  paintMarks(context, theme, nodes, w, h) {
    const frame = (color, width, wants) => {
      context.beginPath();
      nodes.filter(wants).forEach(({ id }) => context.rect(
          this.layout.x[id] - w / 2, this.layout.y[id] - h / 2, w, h));
      Object.assign(context, { strokeStyle: color, lineWidth: width });
      context.stroke();
    };
    if (this.showPath && this.scale * h > 5) {
      frame(theme.ink, Math.max(2, 0.8 / this.scale), (node) => node.critical);
    }
    frame(theme.limit, Math.max(4, 3 / this.scale), (node) => this.found.has(node.id));
    frame(theme.accent, Math.max(4, 3 / this.scale), (node) => node.id === this.selected);
  }
}
