"use strict";
// Draws the page from the JSON in #content. State is the chosen data set and what selects show.
const content = JSON.parse(document.getElementById("content").textContent);
const byId = (id) => document.getElementById(id);
const COLOURS = ["#2f6fde", "#d97706", "#0f9d68", "#d64545", "#8a5be0", "#0891b2", "#c2357f", "#6b9b1e"];
const DASHES = ["solid", "dash", "dot", "dashdot"];
const colourOf = (name) => COLOURS[content.rankers.indexOf(name) % COLOURS.length];
const dashOf = (name) => DASHES[Math.floor(content.rankers.indexOf(name) / COLOURS.length) % DASHES.length];
let data = content.data[0];
let sorting = { column: 1, down: true };

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties || {});
  made.append(...children);
  return made;
}

function fill(select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) =>
    element("option", { value, textContent: text, selected: value === chosen })));
}

const number = (value, digits) => value === null || value === undefined ? "–" : value.toFixed(digits);

// ---- the table ----

function columns() {
  const metrics = content.metrics.map((metric, place) => ({
    name: metric, more: content.greater[place],
    value: (row) => row.failure ? null : row.values[place],
    cell: (row) => valueCell(row, place),
  }));
  const cost = (name, key, digits) => ({
    name, more: false, value: (row) => row[key], cell: (row) => [number(row[key], digits)],
  });
  return [
    { name: "ranker", more: false, value: (row) => row.ranker, cell: nameCell },
    ...metrics,
    cost("steps", "steps", 0), cost("fit s", "fit_seconds", 2),
    cost("µs/doc", "score_microseconds", 2), cost("MB", "megabytes", 0),
  ];
}

function nameCell(row) {
  const dot = element("i", { className: "dot" });
  dot.style.background = colourOf(row.ranker);
  return [dot, row.ranker + (row.ranker === content.baseline ? " (baseline)" : "")];
}

function valueCell(row, place) {
  if (row.failure) return ["failed"];
  const mark = row.marks[place];
  const words = mark > 0 ? "really better than the baseline" : "really worse than the baseline";
  const sign = element("span", { className: "mark " + (mark > 0 ? "better" : mark < 0 ? "worse" : "") });
  if (mark) { sign.textContent = mark > 0 ? "▲" : "▼"; sign.title = words; sign.setAttribute("aria-label", words); }
  const value = element("span", { className: row.tiers[place].includes("a") ? "top" : "", textContent: row.values[place].toFixed(4) });
  const tier = element("span", { className: "tier", textContent: row.tiers[place], title: "tiers" });
  const parts = element("span", {}, value, tier);
  if (content.baseline) parts.append(sign);
  return [parts];
}

function sortedRows() {
  const column = columns()[sorting.column];
  const wanted = byId("filter").value.toLowerCase();
  const rows = data.rows.filter((row) => row.ranker.toLowerCase().includes(wanted));
  return rows.sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    const order = typeof x === "string" ? x.localeCompare(y) : x - y;
    return sorting.down ? -order : order;
  });
}

function drawTable() {
  const all = columns();
  const heads = all.map((column, place) => {
    const button = element("button", { type: "button", textContent: column.name });
    button.addEventListener("click", () => sortBy(place));
    const head = element("th", { scope: "col" }, button);
    if (place === sorting.column) head.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
    return head;
  });
  byId("table").tHead.replaceChildren(element("tr", {}, ...heads));
  byId("table").tBodies[0].replaceChildren(...sortedRows().map((row) => {
    const cells = all.map((column) => {
      const cell = element("td", {}, ...column.cell(row));
      cell.dataset.name = column.name;
      return cell;
    });
    return element("tr", { className: row.failure ? "failed" : "" }, ...cells);
  }));
  byId("sort").value = String(sorting.column);
  byId("failures").replaceChildren(...data.rows.filter((row) => row.failure).map((row) =>
    element("p", { className: "reason", textContent: `${row.ranker} failed: ${row.failure}` })));
}

