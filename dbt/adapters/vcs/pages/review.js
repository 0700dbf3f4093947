"use strict";
(() => {
  const CELLS = 6000;
  const MARKS = { "+": "added", "-": "removed", "~": "modified", "=": "rekeyed" };
  const LOOKS = { "=": "modified" };
  const ORDER = new Intl.Collator(undefined, { numeric: true });

  const make = (tag, text, kind) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (kind) node.className = kind;
    return node;
  };
  const textOf = (value) => (value === null ? "NULL" : String(value));
  const put = (into, tag, value) => {
    const node = into.appendChild(make(tag, textOf(value)));
    if (value === null) node.classList.add("null");
  };
  // A cell is a value, or a pair of values: before and after.
  const cellOf = (cell) => {
    const node = make("td", undefined, "value");
    const inside = node.appendChild(make("span"));
    if (Array.isArray(cell)) {
      put(inside, "del", cell[0]);
      inside.append(" ");
      put(inside, "ins", cell[1]);
    } else put(inside, "span", cell);
    return node;
  };
  const newest = (cell) => (Array.isArray(cell) ? cell[1] : cell);
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null);
    const x = Number(a), y = Number(b);
    return Number.isNaN(x) || Number.isNaN(y) ? ORDER.compare(a, b) : x - y;
  };

  // All rows of a relation, made when its part of the page is opened for the first time.
  const showRows = (host) => {
    const data = JSON.parse(document.getElementById(host.dataset.rows).textContent);
    const all = data.rows.map((row) => ({ row, text: row.flat().map(textOf).join("\u0000").toLowerCase() }));
    const table = make("table"), body = make("tbody"), head = make("tr");
    const count = make("span", undefined, "faint"), more = make("button", undefined, "more");
    const search = host.querySelector("input"), kind = host.querySelector("select");
    // As many rows at a time as a browser lays out at once.
    const step = Math.max(10, Math.min(200, Math.floor(CELLS / (data.columns.length + 1))));
    let found = all, shown = 0, by = 0, way = 0;

    const append = () => {
      for (const { row } of found.slice(shown, shown + step)) {
        const line = body.appendChild(make("tr")), change = MARKS[row[0]];
        line.appendChild(make("td")).appendChild(make("span", change, `tag ${LOOKS[row[0]] ?? change}`));
        line.append(...row.slice(1).map(cellOf));
      }
      shown = Math.min(found.length, shown + step);
      const rows = `${found.length.toLocaleString()} of ${all.length.toLocaleString()} rows`;
      count.textContent = shown < found.length ? `${rows}, the first ${shown.toLocaleString()} shown` : rows;
      more.hidden = shown === found.length;
    };
    const refresh = () => {
      const words = search ? search.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
      found = all.filter(({ row, text }) =>
        (!kind?.value || row[0] === kind.value) && words.every((word) => text.includes(word)));
      if (way) found.sort((a, b) => way * compare(newest(a.row[by]), newest(b.row[by])));
      body.replaceChildren();
      shown = 0;
      append();
    };
    ["change", ...data.columns].forEach((name, place) => {
      const cell = head.appendChild(make("th"));
      cell.scope = "col";
      cell.appendChild(make("button", name)).addEventListener("click", () => {
        way = by === place && way === 1 ? -1 : 1;
        by = place;
        for (const other of head.children) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", way === 1 ? "ascending" : "descending");
        refresh();
      });
    });
    count.setAttribute("role", "status");
    more.textContent = `Show ${step} more`;
    more.addEventListener("click", append);
    search?.addEventListener("input", refresh);
    kind?.addEventListener("change", refresh);
    table.appendChild(make("caption", host.dataset.caption, "unseen"));
    table.appendChild(make("thead")).appendChild(head);
    table.appendChild(body);
    const scroll = make("div", undefined, "scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", host.dataset.caption);
    scroll.appendChild(table);
    const tools = host.querySelector(".tools");
    tools?.append(count);
    tools?.removeAttribute("hidden");
    host.append(scroll, more);
    refresh();
  };
  for (const host of document.querySelectorAll("[data-rows]"))
    host.closest("details").addEventListener("toggle", () => showRows(host), { once: true });

  // The summary of the relations.
  const filter = document.getElementById("filter");
  if (filter) {
    const lines = [...document.querySelectorAll("#summary tbody tr")];
    const said = document.getElementById("filtered");
    filter.closest(".tools").hidden = false;
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const line of lines) {
        line.hidden = !words.every((word) => line.textContent.toLowerCase().includes(word));
        left += !line.hidden;
      }
      said.textContent = `${left} of ${lines.length}`;
    });
  }

  const follow = () => {
    let place = document.getElementById(location.hash.slice(1));
    const target = place;
    for (; place; place = place.parentElement) if (place.tagName === "DETAILS") place.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  follow();

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open]):not(.rows)")];
    for (const part of closed) part.open = true;
  });
  addEventListener("afterprint", () => { for (const part of closed) part.open = false; });
})();
