"use strict";
// Draws the page from the JSON in #content. State is the chosen data set and what selects show.
const content = JSON.parse(document.getElementById("content").textContent);
const byId = (id) => document.getElementById(id);
const COLOURS = ["#2f6fde", "#d97706", "#0f9d68", "#d64545", "#8a5be0", "#0891b2", "#c2357f", "#6b9b1e"];
// Rankers beyond the colours share them, and differ in lines and shapes.
const DASHES = ["solid", "dash", "dot", "dashdot"];
const SHAPES = ["circle", "diamond", "square", "cross"];
const colourOf = (name) => COLOURS[content.rankers.indexOf(name) % COLOURS.length];
const roundOf = (name) => Math.floor(content.rankers.indexOf(name) / COLOURS.length) % DASHES.length;
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

// Text for plotly, which would read tags in it.
const plain = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const number = (value, digits) => value === null || value === undefined ? "–" : value.toFixed(digits);

// ---- words that explain themselves ----

const FORMS = new Map(content.terms.flatMap((term, place) => term.forms.map((form) => [form, place])));
const WORDS = new RegExp(`(?<![\\w/])(?:${[...FORMS.keys()].filter((form) => form.length > 2).join("|")})(?:@\\d+)?(?![\\w/])`, "gi");

// Marks an element as a term: hover and focus show its text, and screen readers read it.
function asTerm(made, form) {
  const place = FORMS.get(form.toLowerCase().split("@")[0]);
  if (place === undefined) return made;
  made.classList.add("term");
  made.dataset.term = String(place);
  made.setAttribute("aria-describedby", `term-${place}`);
  if (made.tagName !== "BUTTON") made.tabIndex = 0;
  return made;
}

// A text as nodes, the first place of each known word marked as a term.
function explained(text) {
  const parts = [], seen = new Set();
  let begin = 0;
  for (const found of text.matchAll(WORDS)) {
    const place = FORMS.get(found[0].toLowerCase().split("@")[0]);
    if (seen.has(place)) continue;
    seen.add(place);
    parts.push(text.slice(begin, found.index), asTerm(element("span", { textContent: found[0] }), found[0]));
    begin = found.index + found[0].length;
  }
  return [...parts, text.slice(begin)];
}

let tipped = null; // the term whose text is shown

function showTip(target) {
  tipped = target;
  const tip = byId("tip"), around = target.getBoundingClientRect();
  tip.textContent = content.terms[Number(target.dataset.term)].text;
  tip.hidden = false;
  const size = tip.getBoundingClientRect();
  const above = around.top - size.height - 6;
  tip.style.left = `${Math.max(8, Math.min(around.left, document.documentElement.clientWidth - size.width - 8))}px`;
  tip.style.top = `${above >= 4 ? above : around.bottom + 6}px`;
}

function hideTip() { tipped = null; byId("tip").hidden = true; }

