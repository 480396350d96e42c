// Draws the report from the documents in #data and #rows. Text from the database reaches the page as text nodes
// and on canvases alone, never as HTML.
"use strict";
const report = JSON.parse(document.getElementById("data").textContent);
const rowsPerPage = 50;
const find = id => document.getElementById(id);
const count = number => number.toLocaleString("en-US");
const percent = part => (100 * part).toFixed(1) + " %";

// Tables and menus.

function element(name, text, parent) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

// A long text may be broken behind its commas.
function setText(cell, text) {
  cell.textContent = text;
  if (text.length < 40) return;
  cell.className = "long";
  cell.replaceChildren(...text.split(/(?<=,)/).flatMap(part => [part, document.createElement("wbr")]));
}

// Columns are names; cells that are numbers stand at the right. `onSort` makes sortable columns.
function table(place, caption, columns, rows, onSort, sorted) {
  const made = element("table");
  element("caption", caption, made);
  const head = element("tr", undefined, element("thead", undefined, made));
  columns.forEach((name, index) => {
    const cell = element("th", onSort ? undefined : name, head);
    cell.scope = "col";
    if (rows.length > 0 && typeof rows[0][index] === "number") cell.className = "number";
    if (!onSort) return;
    const direction = sorted.column === index ? sorted.direction : 0;
    const arrow = direction === 0 ? "" : direction > 0 ? " \u25b2" : " \u25bc";
    element("button", name + arrow, cell).onclick = () => onSort(index);
    cell.ariaSort = direction === 0 ? "none" : direction > 0 ? "ascending" : "descending";
  });
  const body = element("tbody", undefined, made);
  for (const row of rows) {
    const line = element("tr", undefined, body);
    for (const value of row) {
      const cell = element("td", undefined, line);
      if (typeof value === "number") {
        cell.textContent = Number.isInteger(value) ? value : value.toFixed(2);
        cell.className = "number";
      } else {
        setText(cell, value ?? "-");
      }
    }
  }
  place.replaceChildren(made);
  place.tabIndex = 0;  // so that the keyboard can scroll a wide one
  place.setAttribute("role", "region");
  place.setAttribute("aria-label", caption);
}

function fill(menu, names, first) {
  if (first !== undefined) names = [first, ...names];
  names.forEach((name, index) => {
    const option = element("option", name, menu);
    option.value = first === undefined ? index : index - 1;
  });
}

// Plots.

const plots = new Map();  // by canvas: what makes its settings, and the chart

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

function draw(id, description, settings) {
  const canvas = find(id);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", description);
  plots.get(id)?.chart.destroy();
  Chart.defaults.color = color("text");
  Chart.defaults.borderColor = color("line");
  Object.assign(Chart.defaults, {animation: false, maintainAspectRatio: false});
  plots.set(id, {description, settings, chart: new Chart(canvas, settings())});
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const [id, plot] of plots) draw(id, plot.description, plot.settings);
});

function axis(title, more) {
  return {title: {display: true, text: title}, ...more};
}

// Rates.

const largest = report.sizes.reduce((most, size) => Math.max(most, size.best?.gflops ?? 0), 0);
const unit = largest >= 1000 ? "TFLOP/s" : "GFLOP/s";
const scale = largest >= 1000 ? 1e-3 : 1;
const rate = gflops => gflops === null || gflops === undefined ? null : gflops * scale;
const rateOf = (size, us) => us ? rate(size.operations / us * 1e-3) : null;
const several = report.devices.length > 1;
const nameOf = size => size.text + (several ? " on " + report.devices[size.device].label : "");
const names = report.sizes.map(nameOf);
const answered = report.sizes.filter(size => size.best);
const intensity = size => size.operations / size.bytes;

function showRates() {
  const compared = report.sizes.some(size => size.cublas_us);
  const limited = report.sizes.some(size => size.limit_gflops);
  draw("rates-plot", `The rates of ${report.sizes.length} sizes in ${unit}; the table below has them`, () => ({
    type: "bar",
    data: {labels: names, datasets: [
      {label: "autotune", data: report.sizes.map(size => rate(size.best?.gflops)), backgroundColor: color("first")},
      ...compared ? [{label: "cuBLAS", data: report.sizes.map(size => rateOf(size, size.cublas_us)),
                      backgroundColor: color("second")}] : [],
      ...limited ? [{label: "limit", type: "line", data: report.sizes.map(size => rate(size.limit_gflops)),
                     borderColor: color("third"), backgroundColor: color("third"), borderDash: [6, 4],
                     pointRadius: 2}] : []]},
    options: {scales: {x: axis("size"), y: axis(unit, {beginAtZero: true})}}}));
}

