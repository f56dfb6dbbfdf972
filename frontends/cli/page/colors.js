// Colours of the theme and of devices.

const hues = [212, 28, 145, 330, 268, 185, 52, 0];

/** Hue of a device; after the first ones, hues between them. */
function hueOf(device) {
  return device < hues.length ? hues[device] : (device * 137.508 + 15) % 360;
}

/** The colours of the theme that holds now: light, dark or on paper. */
function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const theme = {};
  for (const name of ['paper', 'panel', 'ink', 'faint', 'line', 'edge', 'cut', 'accent', 'compute',
                      'link', 'wait', 'limit']) {
    theme[name] = style.getPropertyValue(`--${name}`).trim();
  }
  const light = style.getPropertyValue('--fill-light').trim();
  const dark = style.getPropertyValue('--fill-dark').trim();
  theme.fill = (device) => `hsl(${hueOf(device)} 62% ${light})`;
  theme.stroke = (device) => `hsl(${hueOf(device)} 55% ${dark})`;
  return theme;
}

/** A small square in the colours of a device or of a part of the critical path. */
function swatch(fill, stroke = fill) {
  const made = element('span', { className: 'swatch', ariaHidden: 'true' });
  made.style.background = fill;
  made.style.borderColor = stroke;
  return made;
}
const deviceSwatch = (device) => swatch(`hsl(${hueOf(device)} 62% var(--fill-light))`,
                                        `hsl(${hueOf(device)} 55% var(--fill-dark))`);
