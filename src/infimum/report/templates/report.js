"use strict";
// Values of marks beside the pointer, and with the arrow keys for the keyboard and screen readers.
const tip = document.getElementById("tip"), say = document.getElementById("say");
const words = new WeakMap();
let shown = null, byKey = false; // what the keyboard chose stays when the page scrolls to it
for (const title of document.querySelectorAll("svg title")) {
  const owner = title.parentNode;
  if (owner.classList.contains("mark")) words.set(owner, title.textContent);
  else owner.setAttribute("aria-label", title.textContent), owner.removeAttribute("aria-labelledby");
  title.remove(); // the browser would show it too
}
function hide() {
  if (shown) shown.classList.remove("on");
  shown = null;
  tip.hidden = true;
}
function show(mark) {
  hide();
  shown = mark;
  mark.classList.add("on");
  tip.textContent = words.get(mark);
  tip.hidden = false;
  const box = mark.getBoundingClientRect(), width = document.documentElement.clientWidth;
  const left = Math.min(Math.max(4, box.x + box.width / 2 - tip.offsetWidth / 2), width - tip.offsetWidth - 4);
  const above = box.y - tip.offsetHeight - 8;
  tip.style.left = left + scrollX + "px";
  tip.style.top = (above > 0 ? above : box.bottom + 8) + scrollY + "px";
}
const markOf = (event) => (event.target.closest ? event.target.closest(".mark") : null);
document.addEventListener("pointerover", (event) => {
  byKey = false;
  if (markOf(event)) show(markOf(event));
  else hide();
});
document.addEventListener("scroll", () => byKey || hide(), { passive: true });
for (const svg of document.querySelectorAll("svg.chart")) {
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") hide();
    if (!step) return;
    event.preventDefault();
    const marks = [...svg.querySelectorAll(".mark")].filter((m) => m.getClientRects().length);
    if (!marks.length) return;
    const at = marks.indexOf(shown);
    byKey = true;
    show(marks[at < 0 ? (step > 0 ? 0 : marks.length - 1) : (at + step + marks.length) % marks.length]);
    say.textContent = tip.textContent;
  });
}