function showRatesTable() {
  table(find("rates-table"), `Best configuration of each size, ${unit}`,
        ["size", unit, "time us", "low us", "high us", "cuBLAS us", "cuBLAS " + unit, "of cuBLAS", "limit " + unit,
         "chosen by", "trials", "correct", "template", "configuration"],
        report.sizes.map((size, index) => {
          const best = size.best;
          return [names[index], rate(best?.gflops), best?.median_us, best?.low_us, best?.high_us, size.cublas_us,
                  rateOf(size, size.cublas_us), best && size.cublas_us ? percent(size.cublas_us / best.median_us) : null,
                  rate(size.limit_gflops), best ? best.confirmed ? "finals" : "unconfirmed" : "no correct trial",
                  size.trials, size.correct, best?.template, best?.configuration];
        }));
}

// Roofline.

function roof(device) {
  const ridge = device.fma_gflops / device.copy_gbps;
  const all = answered.map(intensity);
  const from = Math.min(...all, ridge) / 2;
  const to = Math.max(...all, ridge) * 2;
  return [[from, from * device.copy_gbps], [ridge, device.fma_gflops], [to, device.fma_gflops]]
    .map(([x, y]) => ({x, y: rate(y)}));
}

function showRoofline() {
  const limits = report.devices.filter(device => device.fma_gflops && answered.length > 0);
  draw("roofline-plot", `${answered.length} sizes by operations a byte and rate, with the device's limits`, () => ({
    type: "scatter",
    data: {datasets: [
      {label: "sizes", backgroundColor: color("first"), pointRadius: 5,
       data: answered.map(size => ({x: intensity(size), y: rate(size.best.gflops)}))},
      ...limits.map(device => ({label: "limit" + (several ? " of " + device.label : ""), data: roof(device),
                                showLine: true, pointRadius: 0, borderColor: color("third")}))]},
    options: {
      plugins: {tooltip: {callbacks: {label: item => item.datasetIndex > 0 ? item.dataset.label :
        `${nameOf(answered[item.dataIndex])}: ${item.parsed.y.toFixed(2)} ${unit}`}}},
      scales: {x: axis("operations a byte", {type: "logarithmic"}), y: axis(unit, {type: "logarithmic"})}}}));
  table(find("roofline-table"), "Operations a byte, rate and limit of each size",
        ["size", "operations a byte", unit, "limit " + unit, "of the limit"],
        answered.map(size => [nameOf(size), intensity(size), rate(size.best.gflops), rate(size.limit_gflops),
                              size.limit_gflops ? percent(size.best.gflops / size.limit_gflops) : null]));
}

// Convergence.

function steps(size) {
  const points = size.convergence.map(([x, y]) => ({x, y: rate(y)}));
  if (points.length > 0) points.push({x: size.trials, y: points.at(-1).y});
  return points;
}

function showConvergence() {
  const size = report.sizes[find("convergence-size").value];
  draw("convergence-plot", `The best rate of ${nameOf(size)} after each of ${count(size.trials)} trials`, () => ({
    type: "scatter",
    data: {datasets: [{label: nameOf(size), data: steps(size), showLine: true, stepped: true,
                       borderColor: color("first"), backgroundColor: color("first"), pointRadius: 2}]},
    options: {scales: {x: axis("trials", {min: 0}), y: axis(unit, {beginAtZero: true})}}}));
}

function trialsUntil(size, part) {
  const last = size.convergence.at(-1);
  return last ? size.convergence.find(([, gflops]) => gflops >= part * last[1])[0] : null;
}

function showConvergenceTable() {
  table(find("convergence-table"), "Trials until a part of the best screened rate was reached",
        ["size", "trials", "until 90 %", "until 95 %", "until 99 %", "until the best", "best " + unit],
        report.sizes.map((size, index) => [names[index], size.trials, trialsUntil(size, 0.9), trialsUntil(size, 0.95),
                                           trialsUntil(size, 0.99), trialsUntil(size, 1),
                                           rate(size.convergence.at(-1)?.[1])]));
}

