// Tables: sorted by a click on a column's title, filtered by a text, and saved as CSV.

/** Shows a node in timeline and graph; set when the page begins. */
let selectNode = () => {};

/** The name of a node as a button that shows it. */
function nodeButton(node) {
  const made = element('button', { type: 'button', className: 'jump', textContent: node.node });
  made.addEventListener('click', () => selectNode(node.id));
  return made;
}

// A column is { title, text(row), value(row), show(row) }: what it says, the number that it stands
// for (only of columns of numbers; null: none) and the element that shows it (default: the text).
const textColumn = (title, text, show) => ({ title, text, show });
const numberColumn = (title, value, text = String) => ({
  title, value, text: (row) => value(row) === null ? '' : text(value(row)),
});
const bytesColumn = (title, value) => numberColumn(title, value, formatBytes);
const partColumn = (title, part, whole) =>
    numberColumn(title, (row) => whole(row) > 0 ? part(row) / whole(row) : null,
                 (value) => percent(value, 1));
const timeColumn = (model, title, value) => numberColumn(title, value, model.time);

/** A field of a CSV file. A text that a table program would calculate is kept a text. */
function csvField(column, row) {
  if (column.value) {
    return String(column.value(row) ?? '');
  }
  const text = column.text(row);
  return `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
}

function csvText(columns, rows) {
  const head = columns.map(({ title }) => `"${title.replaceAll('"', '""')}"`).join(',');
  return [head, ...rows.map((row) => columns.map((column) => csvField(column, row)).join(','))]
      .join('\r\n') + '\r\n';
}

function saveText(text, name) {
  const link = element('a', { href: URL.createObjectURL(new Blob([text], { type: 'text/csv' })),
                              download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

class Table {
  constructor(columns, rows, { most = 100, caption = '', name = 'table', rowClass = () => '' } = {}) {
    Object.assign(this, { columns, rows, most, name, rowClass, sorted: -1, down: true });
    this.shown = rows;
    this.body = element('tbody');
    this.heads = columns.map((column, c) => this.head(column, c));
    this.more = element('button', { type: 'button' });
    this.more.addEventListener('click', () => this.add(1000));
    this.count = element('span', { className: 'hint' });
    const table = element('table', {}, caption === '' ? null : element('caption', {}, caption),
                          element('thead', {}, element('tr', {}, ...this.heads)), this.body);
    this.root = element('div', {}, rows.length > 3 ? this.tools() : null,
                         element('div', { className: 'scroll' }, table), this.more);
    this.fill();
  }

  head(column, c) {
    const button = element('button', { type: 'button', className: 'sort', textContent: column.title });
    button.addEventListener('click', () => this.sort(c));
    return element('th', { scope: 'col', className: column.value ? 'number' : '' }, button);
  }

  tools() {
    const filter = element('input', { type: 'search', placeholder: 'Filter', className: 'filter',
                                      ariaLabel: `Filter the table ${this.name}` });
    filter.addEventListener('input', () => this.filter(filter.value));
    const save = element('button', { type: 'button', className: 'csv', textContent: 'CSV',
                                     title: 'Saves the rows that are shown' });
    save.addEventListener('click', () => saveText(csvText(this.columns, this.shown),
                                                  `${this.name}.csv`));
    return element('div', { className: 'line tools' }, filter, save, this.count);
  }

  filter(text) {
    const wanted = text.trim().toLowerCase();
    this.matching = wanted === '' ? null : this.rows.filter((row) =>
        this.columns.some((column) => column.text(row).toLowerCase().includes(wanted)));
    this.arrange();
  }

  /** Numbers begin with the largest, texts with the first; a second click turns that round. */
  sort(c) {
    this.down = this.sorted === c ? !this.down : Boolean(this.columns[c].value);
    this.sorted = c;
    this.heads.forEach((head, i) => {
      head.ariaSort = i !== c ? 'none' : this.down ? 'descending' : 'ascending';
    });
    this.arrange();
  }

  arrange() {
    this.shown = this.matching ?? this.rows;
    if (this.sorted >= 0) {
      const { value, text } = this.columns[this.sorted];
      const key = value ? (row) => value(row) ?? -Infinity : text;
      const order = this.down ? -1 : 1;
      this.shown = this.shown.map((row) => [key(row), row])
          .sort(([a], [b]) => a < b ? -order : a > b ? order : 0).map(([, row]) => row);
    }
    this.fill();
  }

  fill() {
    this.body.replaceChildren();
    this.add(this.most);
    const all = this.rows.length;
    this.count.textContent = this.matching ? `${this.shown.length} of ${all}` : '';
  }

  add(most) {
    const from = this.body.rows.length;
    this.body.append(...this.shown.slice(from, from + most).map((row) => element(
        'tr', { className: this.rowClass(row) }, ...this.columns.map((column) => element(
            'td', { className: column.value ? 'number' : 'text' },
            column.show ? column.show(row) : column.text(row))))));
    const left = this.shown.length - this.body.rows.length;
    this.more.textContent = `${left} more`;
    this.more.hidden = left === 0;
  }
}

const makeTable = (columns, rows, options) => new Table(columns, rows, options).root;
