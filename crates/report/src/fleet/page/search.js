(() => {
  'use strict';
  const MOST = 100;
  const section = document.getElementById('search');
  const input = document.getElementById('query');
  const list = document.getElementById('matches');
  const state = document.getElementById('matched');
  let rows = null;
  const read = () => {
    if (rows === null) {
      const lines = document.getElementById('index').textContent.split('\n');
      rows = [];
      for (let start = 0; start + 4 <= lines.length; start += 4) {
        const cells = lines.slice(start, start + 4);
        rows.push({ cells, low: cells.join(' ').toLowerCase() });
      }
    }
    return rows;
  };
  const piece = (name, text) => {
    const element = document.createElement('span');
    element.className = name;
    element.textContent = text;
    return element;
  };
  const item = ([reference, result, pods, why]) => {
    const element = document.createElement('li');
    element.append(piece('pill ' + result, result.toUpperCase()), ' ', piece('mono', reference));
    if (pods !== '') element.append(' ', piece('dim', pods + (pods === '1' ? ' Pod' : ' Pods')));
    if (why !== '') element.append(' ', piece('why', why));
    return element;
  };
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(word => word !== '');
    list.replaceChildren();
    if (words.length === 0) {
      state.textContent = '';
      return;
    }
    let count = 0;
    for (const { cells, low } of read()) {
      if (!words.every(word => low.includes(word))) continue;
      count += 1;
      if (count <= MOST) list.append(item(cells));
    }
    const shown = count > MOST ? ' The first ' + MOST + ' are shown: add a word.' : '';
    state.textContent = count + (count === 1 ? ' match.' : ' matches.') + shown;
  };
  let waiting = 0;
  input.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 120);
  });
  section.hidden = false;
  if (location.hash.startsWith('#q=')) {
    try {
      input.value = decodeURIComponent(location.hash.slice(3));
    } catch {
      input.value = '';
    }
    search();
  }
})();