// Parameters.

const chosenTemplate = () => report.templates[find("parameters-template").value];

function showTemplate() {
  const template = chosenTemplate();
  const parameters = template.parameters;
  draw("importance-plot", `The importance of the ${parameters.length} parameters of ${template.name}`, () => ({
    type: "bar",
    data: {labels: parameters.map(parameter => parameter.name),
           datasets: [{label: "importance, %", data: parameters.map(parameter => 100 * parameter.importance),
                       backgroundColor: color("first")}]},
    options: {indexAxis: "y", scales: {x: axis("% of the variance", {beginAtZero: true})}}}));
  find("parameters-parameter").replaceChildren();
  fill(find("parameters-parameter"), parameters.map(parameter => parameter.name));
  showParameter();
  table(find("parameters-table"), `${template.name}: ${count(template.correct)} correct of ${count(template.trials)} trials`,
        ["parameter", "importance", "value", "trials", "correct", "best", "upper quartile", "median", "lower quartile"],
        parameters.flatMap(parameter => parameter.values.map(value =>
          [parameter.name, percent(parameter.importance), value.value, value.trials, value.correct,
           ...["best", "upper_quartile", "median", "lower_quartile"].map(key => value.correct ? percent(value[key]) : null)])));
}

function showParameter() {
  const parameter = chosenTemplate().parameters[find("parameters-parameter").value];
  if (!parameter) return;
  const line = (label, key, more) => ({label, data: parameter.values.map(value => value.correct ? 100 * value[key] : null), ...more});
  draw("marginal-plot", `Rates with each value of ${parameter.name}, in % of the best`, () => ({
    type: "line",
    data: {labels: parameter.values.map(value => String(value.value)), datasets: [
      line("best", "best", {borderColor: color("second"), backgroundColor: color("second")}),
      line("median", "median", {borderColor: color("first"), backgroundColor: color("first")}),
      line("upper quartile", "upper_quartile", {borderWidth: 0, pointRadius: 0, fill: "+1", backgroundColor: color("band")}),
      line("lower quartile", "lower_quartile", {borderWidth: 0, pointRadius: 0, backgroundColor: color("band")})]},
    options: {scales: {x: axis(parameter.name), y: axis("% of the best rate", {beginAtZero: true})}}}));
}

// Trials.

const columns = ["size", "trial", "status", "time us", unit, "template", "configuration", "detail"];
const sorted = {column: 3, direction: 1};
let trials = [];
let page = 0;

function readTrials({rows, details}) {
  trials = rows.flatMap((own, index) => own.map(([number, space, status, us, detail, ...values]) => {
    const {template, parameters} = report.spaces[space];
    return [names[index], number, report.statuses[status], us || null, rateOf(report.sizes[index], us), template,
            parameters.map((name, place) => `${name}=${values[place]}`).join(","), details[detail]];
  }));
}

function compare(a, b) {
  const [x, y] = [a[sorted.column], b[sorted.column]];
  if (x === null || y === null) return (x === null) - (y === null);  // what is not known comes last
  return sorted.direction * (typeof x === "number" ? x - y : x < y ? -1 : x > y ? 1 : 0);
}

function chosen(id) {
  const menu = find(id);
  return menu.value < 0 ? null : menu.selectedOptions[0].textContent;
}

function showTrials() {
  const [size, template, status] = ["filter-size", "filter-template", "filter-status"].map(chosen);
  const words = find("filter-text").value.split(/[\s,]+/).filter(word => word);
  const has = (configuration, word) => ("," + configuration + ",").includes(word.includes("=") ? "," + word + "," : word);
  const matching = trials.filter(row => (size === null || row[0] === size) && (template === null || row[5] === template) &&
    (status === null || row[2] === status) && words.every(word => has(row[6], word))).sort(compare);
  page = Math.max(0, Math.min(page, Math.ceil(matching.length / rowsPerPage) - 1));
  const from = page * rowsPerPage;
  const shown = matching.slice(from, from + rowsPerPage);
  find("matches").textContent = matching.length === 0 ? "No trial of the table matches." :
    `Rows ${count(from + 1)} to ${count(from + shown.length)} of ${count(matching.length)} that match.`;
  find("previous").disabled = page === 0;
  find("next").disabled = from + shown.length >= matching.length;
  table(find("trials-table"), "Trials", columns, shown, column => {
    sorted.direction = sorted.column === column ? -sorted.direction : 1;
    sorted.column = column;
    page = 0;
    showTrials();
    find("trials-table").querySelectorAll("th button")[column].focus();
  }, sorted);
}

