// Finding operations by name, member, kind or device.

class Search {
  /** `onFound(ids)` with what matches; `onShow(id)` for the one to look at. */
  constructor(model, onFound, onShow) {
    this.onFound = onFound;
    this.onShow = onShow;
    this.texts = model.nodes.map((node) =>
        [node.node, node.kind, node.op, node.device, ...node.members].join('\n').toLowerCase());
    this.matches = [];
    this.next = 0;
    byId('find').addEventListener('input', () => this.find(byId('find').value));
    byId('search').addEventListener('submit', (event) => {
      event.preventDefault();
      this.showNext();
    });
  }

  find(text) {
    const wanted = text.trim().toLowerCase();
    this.matches = wanted === '' ? [] : this.texts.flatMap(
        (each, id) => each.includes(wanted) ? [id] : []);
    this.next = 0;
    byId('found').textContent = wanted === '' ? '' : `${this.matches.length} found`;
    this.onFound(this.matches);
  }

  showNext() {
    if (this.matches.length > 0) {
      const at = this.next++ % this.matches.length;
      byId('found').textContent = `${at + 1} of ${this.matches.length}`;
      this.onShow(this.matches[at]);
    }
  }
}
