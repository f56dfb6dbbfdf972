// A canvas that is drawn again when its size or the theme changes, and what pointers do on it.

class Surface {
  /** `draw(context, width, height, theme)` draws everything, in CSS pixels. */
  constructor(canvas, draw) {
    this.canvas = canvas;
    this.paint = draw;
    this.waiting = false;
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.request());
    for (const event of ['beforeprint', 'afterprint']) {
      window.addEventListener(event, () => this.draw());
    }
    matchMedia('print').addEventListener('change', () => this.draw());
  }

  get width() { return this.canvas.clientWidth; }
  get height() { return this.canvas.clientHeight; }

  /** Draws before the next frame. */
  request() {
    if (!this.waiting) {
      this.waiting = true;
      requestAnimationFrame(() => this.draw());
    }
  }

  draw() {
    this.waiting = false;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(this.width * ratio);
    const height = Math.round(this.height * ratio);
    if (width === 0 || height === 0) {
      return;
    }
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    const context = this.canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const theme = readTheme();
    context.fillStyle = theme.paper;
    context.fillRect(0, 0, this.width, this.height);
    context.font = fontOf(12);
    context.textBaseline = 'middle';
    this.paint(context, this.width, this.height, theme);
  }
}

/**
 * Calls `on.drag(dx, dy)`, `on.wheel(x, y, event)`, `on.hover(x, y, event)`, `on.leave()` and
 * `on.click(x, y)` with points on the canvas.
 */
function listenToPointer(canvas, on) {
  let last = null;
  let moved = 0;
  const point = (event) => [event.offsetX, event.offsetY];
  canvas.addEventListener('pointerdown', (event) => {
    last = [event.clientX, event.clientY];
    moved = 0;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (last === null) {
      on.hover(...point(event), event);
      return;
    }
    const [dx, dy] = [event.clientX - last[0], event.clientY - last[1]];
    moved += Math.abs(dx) + Math.abs(dy);
    last = [event.clientX, event.clientY];
    on.drag(dx, dy);
  });
  canvas.addEventListener('pointerup', (event) => {
    if (last !== null && moved < 5) {
      on.click(...point(event));
    }
    last = null;
  });
  canvas.addEventListener('pointercancel', () => { last = null; });
  canvas.addEventListener('pointerleave', () => on.leave());
  canvas.addEventListener('wheel', (event) => on.wheel(...point(event), event), { passive: false });
}

const fontOf = (size, weight = '') => `${weight}${size}px system-ui, sans-serif`;

/** Widths of characters by font: each is measured once, as measuring each text is slow. */
const advances = new Map();
const ruler = document.createElement('canvas').getContext('2d');
function advanceOf(character, font) {
  let known = advances.get(font);
  if (known === undefined) {
    advances.set(font, known = new Map());
  }
  let width = known.get(character);
  if (width === undefined) {
    ruler.font = font;
    known.set(character, width = ruler.measureText(character).width);
  }
  return width;
}

/** The text, or its beginning, in at most `width` pixels; "" if not even some of it fits. */
function fitText(text, width, font = fontOf(12)) {
  const dots = advanceOf('…', font);
  let [used, end, shown] = [0, 0, 0];  // `end`: of what fits with dots behind it
  for (const character of text) {
    used += advanceOf(character, font);
    if (used > width) {
      return shown < 3 ? '' : `${text.slice(0, end)}…`;
    }
    if (used + dots <= width) {
      end += character.length;
      ++shown;
    }
  }
  return text;
}

/** Draws within a box alone, whatever a font does with a text. */
function clipped(context, x, y, width, height, draw) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  draw();
  context.restore();
}

/** Near the pointer. */
function showTip(text, event) {
  const tip = byId('tip');
  tip.hidden = text === '';
  if (text !== '') {
    tip.textContent = text;
    const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 18;
    const fits = below + tip.offsetHeight < window.innerHeight;
    tip.style.left = `${Math.max(left, 0)}px`;
    tip.style.top = `${fits ? below : event.clientY - tip.offsetHeight - 10}px`;
  }
}
const hideTip = () => { byId('tip').hidden = true; };
