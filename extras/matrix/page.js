"use strict";
{
  const table = document.getElementById("matrix");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const fields = ["server", "dialect", "layer"].map((id) => document.getElementById(id));
  const newest = document.getElementById("newest");

  const filter = () => {
    const [server, dialect, layer] = fields.map((field) => field.value);
    const columns = heads.map((head) => head.dataset.column);
    for (const head of heads.slice(1)) head.hidden = dialect !== "" && head.dataset.column !== dialect;
    let shown = 0;
    for (const row of rows) {
      let fits = false;
      [...row.cells].slice(1).forEach((cell, index) => {
        cell.hidden = dialect !== "" && columns[index + 1] !== dialect;
        const is = layer === "" || cell.dataset.layer === layer;
        cell.classList.toggle("faded", !is);
        fits ||= is && !cell.hidden;
      });
      row.hidden = !fits || (server !== "" && row.dataset.server !== server) || (newest.checked && row.dataset.newest !== "1");
      shown += row.hidden ? 0 : 1;
    }
    for (const group of document.querySelectorAll("#changes tbody")) {
      group.hidden = server !== "" && group.dataset.server !== server;
    }
    document.getElementById("count").textContent = `${shown} of ${rows.length} rows`;
  };

  // The first column sorts into the order of the file, by server and version; a dialect's column by the result.
  const sort = (index) => {
    const falling = heads[index].getAttribute("aria-sort") === "ascending";
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[index].setAttribute("aria-sort", falling ? "descending" : "ascending");
    const rank = (row) => (index === 0 ? 0 : Number(row.cells[index].dataset.rank));
    const sorted = [...rows].sort((one, other) => rank(one) - rank(other) || rows.indexOf(one) - rows.indexOf(other));
    body.append(...(falling ? sorted.reverse() : sorted));
  };

  heads.forEach((head, index) => head.querySelector("button").addEventListener("click", () => sort(index)));
  for (const field of [...fields, newest]) field.addEventListener("change", filter);
  document.getElementById("filter").addEventListener("submit", (event) => event.preventDefault());
  // Shows the place that the address names: a cell with its evidence, also if a filter hid it, or what a client sends.
  const show = () => {
    const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!place) return;
    if (body.contains(place) && (place.hidden || place.parentElement.hidden)) {
      for (const field of fields) field.value = "";
      newest.checked = false;
      filter();
    }
    const details = place.matches("details") ? place : place.querySelector("details");
    if (details) details.open = true;
    place.scrollIntoView({ block: "nearest", inline: "start" });
  };

  window.addEventListener("hashchange", show);
  document.getElementById("filter").hidden = false;
  heads[0].setAttribute("aria-sort", "ascending");
  filter();
  show();
}
