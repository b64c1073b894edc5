"use strict";
// The questions' table. Every text goes in through textContent: nothing of an answer is ever read as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const questions = data.questions;
const STEP = 50; // rows put into the page at once
const COLOURS = {
  broken: "worse", to_error: "worse", fixed: "better", from_error: "better", flaky: "even", still_error: "worse",
  still_wrong: "plain", still_right: "plain", right: "better", wrong: "worse", error: "worse",
};

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const words = (text) => text.replaceAll("_", " ");
const kindMark = (kind) => make("span", { class: `mark ${COLOURS[kind]}` }, words(kind));
const order = new Map(data.kinds.map((kind, place) => [kind, place]));
questions.forEach((question, place) => { question.place = place; });

// What the search looks at, made once, in pieces, while nothing else is to be done.
let prepared = 0;
function haystack(question) {
  if (question.haystack === undefined) {
    const said = question.sides.flat().flatMap(([outcome, answer, reason, error]) => [words(outcome), answer, reason, error]);
    question.haystack = [question.id, question.question, ...question.golden, ...said].filter(Boolean).join("\n").toLowerCase();
  }
  return question.haystack;
}
function prepare() {
  const end = Math.min(prepared + 250, questions.length);
  while (prepared < end) haystack(questions[prepared++]);
  if (prepared < questions.length) setTimeout(prepare);
}

const state = { words: [], kinds: new Set(), meta: new Map(), outcomes: new Map(), order: "changes" };
let found = questions;
let drawn = 0;

const duration = (question) => Math.max(0, ...question.sides.at(-1).map((one) => one[4] ?? 0));
const ORDERS = {
  changes: ["What changed first", (a, b) => order.get(a.kind) - order.get(b.kind) || a.place - b.place],
  dataset: ["As in the dataset", (a, b) => a.place - b.place],
  slowest: ["Slowest first", (a, b) => duration(b) - duration(a) || a.place - b.place],
};

function matches(question) {
  if (state.kinds.size && !state.kinds.has(question.kind)) return false;
  for (const [field, value] of state.meta) if (question.meta[field] !== value) return false;
  for (const [side, outcome] of state.outcomes) if (!question.sides[side].some((one) => one[0] === outcome)) return false;
  return state.words.every((word) => haystack(question).includes(word));
}

const list = document.getElementById("list");
const count = document.getElementById("count");
const body = make("tbody");
const more = make("button", { type: "button", class: "more", onclick: () => draw() });
const heads = [["col-kind", ""], ["col-id", "id"], ["", "question"], ...data.sides.map((side) => ["", `${side} said`])];
const table = make("table", {},
  make("caption", { class: "unseen" }, "Questions"),
  make("thead", {}, make("tr", {}, ...heads.map(([kind, text]) => make("th", { scope: "col", class: kind }, text)))),
  body);

// The repetition worth showing: the first that is not correct.
const telling = (side) => side.find((one) => one[0] !== "correct") ?? side[0];
function said(side) {
  const [outcome, answer, , error] = telling(side);
  return answer === null ? make("div", { class: "cut failed", dir: "auto" }, error ?? words(outcome))
    : make("div", { class: "cut", dir: "auto" }, answer.slice(0, 300) || "(empty)");
}

function row(question) {
  return make("tr", { tabindex: -1, "data-place": question.place },
    make("td", {}, kindMark(question.kind)),
    make("td", {}, make("div", { class: "cut" }, question.id)),
    make("td", {}, make("div", { class: "cut", dir: "auto" }, question.question.slice(0, 300))),
    ...question.sides.map((side) => make("td", {}, said(side))));
}

function draw() {
  const until = Math.min(drawn + STEP, found.length);
  body.append(...found.slice(drawn, until).map(row));
  drawn = until;
  more.hidden = drawn === found.length;
  more.textContent = `Show ${Math.min(STEP, found.length - drawn)} more of ${found.length - drawn}`;
}

function update() {
  found = questions.filter(matches).sort(ORDERS[state.order][1]);
  body.replaceChildren();
  drawn = 0;
  draw();
  list.scrollTop = 0;
  if (body.firstChild) body.firstChild.tabIndex = 0;
  count.textContent = found.length === questions.length ? `${questions.length} questions`
    : `${found.length} of ${questions.length} questions`;
}