function sortBy(place) {
  const down = place === sorting.column ? !sorting.down : columns()[place].more;
  const focused = document.activeElement && document.activeElement.closest("th");
  sorting = { column: place, down };
  drawTable();
  if (focused) byId("table").tHead.rows[0].cells[place].firstChild.focus();
}

// ---- charts ----

function theme() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  return { ink: read("--ink"), soft: read("--soft"), grid: read("--grid"), card: read("--card"), good: read("--good"), bad: read("--bad"), accent: read("--accent") };
}

function draw(id, traces, layout) {
  const colours = theme();
  const narrow = window.innerWidth < 600;
  const axis = { gridcolor: colours.grid, zerolinecolor: colours.soft, linecolor: colours.grid, automargin: true, title: { standoff: 8 } };
  const merged = {
    font: { family: getComputedStyle(document.body).fontFamily, size: narrow ? 11 : 13, color: colours.ink },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: narrow ? 44 : 56, r: 12, t: 10, b: 44 },
    hoverlabel: { align: "left" }, showlegend: false, ...layout,
    xaxis: { ...axis, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis },
  };
  return Plotly.react(byId(id), traces, merged, { displayModeBar: false, responsive: true });
}

function drawDifferences() {
  const [first, second] = [byId("first").value, byId("second").value];
  const place = Number(byId("metric").value);
  const one = data.queries[first], two = data.queries[second];
  const sign = content.greater[place] ? 1 : -1;
  const rows = data.ids.map((id, i) => ({ i, id, gap: one[place][i] === null ? null : sign * (one[place][i] - two[place][i]) }))
    .filter((row) => row.gap !== null).sort((a, b) => b.gap - a.gap || a.i - b.i);
  const colours = theme();
  draw("difference-chart", [{
    type: "bar", y: rows.map((row) => row.gap), x: rows.map((_, rank) => rank + 1),
    marker: { color: rows.map((row) => row.gap >= 0 ? colours.good : colours.bad), line: { width: 0 } },
    customdata: rows.map((row) => [row.id, one[place][row.i].toFixed(4), two[place][row.i].toFixed(4)]),
    hovertemplate: `query %{customdata[0]}<br>${first} %{customdata[1]}<br>${second} %{customdata[2]}<br>difference %{y:.4f}<extra></extra>`,
  }], { bargap: rows.length > 200 ? 0 : 0.15, xaxis: { title: { text: "queries, by difference" } },
    yaxis: { title: { text: `difference of ${content.metrics[place]}` } } });
  byId("difference-chart").removeAllListeners("plotly_click");
  byId("difference-chart").on("plotly_click", (event) => {
    byId("query").value = String(rows[event.points[0].pointNumber].i);
    drawDocuments();
  });
  const count = (test) => rows.filter((row) => test(row.gap)).length;
  byId("difference-note").textContent = `${first} is better on ${count((g) => g > 1e-9)} queries, equal on `
    + `${count((g) => Math.abs(g) <= 1e-9)}, worse on ${count((g) => g < -1e-9)} than ${second}.`;
  const known = rows.filter((row) => data.top[first] && data.top[first][row.i]);
  fill(byId("query"), known.map((row) => [String(row.i), `${row.id}  (${row.gap >= 0 ? "+" : "−"}${Math.abs(row.gap).toFixed(3)})`]), byId("query").value);
  drawDocuments();
}

function gradeColour(grade) {
  const share = data.grades.length < 2 ? 1 : data.grades.indexOf(grade) / (data.grades.length - 1);
  return `hsl(${210 - 70 * share} ${15 + 55 * share}% ${84 - 22 * share}%)`;
}

