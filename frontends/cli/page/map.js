// A small map of a large graph, with what is seen of it; a press moves the graph there.

class GraphMap {
  constructor(graph) {
    this.graph = graph;
    const canvas = byId('map');
    canvas.hidden = graph.model.nodes.length <= mostUnfolded;
    this.surface = new Surface(canvas, (...to) => this.paint(...to));
    graph.onDraw = () => this.surface.request();
    const go = (event) => {
      const { scale, left, top } = this.frame();
      graph.centre((event.offsetX - left) / scale, (event.offsetY - top) / scale);
    };
    canvas.addEventListener('pointerdown', go);
    canvas.addEventListener('pointermove', (event) => event.buttons === 1 && go(event));
  }

  /** Where the layout is on the map. */
  frame() {
    const { layout } = this.graph;
    const [width, height] = [this.surface.width, this.surface.height];
    const scale = Math.min((width - 8) / layout.width, (height - 8) / layout.height);
    return { scale, left: (width - layout.width * scale) / 2, top: (height - layout.height * scale) / 2 };
  }

  paint(context, width, height, theme) {
    const { graph } = this;
    const { scale, left, top } = this.frame();
    const [w, h] = [Math.max(nodeWidth * scale, 1), Math.max(nodeHeight * scale, 1)];
    graph.boxes.forEach((box, b) => fillBox(
        context, theme, sharesOf(graph.model, box).slice(0, 1).map(([device]) => [device, 1]),
        left + graph.layout.x[b] * scale, top + graph.layout.y[b] * scale, w, h, false));
    const [viewLeft, viewTop, right, bottom] = graph.view;
    Object.assign(context, { strokeStyle: theme.accent, lineWidth: 2 });
    context.strokeRect(left + viewLeft * scale, top + viewTop * scale, (right - viewLeft) * scale,
                       (bottom - viewTop) * scale);
    this.surface.canvas.dataset.boxes = String(graph.boxes.length);
  }
}
