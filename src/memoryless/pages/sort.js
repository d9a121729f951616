// Headings of sortable tables become buttons; without this script the tables are whole as they are.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const value = (row, i) => row.cells[i].textContent.trim();
  const compare = (a, b) => a - b || a.localeCompare(b, undefined, { numeric: true });
  const sort = (i) => {
    const down = heads[i].getAttribute("aria-sort") === "ascending";
    const rows = [...body.rows].sort((p, q) => (down ? -1 : 1) * compare(value(p, i), value(q, i)));
    heads.forEach((head, j) => j === i ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort"));
    body.append(...rows);
  };
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => sort(i));
    head.replaceChildren(button);
  });
  heads.at(-1).setAttribute("aria-sort", "ascending");
}