function choose(rowElement) {
  if (!rowElement) return;
  for (const other of body.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
  rowElement.tabIndex = 0;
  rowElement.focus();
}

// One question, both answers side by side.
const dialog = document.getElementById("detail");
let open = 0;

function half(title, [outcome, answer, reason, error, milliseconds]) {
  const time = milliseconds === null ? null : make("span", { class: "quiet" }, ` ${milliseconds.toLocaleString("en")} ms`);
  return make("div", { class: "half" },
    make("h3", {}, `${title}: `, make("b", {}, words(outcome)), time),
    make("p", { class: "text", dir: "auto", tabindex: 0 }, answer === null ? "(no answer)" : answer || "(empty)"),
    reason ? make("h3", {}, "Judge's reason") : null,
    reason ? make("p", { class: "text", dir: "auto" }, reason) : null,
    error ? make("h3", {}, "Error") : null,
    error ? make("p", { class: "text failed", dir: "auto" }, error) : null);
}

function show(place) {
  open = Math.max(0, Math.min(place, found.length - 1));
  const question = found[open];
  const repetitions = question.sides[0].map((_, number) => make("div", { class: "pair" },
    ...question.sides.map((side, place) => half(
      data.sides[place] + (side.length > 1 ? `, repetition ${number + 1}` : ""), side[number]))));
  const meta = Object.entries(question.meta).filter(([, value]) => value !== null).map(([name, value]) => `${name}: ${value}`);
  dialog.replaceChildren(
    make("div", { class: "bar-top" },
      kindMark(question.kind),
      make("h2", {}, question.id, make("span", { class: "quiet" }, ` ${open + 1} of ${found.length}`)),
      make("button", { type: "button", onclick: () => show(open - 1), "aria-label": "Previous question" }, "←"),
      make("button", { type: "button", onclick: () => show(open + 1), "aria-label": "Next question" }, "→"),
      make("button", { type: "button", onclick: () => dialog.close() }, "Close")),
    make("div", { class: "inside" },
      make("h3", {}, "Question"), make("p", { class: "text", dir: "auto" }, question.question),
      make("h3", {}, question.golden.length > 1 ? "Golden, any of" : "Golden"),
      ...question.golden.map((golden) => make("p", { class: "text", dir: "auto" }, golden)),
      meta.length ? make("p", { class: "quiet" }, meta.join(", ")) : null,
      ...repetitions));
  dialog.scrollTop = 0;
  if (!dialog.open) dialog.showModal();
}

dialog.addEventListener("close", () => {
  while (drawn <= open && drawn < found.length) draw();
  choose(body.children[open]);
});
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
dialog.addEventListener("keydown", (event) => {
  if (event.key === "ArrowRight") show(open + 1);
  else if (event.key === "ArrowLeft") show(open - 1);
});

body.addEventListener("click", (event) => {
  const chosen = event.target.closest("tr");
  if (chosen && !String(getSelection())) show([...body.children].indexOf(chosen));
});
body.addEventListener("keydown", (event) => {
  const chosen = event.target.closest("tr");
  if (!chosen) return;
  const steps = { ArrowDown: chosen.nextElementSibling, ArrowUp: chosen.previousElementSibling };
  if (event.key === "Enter") show([...body.children].indexOf(chosen));
  else if (event.key in steps) {
    if (event.key === "ArrowDown" && !steps.ArrowDown) draw();
    choose(event.key === "ArrowDown" ? chosen.nextElementSibling : steps.ArrowUp);
  } else return;
  event.preventDefault();
});

// Filters.
const search = make("input", {
  type: "search", placeholder: "Search questions, answers, reasons", "aria-label": "Search questions, answers, reasons",
  oninput: () => { state.words = search.value.toLowerCase().split(/\s+/).filter(Boolean); update(); },
});
const sums = new Map();
for (const question of questions) sums.set(question.kind, (sums.get(question.kind) ?? 0) + 1);
const chips = data.kinds.filter((kind) => sums.has(kind)).map((kind) => make("button", {
  type: "button", "aria-pressed": "false",
  onclick: (event) => {
    const pressed = !state.kinds.delete(kind);
    if (pressed) state.kinds.add(kind);
    event.currentTarget.setAttribute("aria-pressed", String(pressed));
    update();
  },
}, `${words(kind)} ${sums.get(kind)}`));
function choice(label, values, chosen, shown = (value) => value) {
  return make("select", { "aria-label": label, onchange: (event) => {
    const place = event.target.selectedIndex;
    if (place) chosen.set(event.target.dataset.key, values[place - 1]); else chosen.delete(event.target.dataset.key);
    update();
  } }, make("option", {}, `${label}: all`), ...values.map((value) => make("option", {}, `${label}: ${shown(value)}`)));
}
const distinct = (values) => [...new Set(values)].filter((value) => value !== null && value !== undefined).sort();
const selects = data.fields.map((field) => {
  const select = choice(field, distinct(questions.map((question) => question.meta[field])), state.meta);
  select.dataset.key = field;
  return select;
});
const outcomes = data.sides.map((side, place) => {
  const values = distinct(questions.flatMap((question) => question.sides[place].map((one) => one[0])));
  const select = choice(side, values, state.outcomes, words);
  select.dataset.key = place;
  return select;
});
const sort = make("select", {
  "aria-label": "Order", onchange: () => { state.order = Object.keys(ORDERS)[sort.selectedIndex]; update(); },
}, ...Object.values(ORDERS).map(([title]) => make("option", {}, title)));

document.getElementById("filters").append(search, ...outcomes, ...selects, sort, make("div", { class: "chips", role: "group", "aria-label": "Kinds" }, ...chips));
list.append(table, more);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !dialog.open && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
    event.preventDefault();
    search.focus();
  }
});
search.addEventListener("keydown", (event) => {
  if (event.key !== "ArrowDown" || !body.firstChild) return;
  event.preventDefault();
  choose(body.firstChild);
});
update();
setTimeout(prepare, 50);