function drawDocuments() {
  const query = Number(byId("query").value);
  const lists = [byId("first").value, byId("second").value].map((ranker) => {
    const items = (data.top[ranker] && data.top[ranker][query] || []).map(([document_, grade]) => {
      const chip = element("span", { className: "grade", textContent: String(grade), title: "grade" });
      chip.style.background = gradeColour(grade);
      return element("li", {}, chip, document_);
    });
    return element("div", { className: "list" }, element("h4", { textContent: `${ranker}: grade and document` }), element("ol", {}, ...items));
  });
  byId("documents").replaceChildren(...lists);
}

function drawCurves() {
  const traces = Object.entries(data.curves).map(([name, curve]) => ({
    type: "scatter", mode: curve.steps.length < 10 ? "lines+markers" : "lines", // one step is no line
    name, x: curve.steps, y: curve.values,
    line: { color: colourOf(name), dash: dashOf(name), width: 2.3 },
    hovertemplate: `${name}<br>%{x} steps: %{y:.4f}<extra></extra>`,
  }));
  byId("curves").hidden = traces.length === 0;
  byId("curves").querySelector(".note").textContent = `${content.metrics[0]} on the test queries by the number of steps (boosting iterations, trees of a forest), mean over folds. Models were cut on validation data.`;
  if (traces.length) draw("curve-chart", traces, { showlegend: true, legend: { orientation: "h", y: -0.18, yanchor: "top" },
    xaxis: { title: { text: "steps" } }, yaxis: { title: { text: content.metrics[0] } } });
}

function drawCost(id, key, title, unit) {
  const rows = data.rows.filter((row) => !row.failure && row[key]);
  const labels = placed(rows, key);
  draw(id, rows.map((row, i) => ({
    type: "scatter", mode: "markers+text", name: row.ranker, x: [row[key]], y: [row.values[0]],
    text: [row.ranker], textposition: labels[i], cliponaxis: false,
    textfont: { size: window.innerWidth < 600 ? 10 : 12 },
    marker: { color: colourOf(row.ranker), size: 12 },
    hovertemplate: `${row.ranker}<br>%{x:.3g} ${unit}: %{y:.4f}<extra></extra>`,
  })), { xaxis: { type: "log", title: { text: title }, ...logRange(rows.map((row) => row[key])) }, yaxis: { title: { text: content.metrics[0] } } });
}

function logRange(values) {
  if (!values.length) return {};
  const [low, high] = [Math.log10(Math.min(...values)), Math.log10(Math.max(...values))];
  const room = Math.max(0.35, 0.18 * (high - low));
  const ticks = [];
  for (let power = Math.floor(low) - 1; power <= Math.ceil(high) + 1; power++)
    for (const step of high - low > 1.6 ? [1] : [1, 2, 5]) ticks.push(step * 10 ** power);
  return { range: [low - room, high + room], tickvals: ticks, ticktext: ticks.map((tick) => String(Number(tick.toPrecision(3)))) };
}

// Each name goes to the side of its point that is least crowded by other points and names.
function placed(rows, key) {
  const xs = rows.map((row) => Math.log10(row[key])), ys = rows.map((row) => row.values[0]);
  const spread = (list) => Math.max(...list) - Math.min(...list) || 1;
  const [width, height] = [spread(xs), spread(ys)];
  const taken = rows.map((_, i) => [xs[i] / width, ys[i] / height]);
  const sides = { "top center": [0, 0.07], "bottom center": [0, -0.07], "middle right": [0.14, 0], "middle left": [-0.14, 0] };
  return rows.map((_, i) => {
    const [x, y] = [xs[i] / width, ys[i] / height];
    const crowd = ([dx, dy]) => taken.reduce((sum, [a, b]) => sum + Math.exp(-(((x + dx - a) / 0.16) ** 2) - ((y + dy - b) / 0.06) ** 2), 0);
    const side = Object.keys(sides).reduce((best, name) => crowd(sides[name]) < crowd(sides[best]) - 1e-6 ? name : best);
    taken.push([x + sides[side][0], y + sides[side][1]]);
    return side;
  });
}

