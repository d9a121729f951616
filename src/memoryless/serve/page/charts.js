// Charts by SVG attributes and cells with text: nothing needs a style of its own.

import { make, named, percent, svg } from "./dom.js";

export function bar(share, kind = "") {
  const width = Math.max(0.5, 100 * share);
  return svg("svg", { class: `bar-chart ${kind}`, viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "track", width: 100, height: 6 }),
    svg("rect", { class: "value", width, height: 6 }));
}

// Rows of a name, a bar and a text.
export function bars(rows, kind = "") {
  return make("ul", { class: `bars ${kind}` }, ...rows.map(({ name, share, text, note }) => make("li", {},
    make("span", { class: "bar-name" }, named(name)),
    make("span", { class: "bar-text" }, text ?? percent(share)),
    bar(share),
    note ? make("span", { class: "bar-note muted" }, note) : null)));
}

// Which classes are taken for which: rows are right, columns are answers; deeper means more often.
export function heatMap(names, times) {
  const most = Math.max(1, ...names.flatMap((row) => names.filter((n) => n !== row).map((column) => times(row, column))));
  const head = make("tr", {}, make("th", { scope: "col" }, "is \\ answered"), ...names.map((name) => make("th", { scope: "col" }, named(name))));
  const rows = names.map((row) => make("tr", {}, make("th", { scope: "row" }, named(row)), ...names.map((column) => {
    const number = times(row, column);
    const step = row === column ? "right" : number ? `heat-${Math.ceil(4 * number / most)}` : "";
    return make("td", { class: step }, number ? String(number) : "·");
  })));
  return make("div", { class: "scroll", tabIndex: 0, role: "region", ariaLabel: "Confusions" },
    make("table", { class: "heat" }, make("thead", {}, head), make("tbody", {}, ...rows)));
}

// A column for each state, its accuracy above it.
export function columns(values) {
  const wide = 56, high = 120, left = 4;
  const chart = svg("svg", { class: "column-chart", viewBox: `0 0 ${left + wide * values.length + 4} ${high + 44}`, role: "img",
    "aria-label": values.map(({ name, share }) => `${name}: ${percent(share)}`).join("; ") });
  values.forEach(({ name, share }, i) => {
    const x = left + wide * i + 8, height = high * share, middle = x + (wide - 16) / 2;
    const number = svg("text", { x: middle, y: 12 + high - height, "text-anchor": "middle", class: "number" });
    number.textContent = Math.round(100 * share);
    const label = svg("text", { x: middle, y: high + 36, "text-anchor": "middle" });
    label.textContent = name;
    chart.append(svg("rect", { class: "value", x, y: 18 + high - height, width: wide - 16, height: Math.max(height, 1), rx: 3 }), number, label);
  });
  chart.append(svg("line", { x1: 0, x2: left + wide * values.length + 4, y1: high + 18, y2: high + 18, class: "axis" }));
  return chart;
}