function drawWords() {
  byId("words").querySelector("dl").replaceChildren(...content.terms.flatMap((term, place) => [
    element("dt", { textContent: term.word }), element("dd", { id: `term-${place}`, textContent: term.text })]));
  for (const text of document.querySelectorAll(".convention p, p.note")) text.replaceChildren(...explained(text.textContent));
  const over = (event) => event.target.closest && event.target.closest("[data-term]");
  for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, (event) => { if (over(event)) showTip(over(event)); });
  for (const kind of ["mouseout", "focusout"]) document.addEventListener(kind, (event) => { if (over(event)) hideTip(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
  // The tip follows its term: the keyboard scrolls to what it focuses.
  document.addEventListener("scroll", () => { if (tipped) showTip(tipped); }, { passive: true, capture: true });
}

// ---- the table ----

function columns() {
  const metrics = content.metrics.map((name, place) => ({
    name, more: content.greater[place],
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
  const dot = element("i", { className: `dot ${SHAPES[roundOf(row.ranker)]}` });
  dot.style.background = colourOf(row.ranker);
  return [dot, row.ranker + (row.note ? "*" : "") + (row.ranker === content.baseline ? " (baseline)" : "")];
}

function valueCell(row, place) {
  if (row.failure) return ["failed"];
  const mark = row.marks[place];
  const words = mark > 0 ? "significantly better than the baseline" : "significantly worse than the baseline";
  const sign = element("span", { className: "mark " + (mark > 0 ? "better" : mark < 0 ? "worse" : "") });
  if (mark) { sign.textContent = mark > 0 ? "▲" : "▼"; sign.title = words; sign.setAttribute("aria-label", words); }
  const value = element("span", { className: row.leading[place] ? "top" : "", textContent: number(row.values[place], 4) });
  const tier = element("span", { className: "tier", textContent: row.tiers[place], title: content.terms[FORMS.get("tiers")].text });
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
    const button = asTerm(element("button", { type: "button", textContent: column.name }), column.name);
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
  byId("failures").replaceChildren(...data.rows.filter((row) => row.failure || row.note).map((row) =>
    element("p", { className: "reason", textContent: row.note || `${row.ranker} failed: ${row.failure}` })));
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
  const chart = byId(id);
  const paper = document.body.classList.contains("paper");
  const size = paper ? { width: chart.clientWidth, height: chart.clientHeight } : { autosize: true };
  const axis = { gridcolor: colours.grid, zerolinecolor: colours.soft, linecolor: colours.grid, automargin: true, title: { standoff: 8 } };
  const merged = {
    font: { family: getComputedStyle(document.body).fontFamily, size: narrow ? 11 : 13, color: colours.ink },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: narrow ? 44 : 56, r: 12, t: 10, b: 44 },
    hoverlabel: { align: "left" }, showlegend: false, ...size, ...layout,
    xaxis: { ...axis, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis },
  };
  return Plotly.react(chart, traces, merged, { displayModeBar: false, responsive: true });
}

function drawDifferences() {
  const [first, second] = [byId("first").value, byId("second").value];
  const place = Number(byId("metric").value);
  byId("differences").hidden = !data.queries[first];
  if (!data.queries[first]) return;
  const one = data.queries[first], two = data.queries[second];
  const sign = content.greater[place] ? 1 : -1;
  // Differences of rounding alone are ties, as in the tables (significance.pair_differences).
  const tie = 1e-9 * [...one[place], ...two[place]].reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const gapOf = (a, b) => Math.abs(a - b) <= tie ? 0 : sign * (a - b);
  const rows = data.ids.map((id, i) => ({ i, id, gap: one[place][i] === null ? null : gapOf(one[place][i], two[place][i]) }))
    .filter((row) => row.gap !== null).sort((a, b) => b.gap - a.gap || a.i - b.i);
  const colours = theme();
  draw("difference-chart", [{
    type: "bar", y: rows.map((row) => row.gap), x: rows.map((_, rank) => rank + 1),
    marker: { color: rows.map((row) => row.gap >= 0 ? colours.good : colours.bad), line: { width: 0 } },
    customdata: rows.map((row) => [plain(row.id), one[place][row.i].toFixed(4), two[place][row.i].toFixed(4)]),
    hovertemplate: `query %{customdata[0]}<br>${plain(first)} %{customdata[1]}<br>${plain(second)} %{customdata[2]}<br>difference %{y:.4f}<extra></extra>`,
  }], { bargap: rows.length > 200 ? 0 : 0.15, xaxis: { title: { text: "queries, by difference" } },
    yaxis: { title: { text: `difference of ${content.metrics[place]}` }, tickformat: decimals([0, ...rows.map((row) => row.gap)]) } });
  byId("difference-chart").removeAllListeners("plotly_click");
  byId("difference-chart").on("plotly_click", (event) => {
    byId("query").value = String(rows[event.points[0].pointNumber].i);
    drawDocuments();
  });
  const count = (test) => rows.filter((row) => test(row.gap)).length;
  byId("difference-note").textContent = `${first} is better on ${count((g) => g > 0)} queries, equal on `
    + `${count((g) => g === 0)}, worse on ${count((g) => g < 0)} than ${second}.`;
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
      const chip = element("span", { className: "grade", textContent: String(grade), title: content.terms[FORMS.get("grade")].text });
      chip.style.background = gradeColour(grade);
      return element("li", {}, chip, document_);
    });
    return element("div", { className: "list" }, element("h4", {}, `${ranker}: `, ...explained("grade and document")), element("ol", {}, ...items));
  });
  byId("documents").replaceChildren(...lists);
}