function setUpTrials() {
  const stored = JSON.parse(find("rows").textContent);
  readTrials(stored);
  const left = report.sizes.map((size, index) => size.trials - stored.rows[index].length);
  const parts = left.flatMap((number, index) => number > 0 ? [`${count(number)} of ${names[index]}`] : []);
  const all = left.reduce((sum, number) => sum + number, 0);
  find("left-out").textContent = all === 0 ? `The table has all ${count(report.trials)} trials.` :
    `The table has ${count(report.trials - all)} of ${count(report.trials)} trials: the fastest of each size and an even sample of the others. ` +
    `Left out are ${count(all)}` + (parts.length > 20 ? ` of ${parts.length} sizes.` : `: ${parts.join(", ")}.`) +
    " The plots are from all trials.";
  fill(find("filter-size"), names, "all");
  fill(find("filter-template"), [...new Set(report.spaces.map(space => space.template))], "all");
  fill(find("filter-status"), [...new Set(trials.map(row => row[2]))].sort(), "all");
  const again = () => { page = 0; showTrials(); };
  find("filters").addEventListener("input", again);
  find("filters").addEventListener("reset", () => setTimeout(again));
  find("filters").addEventListener("submit", event => event.preventDefault());
  find("previous").onclick = () => { --page; showTrials(); };
  find("next").onclick = () => { ++page; showTrials(); };
  showTrials();
}

// Failures and machine.

function showFailures() {
  const byStatus = new Map();
  for (const {status, count} of report.failures) byStatus.set(status, (byStatus.get(status) ?? 0) + count);
  find("failures-plot").parentElement.hidden = byStatus.size === 0;
  if (byStatus.size > 0) {
    draw("failures-plot", "The number of failed trials by reason; the table below has them", () => ({
      type: "bar",
      data: {labels: [...byStatus.keys()],
             datasets: [{label: "trials", data: [...byStatus.values()], backgroundColor: color("second")}]},
      options: {indexAxis: "y", scales: {x: axis("trials", {beginAtZero: true})}}}));
  }
  const failed = report.failures.reduce((sum, failure) => sum + failure.count, 0);
  table(find("failures-table"), `${count(failed)} of ${count(report.trials)} trials failed`,
        ["reason", "template", "trials", "an example"],
        report.failures.map(failure => [failure.status, failure.template, failure.count, failure.example]));
}

function showMachine() {
  table(find("devices-table"), "Devices, with the environment of the newest trials",
        ["device", "class", "driver", "compiler", "measuring protocol", "multiply-add GFLOP/s", "copying GB/s"],
        report.devices.map(device => [device.label, device.class, device.driver, device.compiler, device.protocol,
                                      device.fma_gflops, device.copy_gbps]));
  const left = report.all_runs - report.runs.length;
  table(find("runs-table"), `Runs of autotune${left > 0 ? `; the ${count(left)} first are left out` : ""}`,
        ["started", "device", "unit", "trials", "command"],
        report.runs.map(run => [run.started_at, run.device, run.uuid, run.trials, run.command]));
}

// The first plot is drawn before the browser has read #rows, and before anything else is worked out.
find("summary").textContent = `${report.devices.map(device => device.label).join(", ")}: ${count(report.trials)} trials of ` +
  `${count(report.sizes.length)} size${report.sizes.length === 1 ? "" : "s"}, from ${report.database} by autotune ${report.version}.`;
document.title = `autotune report: ${report.devices.map(device => device.label).join(", ")}`;
showRates();
document.documentElement.dataset.firstPlotMs = performance.now();
fill(find("convergence-size"), names);
find("convergence-size").onchange = showConvergence;
fill(find("parameters-template"), report.templates.map(template => template.name));
find("parameters-template").onchange = showTemplate;
find("parameters-parameter").onchange = showParameter;
const later = [showRatesTable, showRoofline, showConvergence, showConvergenceTable, showTemplate, setUpTrials,
               showFailures, showMachine, () => { document.documentElement.dataset.done = "yes"; }];
document.addEventListener("DOMContentLoaded", function goOn() {
  later.shift()();
  if (later.length > 0) setTimeout(goOn);
});
