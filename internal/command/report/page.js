"use strict";
(() => {
  const search = document.getElementById("search");
  const input = search.querySelector("input");
  const output = search.querySelector("output");
  const rows = [...document.querySelectorAll("[data-row]")].map(row => [row, row.textContent.toLowerCase()]);
  const nodes = [...document.querySelectorAll("svg g")].map(node => [node, node.textContent.toLowerCase()]);
  const folds = [...document.querySelectorAll("details")].map(fold => [fold, fold.open]);
  search.hidden = false;

  const find = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = text => words.every(word => text.includes(word));
    let found = 0;
    for (const [row, text] of rows) {
      row.hidden = !has(text);
      if (!row.hidden) found++;
    }
    let first = null;
    for (const [node, text] of nodes) {
      const hit = words.length > 0 && has(text);
      node.classList.toggle("hit", hit);
      if (hit) { found++; first = first || node; }
    }
    for (const [fold, open] of folds) {
      if (words.length === 0) {
        fold.open = open;
        fold.hidden = fold.hidden && !fold.matches(".table");
      } else if (fold.matches(".table")) {
        const some = fold.querySelector("tbody tr:not([hidden])") !== null;
        fold.hidden = !some;
        fold.open = some;
      } else if (fold.matches(".issue")) {
        fold.open = true;
      }
    }
    if (first) {
      const frame = first.closest(".picture"), at = first.getBoundingClientRect(), box = frame.getBoundingClientRect();
      frame.scrollBy(at.left - box.left - box.width / 2 + at.width / 2, at.top - box.top - box.height / 2 + at.height / 2);
    }
    output.textContent = words.length ? found + " found" : "";
  };
  input.addEventListener("input", find);
  if (location.hash.startsWith("#q=")) {
    input.value = decodeURIComponent(location.hash.slice(3));
    find();
  }
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = folds.map(([fold]) => fold).filter(fold => !fold.open && fold.matches(".issue"));
    for (const fold of unfolded) fold.open = true;
  });
  addEventListener("afterprint", () => { for (const fold of unfolded) fold.open = false; });
})();