function drawCurves() {
  const traces = Object.entries(data.curves).map(([name, curve]) => ({
    type: "scatter", mode: curve.steps.length < 10 ? "lines+markers" : "lines", // one step is no line
    name: plain(name), x: curve.steps, y: curve.values,
    line: { color: colourOf(name), dash: DASHES[roundOf(name)], width: 2.3 },
    hovertemplate: `${plain(name)}<br>%{x} steps: %{y:.4f}<extra></extra>`,
  }));
  const without = Object.entries(data.without_curve).map(([name, reason]) => `${name}: ${reason}`);
  byId("curves").hidden = traces.length === 0;
  byId("curves").querySelector(".note").replaceChildren(...explained(`${content.metrics[0]} on the test queries by the number of steps (boosting iterations, trees of a forest), mean over the test queries of all folds. Models were cut on validation data; one with fewer steps than others counts with its last value.${without.length ? ` No curve of ${without.join("; of ")}.` : ""}`));
  if (traces.length) draw("curve-chart", traces, { showlegend: true, legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom" },
    xaxis: { title: { text: "steps" } }, yaxis: { title: { text: content.metrics[0] }, tickformat: decimals(traces.flatMap((trace) => trace.y)) } });
}

function drawCost(id, key, title, unit) {
  const rows = data.rows.filter((row) => !row.failure && row[key] && row.values[0] !== null);
  const size = window.innerWidth < 600 ? 10 : 12;
  const x = logAxis(rows.map((row) => row[key])), y = roomFor(rows.map((row) => row.values[0]), 0.1, 1e-4);
  const places = placed(rows.map((row) => [Math.log10(row[key]), row.values[0], row.ranker]), x.range, y, byId(id), size);
  draw(id, rows.map((row, i) => ({
    type: "scatter", mode: "markers+text", name: plain(row.ranker), x: [row[key]], y: [row.values[0]],
    text: [plain(row.ranker)], textposition: places[i], cliponaxis: false, textfont: { size },
    marker: { color: colourOf(row.ranker), symbol: SHAPES[roundOf(row.ranker)], size: 12 },
    hovertemplate: `${plain(row.ranker)}<br>%{x:.3g} ${unit}: %{y:.4f}<extra></extra>`,
  })), { xaxis: { type: "log", title: { text: title }, ...x }, yaxis: { title: { text: content.metrics[0] }, range: y, tickformat: decimals(y) } });
}

// A format that gives all ticks of an axis over these values the same decimals.
function decimals(values) {
  const span = Math.max(...values) - Math.min(...values);
  return `.${span > 0 ? Math.min(6, Math.max(0, Math.ceil(-Math.log10(span / 5) - 1e-9))) : 4}f`;
}

// The range of values with a share of room at both ends, never less than so much.
function roomFor(values, share, least) {
  if (!values.length) return [0, 1];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = Math.max(least, share * (high - low));
  return [low - room, high + room];
}

function logAxis(values) {
  const [low, high] = roomFor(values.map(Math.log10), 0.15, 0.3);
  const ticks = [];
  for (let power = Math.floor(low); power <= Math.ceil(high); power++)
    for (const step of high - low > 2.2 ? [1] : [1, 2, 5]) ticks.push(step * 10 ** power);
  return { range: [low, high], tickvals: ticks, ticktext: ticks.map((tick) => String(Number(tick.toPrecision(3)))) };
}

