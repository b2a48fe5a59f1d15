/* GPU Almanac: progressive enhancement only. Every page reads well without this file. */
(() => {
  const root = document.documentElement;
  const all = selector => [...document.querySelectorAll(selector)];
  const memory = {
    get: key => { try { return localStorage.getItem(key); } catch { return null; } },
    set: (key, value) => { try { localStorage.setItem(key, value); } catch { /* private window: not remembered */ } },
  };
  const saved = memory.get('theme');
  if (saved === 'light' || saved === 'dark') root.dataset.theme = saved;

  const theme = () => {
    const button = document.querySelector('#theme');
    const system = matchMedia('(prefers-color-scheme: dark)');
    const isDark = () => (root.dataset.theme || (system.matches ? 'dark' : 'light')) === 'dark';
    const show = () => button.setAttribute('aria-pressed', isDark());
    show();
    system.addEventListener('change', show);
    button.addEventListener('click', () => {
      root.dataset.theme = isDark() ? 'light' : 'dark';
      memory.set('theme', root.dataset.theme);
      show();
    });
  };

  // One pop-up at a time; Escape closes it and gives the focus back
  const popups = () => {
    document.addEventListener('keydown', event => {
      const open = event.key === 'Escape' && document.querySelector('details.pop[open]');
      if (open) { open.open = false; open.querySelector('summary').focus(); }
    });
    document.addEventListener('click', event => {
      for (const open of all('details.pop[open]')) if (!open.contains(event.target)) open.open = false;
    });
  };

  const picker = () => {
    const form = document.querySelector('#picker');
    form?.addEventListener('submit', event => {
      event.preventDefault();
      location.href = form.action.replace(/index\.html$/, `${form.elements.job.value}/index.html`);
    });
  };

  // The language switch keeps the view that the query holds
  const languages = () => {
    for (const link of all('.langs a')) link.addEventListener('click', () => { link.search = location.search; });
  };

  document.addEventListener('DOMContentLoaded', () => {
    for (const element of all('[data-js]')) element.hidden = false;
    theme();
    popups();
    picker();
    languages();
  });
})();
