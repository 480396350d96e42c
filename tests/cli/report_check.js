// Put at the end of a report's page by report_test.cpp: uses the page as its reader would, and leaves
// what it saw in #seen, for the test to compare.
"use strict";
(function wait() {
  if (document.documentElement.dataset.done !== "yes") { setTimeout(wait, 10); return; }
  const cells = id => [...document.querySelectorAll(`#${id} tbody tr`)].map(row => [...row.cells].map(cell => cell.textContent));
  const text = id => document.getElementById(id).textContent;
  const set = (id, value) => {
    const control = document.getElementById(id);
    control.value = value;
    control.dispatchEvent(new Event("input", {bubbles: true}));
    control.dispatchEvent(new Event("change", {bubbles: true}));
  };
  const column = index => document.querySelectorAll("#trials-table th button")[index];
  const drawn = canvas => {
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    return pixels.some(value => value !== 0);
  };
  const seen = {
    errors: window.errors,
    plots: [...document.querySelectorAll("canvas")].map(canvas => [canvas.id, drawn(canvas), canvas.getAttribute("role"),
                                                                   canvas.getAttribute("aria-label") !== ""]),
    rates: cells("rates-table"), convergence: cells("convergence-table"), parameters: cells("parameters-table"),
    failures: cells("failures-table"), devices: cells("devices-table"), runs: cells("runs-table"),
    bars: Chart.getChart("rates-plot").data.datasets.map(dataset => [dataset.label, [...dataset.data]]),
    leftOut: text("left-out"), fastest: cells("trials-table"), matches: text("matches")};
  column(3).click();  // slowest first
  seen.slowest = cells("trials-table");
  seen.order = document.querySelectorAll("#trials-table th")[3].ariaSort;
  seen.focus = document.activeElement.textContent;
  set("filter-text", "NUMBER=7");
  seen.seven = cells("trials-table");
  set("filter-text", "");
  set("filter-status", 1);
  seen.filtered = [text("matches"), cells("trials-table").map(row => row[2])];
  document.getElementById("next").click();
  document.getElementById("previous").click();
  set("convergence-size", 1);
  seen.curve = Chart.getChart("convergence-plot").data.datasets[0].data;
  seen.hacked = window.hacked === true || document.querySelector("img, b") !== null;
  const place = document.createElement("pre");
  place.id = "seen";
  place.textContent = encodeURIComponent(JSON.stringify(seen));
  document.body.append(place);
})();