// Each name goes to the side of its point where it covers least of other points, names and the edge;
// in a few rounds, because names that are placed later may leave a better side to earlier ones.
function placed(points, [left, right], [bottom, top], chart, size) {
  const [width, height] = [chart.clientWidth - 70, chart.clientHeight - 56];
  const centres = points.map(([x, y]) => [width * (x - left) / (right - left), height * (top - y) / (top - bottom)]);
  const marks = centres.map(([x, y]) => [x - 7, y - 7, x + 7, y + 7]);
  const shared = (a, b) => Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0])) * Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
  const sides = [["top center", 0, -1], ["bottom center", 0, 1], ["middle right", 1, 0], ["middle left", -1, 0],
    ["top right", 1, -1], ["top left", -1, -1], ["bottom right", 1, 1], ["bottom left", -1, 1]];
  const boxes = points.map(([, , name], i) => sides.map(([, across, down]) => {
    const [wide, high] = [0.6 * size * name.length, 1.3 * size];
    const x = centres[i][0] + across * (8 + wide / 2), y = centres[i][1] + down * (8 + high / 2);
    return [x - wide / 2, y - high / 2, x + wide / 2, y + high / 2];
  }));
  const chosen = points.map(() => -1);
  for (let round = 0; round < 4; round++) points.forEach((_, i) => {
    const names = chosen.map((side, j) => j === i || side < 0 ? null : boxes[j][side]).filter((box) => box);
    const covered = boxes[i].map((box) => [...marks, ...names].reduce((sum, other) => sum + shared(box, other), 0)
      + shared(box, box) - shared(box, [0, 0, width, height]));
    chosen[i] = covered.indexOf(Math.min(...covered));
  });
  return chosen.map((side) => sides[side][0]);
}

function drawHeat() {
  const shares = data.heat[byId("heat-ranker").value];
  byId("heat").hidden = !shares;
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
    type: "bar", orientation: "h", y: top.map(([name]) => plain(name)), x: top.map(([, share]) => share),
    marker: { color: colourOf(byId("importance-ranker").value) }, hovertemplate: "%{y}: %{x:.1%}<extra></extra>",
  }], { xaxis: { tickformat: ".0%", rangemode: "tozero" }, yaxis: { type: "category", tickfont: { size: 11 } } });
}

function drawReliability() {
  const found = Object.entries(data.reliability);
  byId("reliability").hidden = !found.length;
  if (!found.length) return;
  byId("reliability-note").textContent = "Expected calibration error: " +
    found.map(([label, one]) => `${plain(label)} ${one.ece.toFixed(4)}`).join(", ") + ".";
  const diagonal = { type: "scatter", mode: "lines", x: [0, 1], y: [0, 1], showlegend: false, hoverinfo: "skip", line: { dash: "dot", width: 1, color: theme().soft } };
  draw("reliability-chart", [diagonal, ...found.map(([label, one]) => ({
    type: "scatter", mode: "lines+markers", name: plain(label), x: one.bins.map((bin) => bin[1]), y: one.bins.map((bin) => bin[2]),
    text: one.bins.map((bin) => `${bin[0]} documents`), marker: { color: colourOf(label) }, line: { color: colourOf(label) },
    hovertemplate: "%{text}: probability %{x:.2f}, relevant %{y:.2f}<extra></extra>",
  }))], { xaxis: { title: { text: "probability" }, range: [0, 1] }, yaxis: { title: { text: "share of relevant documents" }, range: [0, 1] } });
}

const SETTINGS = ["ranker", "used", "chosen on validation"];

function drawSettings() {
  const head = element("tr", {}, ...SETTINGS.map((text) => element("th", { textContent: text, scope: "col" })));
  byId("settings-table").replaceChildren(element("thead", {}, head), element("tbody", {}, ...data.settings.map((row) =>
    element("tr", {}, ...row.map((text, place) => {
      const cell = element("td", { textContent: text });
      cell.dataset.name = SETTINGS[place];
      return cell;
    })))));
  byId("study").textContent = content.study;
}

function drawCharts() {
  drawDifferences(); drawCurves();
  byId("costs").hidden = !data.rows.some((row) => !row.failure && row.fit_seconds);
  drawCost("fit-chart", "fit_seconds", "seconds of training", "s");
  drawCost("score-chart", "score_microseconds", "microseconds per document", "µs");
  drawHeat(); drawImportances(); drawReliability();
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
    element("div", { className: "tile" }, element("b", { textContent: value }), element("span", {}, ...explained(label)))));
  sorting = { column: 1, down: content.greater[0] };
  drawTable(); drawSettings(); drawCharts();
}

drawWords();
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
// On paper, charts are as wide as a page of any format, and in the colours of paper.
window.addEventListener("beforeprint", () => {
  document.body.classList.add("paper");
  drawCharts();
});
window.addEventListener("afterprint", () => {
  document.body.classList.remove("paper");
  drawCharts();
});
show(content.data[0].name);
