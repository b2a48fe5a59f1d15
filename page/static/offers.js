/* The offers table: sort and filter by index over columns, one render at a time, the whole view in the address. */
const almanac = (() => {
  const $ = selector => document.querySelector(selector);
  const all = selector => [...document.querySelectorAll(selector)];
  const fold = text => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const fill = (text, values) => text.replace(/%\((\w+)\)s/g, (_, key) => values[key]).replaceAll('%%', '%');
  const lang = document.documentElement.lang;
  // Formatters are dear to make and cheap to use. Ties go to the even digit, as on the pages.
  const formatters = new Map();
  const format = (value, options) => {
    const key = JSON.stringify(options);
    if (!formatters.has(key)) formatters.set(key, new Intl.NumberFormat(lang, { ...options, roundingMode: 'halfEven' }));
    return formatters.get(key).format(value);
  };
  const number = (value, digits = 0) => format(value, { maximumFractionDigits: digits });
  const moon = days => days <= 0 ? 0 : days <= 14 ? 1 : days <= 60 ? 2 : days <= 120 ? 3 : 4;

  const money = usd => {
    const size = Math.abs(usd), digits = size >= 0.1 || size === 0 ? 2 : size >= 0.001 ? 4 : 6;
    return format(usd, { style: 'currency', currency: 'USD', minimumFractionDigits: digits, maximumFractionDigits: digits });
  };

  // Accepts 0.5 and 0,5 on every page. A single sign is the group sign only where the language groups so: 1.234 in German.
  const read = text => {
    const plain = text.trim(), signs = plain.match(/[.,]/g) ?? [];
    const group = new Intl.NumberFormat(lang).formatToParts(11111).find(part => part.type === 'group')?.value;
    let decimal = signs.at(-1);
    if (signs.length > 1 && signs.every(sign => sign === signs[0])) decimal = undefined;
    if (signs.length === 1 && decimal === group && /^[1-9]\d*[.,]\d{3}$/.test(plain)) decimal = undefined;
    const parts = decimal ? [plain.slice(0, plain.lastIndexOf(decimal)), plain.slice(plain.lastIndexOf(decimal) + 1)] : [plain];
    const value = parts.map(part => part.replace(/[.,]/g, '')).join('.');
    return /^\d+(\.\d*)?$|^\.\d+$/.test(value) ? Number(value) : NaN;
  };

  const offers = data => {
    const { columns, texts, rows } = data;
    const table = $('#offers'), body = table.tBodies[0], heads = all('#offers th[data-k]');
    const boxes = all('input[data-column]'), search = $('#q'), age = $('#age'), limits = { max: $('#max'), mem: $('#mem') };
    const label = (key, row) => { const c = columns[key], at = c.cells[row]; return at === null ? null : (c.labels ?? c.codes)[at]; };
    const code = (key, row) => { const c = columns[key], at = c.cells[row]; return at === null ? null : c.codes[at]; };
    const facets = all('details[data-facet]').map(box => ({ box, key: box.dataset.facet, wanted: new Set() }));
    let sort = { key: 'gh', sign: 1 }, shown = [], visible = data.first;

    const element = (tag, text, names = '') => {
      const made = document.createElement(tag);
      if (names) made.className = names;
      if (text !== undefined) made.textContent = text;
      return made;
    };

    // The facet "Region" has one more value: the European Union, which is not a continent
    const passes = (facet, row) => facet.wanted.has(code(facet.key, row))
      || (facet.key === 'area' && facet.wanted.has('eu_member') && code('eu', row) !== null);

    const fillFacets = () => {
      for (const facet of facets) {
        const { codes, labels = codes, cells } = columns[facet.key];
        const counts = new Map();
        for (const at of cells) if (at !== null) counts.set(at, (counts.get(at) ?? 0) + 1);
        const values = codes.map((value, at) => [value, labels[at], counts.get(at)]);
        if (facet.key === 'area' && columns.eu.codes) {
          values.push(['eu_member', (columns.eu.labels ?? columns.eu.codes)[0], columns.eu.cells.filter(at => at !== null).length]);
        }
        for (const [value, text, count] of values) {
          const line = element('label'), input = element('input');
          input.type = 'checkbox';
          input.value = value;
          input.onchange = () => { facet.wanted[input.checked ? 'add' : 'delete'](value); draw(true); };
          line.append(input, text, element('span', number(count)));
          line.dataset.label = text;
          facet.box.querySelector('fieldset').append(line);
        }
      }
    };

    const cell = {
      words: (td, key, row) => { td.textContent = label(key, row); },
      number: (td, key, row, digits) => { td.textContent = number(columns[key].cells[row], digits); },
      age: (td, key, row) => {
        const days = columns[key].cells[row], mark = element('span', '', `moon m${moon(days)}`);
        mark.setAttribute('aria-hidden', 'true');
        td.append(mark, ` ${number(days)}`);
      },
      link: (td, key, row) => {
        const link = element('a', texts.page);
        link.href = label(key, row);
        link.rel = 'noopener noreferrer';
        link.setAttribute('aria-label', fill(texts.source, { offer: `${label('prov', row)} ${label('gpu', row)}` }));
        td.append(link);
      },
    };

    const priced = (td, key, row) => {
      const usd = columns[key].cells[row], state = code('state', row);
      if (usd === null) td.textContent = state === 'contact_sales' ? texts.ask : '–';
      else td.textContent = texts[state] ? fill(texts[state], { price: money(usd) }) : money(usd);
      if (texts[state]) td.classList.add('bound');
      if (key === 'gh') td.classList.add('key-price');
    };

    const render = row => {
      const tr = element('tr');
      for (const head of heads) {
        const key = head.dataset.k, { kind, cells } = columns[key];
        if (key === 'gpu') {
          const th = element('th', label('gpu', row), 'first'), small = element('small', label('prov', row), 'pm');
          th.scope = 'row';
          th.translate = false;
          small.setAttribute('aria-hidden', 'true');
          th.append(small);
          tr.append(th);
          continue;
        }
        const td = element('td', undefined, ['number', 'money', 'age'].includes(kind) ? 'num' : '');
        if (key === 'prov' || key === 'region') td.translate = false;
        td.hidden = head.hidden;
        if (kind === 'money') priced(td, key, row);
        else if (cells[row] === null) td.textContent = '–';
        else cell[kind](td, key, row, Number(head.dataset.digits));
        if (key === 'prov' && label('plan', row)) td.append(' ', element('small', label('plan', row)));
        tr.append(td);
      }
      return tr;
    };

    // A word is looked up once in each dictionary, then a row is a few index tests
    const searched = ['gpu', 'prov', 'plan', 'region', 'kind', 'seg', 'area', 'eu', 'state', 'stock'].map(key => {
      const { cells, codes = [], labels = codes } = columns[key];
      return { cells, folded: labels.map(fold) };
    });
    const searcher = () => {
      const found = fold(search.value).split(/\s+/).filter(Boolean).map(word =>
        searched.map(({ cells, folded }) => [cells, folded.map(text => text.includes(word))]));
      return row => found.every(word => word.some(([cells, hits]) => cells[row] !== null && hits[cells[row]]));
    };

    const filter = () => {
      const matches = searcher(), active = facets.filter(facet => facet.wanted.size);
      const max = read(limits.max.value), least = read(limits.mem.value);
      const kept = [];
      for (let row = 0; row < rows; row++) {
        if (active.every(facet => passes(facet, row))
          && (!age.value || columns.age.cells[row] <= Number(age.value))
          && (Number.isNaN(max) || (columns.gh.cells[row] !== null && columns.gh.cells[row] <= max))
          && (Number.isNaN(least) || (columns.vram.cells[row] !== null && columns.vram.cells[row] >= least))
          && matches(row)) kept.push(row);
      }
      const { cells } = columns[sort.key];
      return kept.sort((a, b) => {
        const x = cells[a], y = cells[b];
        if (x === null || y === null) return (x === null) - (y === null) || a - b;  // missing values last, both ways
        return sort.sign * (x - y) || a - b;
      });
    };

    const query = () => {
      const params = new URLSearchParams();
      for (const facet of facets) for (const value of [...facet.wanted].sort()) params.append(facet.key, value);
      if (search.value) params.set('q', search.value);
      for (const key of ['max', 'mem']) { const value = read(limits[key].value); if (!Number.isNaN(value)) params.set(key, value); }
      if (age.value) params.set('age', age.value);
      if (sort.key !== 'gh' || sort.sign < 0) params.set('sort', (sort.sign < 0 ? '-' : '') + sort.key);
      if (boxes.some(box => box.checked !== box.defaultChecked)) {
        params.set('cols', boxes.filter(box => box.checked).map(box => box.dataset.column).join('.'));
      }
      return params;
    };

    const readQuery = () => {
      const params = new URLSearchParams(location.search);
      for (const facet of facets) {
        for (const input of facet.box.querySelectorAll('input')) {
          input.checked = params.getAll(facet.key).includes(input.value);
          if (input.checked) facet.wanted.add(input.value);
        }
      }
      search.value = params.get('q') ?? '';
      for (const key of ['max', 'mem']) if (/^\d+(\.\d+)?$/.test(params.get(key))) limits[key].value = number(Number(params.get(key)), 6);
      if ([...age.options].some(option => option.value === params.get('age'))) age.value = params.get('age');
      const [, minus, key] = /^(-?)(\w+)$/.exec(params.get('sort') ?? '') ?? [];
      if (heads.some(head => head.dataset.k === key)) sort = { key, sign: minus ? -1 : 1 };
      if (params.has('cols')) {
        const wanted = params.get('cols').split('.');
        for (const box of boxes) box.checked = box.disabled || wanted.includes(box.dataset.column);
      }
    };

    const drawHeads = () => {
      for (const head of heads) {
        head.hidden = !boxes.find(box => box.dataset.column === head.dataset.k).checked;
        if (head.dataset.k === sort.key) head.setAttribute('aria-sort', sort.sign > 0 ? 'ascending' : 'descending');
        else head.removeAttribute('aria-sort');
      }
      for (const group of all('#offers [data-group]')) {
        const count = heads.filter(head => !head.hidden && group.dataset.group.split('.').includes(head.dataset.k)).length;
        group.hidden = !count;
        group.colSpan = count || 1;
      }
    };

    const pill = (text, remove) => {
      const made = element('button', text, 'pill');
      made.setAttribute('aria-label', fill(texts.remove, { filter: text }));
      made.onclick = () => { remove(); draw(true); ($('.pill') ?? search).focus(); };
      return made;
    };

    const drawPills = () => {
      const pills = [];
      for (const facet of facets) {
        if (facet.wanted.size) facet.box.dataset.n = facet.wanted.size; else delete facet.box.dataset.n;
        for (const input of facet.box.querySelectorAll('input:checked')) {
          pills.push(pill(input.closest('label').dataset.label, () => { input.checked = false; facet.wanted.delete(input.value); }));
        }
      }
      const words = { max: value => fill(texts.at_most, { price: money(value) }), mem: value => fill(texts.memory, { amount: number(value, 2) }) };
      for (const [key, input] of Object.entries(limits)) {
        const value = read(input.value), isWrong = input.value.trim() !== '' && Number.isNaN(value);
        input.setAttribute('aria-invalid', isWrong);
        if (isWrong) pills.push(pill(fill(texts.not_a_number, { text: input.value }), () => { input.value = ''; }));
        else if (input.value.trim()) pills.push(pill(words[key](value), () => { input.value = ''; }));
      }
      const limited = $('details[data-limits]'), count = [limits.max, limits.mem, age].filter(input => input.value.trim()).length;
      if (count) limited.dataset.n = count; else delete limited.dataset.n;
      if (age.value) pills.push(pill(fill(texts.age, { days: number(age.value) }), () => { age.value = ''; }));
      $('#pills').replaceChildren(...pills);
      $('#clear').hidden = !pills.length && !search.value;
    };

    const drawRows = () => {
      body.replaceChildren(...shown.slice(0, visible).map(render));
      table.setAttribute('aria-rowcount', shown.length + 2);
      const left = Math.min(data.first, shown.length - visible), more = $('#more');
      more.hidden = left <= 0;
      more.textContent = fill(texts.more, { count: number(left) });
      $('#empty').hidden = shown.length > 0;
      $('#n').textContent = number(shown.length);
    };

    const draw = isSaid => {
      visible = data.first;
      drawHeads();
      shown = filter();
      drawRows();
      drawPills();
      const heading = heads.find(head => head.dataset.k === sort.key).textContent;
      const order = sort.sign > 0 ? texts.ascending : texts.descending;
      const said = { shown: number(shown.length), all: number(rows), column: heading, order };
      if (isSaid) $('#live').textContent = fill(texts.shown, said);
      const params = query().toString();
      try { history.replaceState(null, '', params ? `?${params}` : location.pathname); } catch { /* a page from a disk keeps its address */ }
    };

    const save = (text, type, name) => {
      const link = element('a');
      link.href = URL.createObjectURL(new Blob([text], { type }));
      link.download = name;
      link.click();
      URL.revokeObjectURL(link.href);
    };
    const exported = () => {
      const visibleKeys = heads.filter(head => !head.hidden).map(head => head.dataset.k);
      const keys = visibleKeys.flatMap(key => key === 'prov' ? ['prov', 'plan'] : [key]);
      const raw = (key, row) => columns[key].codes ? code(key, row) : columns[key].cells[row];
      return shown.map(row => Object.fromEntries(keys.map(key => [key, raw(key, row)])));
    };
    // A cell that a spreadsheet would run as a formula is kept as text
    const quoted = value => {
      const text = value === null ? '' : String(value), safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
      return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    const saveCsv = () => {
      const records = exported();
      const lines = [`# ${data.note}`, Object.keys(records[0] ?? {}).join(), ...records.map(record => Object.values(record).map(quoted).join())];
      save(lines.join('\n') + '\n', 'text/csv', 'offers.csv');
    };

    const bind = () => {
      for (const head of heads) {
        head.querySelector('button').onclick = () => {
          sort = { key: head.dataset.k, sign: sort.key === head.dataset.k ? -sort.sign : 1 };
          draw(true);
        };
      }
      for (const input of [...boxes, age]) input.onchange = () => draw(true);
      for (const input of [search, limits.max, limits.mem]) input.oninput = () => draw(true);
      $('#more').onclick = () => { visible += data.first; drawRows(); };
      $('#clear').onclick = () => {
        for (const facet of facets) { facet.wanted.clear(); for (const input of facet.box.querySelectorAll('input')) input.checked = false; }
        for (const input of [search, limits.max, limits.mem, age]) input.value = '';
        draw(true);
        search.focus();
      };
      $('#copy').onclick = async () => {
        const address = new URL(location.href);
        address.search = query();
        try { await navigator.clipboard.writeText(address.href); $('#live').textContent = texts.copied; } catch { $('#live').textContent = address.href; }
      };
      $('#csv').onclick = saveCsv;
      $('#json').onclick = () => save(JSON.stringify({ note: data.note, offers: exported() }, null, 1), 'application/json', 'offers.json');
    };

    for (const control of all('[data-offers]')) control.hidden = false;
    for (const note of all('[data-plain]')) note.hidden = true;
    fillFacets();
    readQuery();
    bind();
    draw(false);
  };

  return { offers };
})();