function drawHeat() {
  const shares = data.heat[byId("heat-ranker").value];
  if (!shares) return;
  draw("heat-chart", [{
    type: "heatmap", z: data.grades.map((_, grade) => shares.map((rank) => rank[grade])), x: shares.map((_, rank) => rank + 1),
    y: data.grades.map(String), colorscale: [[0, theme().card], [1, theme().accent]], zmin: 0, xgap: 2, ygap: 2,
    colorbar: { thickness: 12, tickformat: ".0%" },
    hovertemplate: "rank %{x}, grade %{y}: %{z:.1%}<extra></extra>",
  }], { xaxis: { title: { text: "rank" }, dtick: 1, showgrid: false }, yaxis: { title: { text: "grade" }, type: "category", showgrid: false } });
}

function drawImportances() {
  const shares = data.importances[byId("importance-ranker").value];
  byId("importances").hidden = !Object.keys(data.importances).length;
  if (!shares) return;
  const top = shares.slice(0, 15).reverse();
  draw("importance-chart", [{
    type: "bar", orientation: "h", y: top.map(([name]) => name), x: top.map(([, share]) => share),
    marker: { color: colourOf(byId("importance-ranker").value) }, hovertemplate: "%{y}: %{x:.1%}<extra></extra>",
  }], { xaxis: { tickformat: ".0%", rangemode: "tozero" }, yaxis: { type: "category", tickfont: { size: 11 } } });
}

function drawSettings() {
  const head = element("tr", {}, ...["ranker", "used", "chosen on validation"].map((text) => element("th", { textContent: text, scope: "col" })));
  byId("settings-table").replaceChildren(element("thead", {}, head), element("tbody", {}, ...data.settings.map((row) =>
    element("tr", {}, ...row.map((text) => element("td", { textContent: text }))))));
  byId("study").textContent = content.study;
}

function drawCharts() {
  drawDifferences(); drawCurves();
  drawCost("fit-chart", "fit_seconds", "seconds of training", "s");
  drawCost("score-chart", "score_microseconds", "microseconds per document", "µs");
  drawHeat(); drawImportances();
}

function show(name) {
  data = content.data.find((entry) => entry.name === name);
  const names = Object.keys(data.queries).map((label) => [label, label]);
  const base = content.baseline && data.queries[content.baseline] ? content.baseline : names.length > 1 ? names[1][0] : (names[0] || [""])[0];
  const other = (names.find(([label]) => label !== base) || names[0] || [""])[0];
  fill(byId("first"), names, other);
  fill(byId("second"), names, base);
  fill(byId("heat-ranker"), names, other);
  fill(byId("importance-ranker"), Object.keys(data.importances).map((label) => [label, label]));
  byId("tiles").replaceChildren(...data.tiles.map(([label, value]) =>
    element("div", { className: "tile" }, element("b", { textContent: value }), element("span", { textContent: label }))));
  sorting = { column: 1, down: content.greater[0] };
  drawTable(); drawSettings(); drawCharts();
}

fill(byId("data"), content.data.map((entry) => [entry.name, entry.name]));
byId("choose-data").hidden = content.data.length < 2;
byId("data").addEventListener("change", () => show(byId("data").value));
fill(byId("metric"), content.metrics.map((metric, place) => [String(place), metric]));
fill(byId("sort"), columns().map((column, place) => [String(place), column.name]));
byId("filter").addEventListener("input", drawTable);
byId("sort").addEventListener("change", () => sortBy(Number(byId("sort").value)));
for (const id of ["first", "second", "metric"]) byId(id).addEventListener("change", drawDifferences);
byId("query").addEventListener("change", drawDocuments);
byId("heat-ranker").addEventListener("change", drawHeat);
byId("importance-ranker").addEventListener("change", drawImportances);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawCharts);
window.matchMedia("print").addEventListener("change", drawCharts);
show(content.data[0].name);
