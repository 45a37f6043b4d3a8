"use strict";
// The browser of a report. Every text is put in as text: nothing here makes markup of data.
(() => {
  const byId = (id) => document.getElementById(id);
  const index = JSON.parse(byId("report-index").textContent);
  const parsed = new Map();
  const LISTED = 8;
  const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/u;

  const conversation = (place) => {
    if (!parsed.has(place)) parsed.set(place, JSON.parse(byId(`conversation-${place}`).textContent));
    return parsed.get(place);
  };

  const el = (name, options, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(options || {})) {
      if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    for (const child of children.flat()) {
      if (child !== null && child !== undefined) made.append(child);
    }
    return made;
  };

  // A text with the signs that nobody would see written out.
  const shown = (text) => {
    const made = document.createDocumentFragment();
    let plain = "";
    for (const sign of String(text)) {
      if (!HIDDEN.test(sign)) { plain += sign; continue; }
      made.append(plain, el("span", { class: "hidden-sign" }, `U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`));
      plain = "";
    }
    made.append(plain);
    return made;
  };

  const data = (text) => el("bdi", { dir: "auto" }, shown(text));

  // A text with ranges of code points struck through.
  const struck = (text, ranges) => {
    const signs = Array.from(text);
    const made = el("bdi", { dir: "auto" });
    let from = 0;
    for (const [start, end] of ranges || []) {
      made.append(shown(signs.slice(from, start).join("")), el("mark", { class: "lost" }, shown(signs.slice(start, end).join(""))));
      from = end;
    }
    made.append(shown(signs.slice(from).join("")));
    return made;
  };

  const cellsOf = (question) => index.cells.map((cell, place) => [cell, question.cells[place], place]).filter((one) => one[1]);
  const lossName = (name) => index.lossNames[name] || name;
  const outcome = (right) => {
    const [css, said] = right === true ? ["right", "right"] : right === false ? ["wrong", "wrong"] : ["unscored", "not scored"];
    return el("span", { class: css }, said);
  };
  const count = (number, one, many) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

  const unitRow = (held, unit, tag, isGold) => el(
    "div", { class: isGold ? "unit gold" : "unit" },
    el("span", { class: "tag" }, tag), el("br"), data(held.units.text[unit]),
  );

  const table = (caption, headers, rows) => el(
    "div", { class: "wide", tabindex: "0", role: "group", "aria-label": `${caption} (scrolls sideways)` },
    el("table", null, el("caption", null, caption),
      el("thead", null, el("tr", null, headers.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", null, rows.map((row) => el("tr", null, row.map((value, place) => el(place ? "td" : "th", place ? null : { scope: "row" }, value)))))),
  );

  const verdict = (one, question) => {
    const said = one.correct === true ? "correct" : one.correct === false ? "wrong" : `no verdict (${one.reason || "no reason on record"})`;
    const repeat = one.repeat ? ` (repeat ${one.repeat})` : "";
    const loss = one.loss ? `, ${lossName(one.loss)}` : "";
    const disputed = one.disputed ? ", disputed" : "";
    return el("li", null, `${one.judge}${repeat}, labels ${one.label_set || question.label_set}: `,
      el("span", { class: one.correct === true ? "right" : one.correct === false ? "wrong" : "unscored" }, said), loss + disputed,
      one.reply ? [" ", data(one.reply)] : null);
  };

  const answerOf = (one, question, card) => [
    el("h4", null, `Answer at ${one.cutoff_kind === undefined ? card.at : one.cutoff_kind === "k" ? `first ${one.cutoff} units` : `${one.cutoff.toLocaleString("en")} ${one.cutoff_kind}`}${one.repeat ? `, repeat ${one.repeat}` : ""}`),
    one.text ? el("blockquote", null, data(one.text)) : el("p", { class: "empty" }, `No answer: ${one.reason || "it is empty"}`),
    one.abstained ? el("p", null, "It says that there is no answer to be found.") : null,
    one.verdicts ? el("ul", null, one.verdicts.map((held) => verdict(held, question))) : null,
  ];

  const contextOf = (held, cell, gold, card) => {
    const rankOf = (unit, place) => `rank ${place + 1}, ${index.representations[held.units.representation[unit]]}`;
    const body = cell.lines
      ? el("blockquote", null, data(cell.lines.map((line) => held.lines[line]).join("\n")))
      : cell.text_gone
        ? el("p", { class: "empty" }, "The text of this context was not kept, and its plan shows more or less than whole units.")
        : (cell.units || []).length
          ? el("div", null, cell.units.map((unit, place) => unitRow(held, unit, `${rankOf(unit, place)}${gold.has(unit) ? ", touches a gold turn" : ""}`, gold.has(unit))))
          : el("p", { class: "empty" }, "The context is empty.");
    const swapped = card.swapped ? " (of another question: this plan swaps contexts)" : "";
    return el("details", null, el("summary", null, `Context: ${count(cell.tokens, "token", "tokens")}${cell.units ? `, ${count(cell.units.length, "unit", "units")}` : ""}${swapped}`), body);
  };

  const scoresOf = (cell) => cell.scores && el("details", null, el("summary", null, "Scores"), table("Scores",
    ["metric", "value"], index.metrics.map((name, place) => [name, cell.scores[place]]).filter((row) => row[1] !== null)
      .map(([name, value]) => [name, typeof value === "number" ? String(value) : `not scored: ${value}`])));

  const cellPart = (held, question, [card, cell], gold) => {
    const ranks = (cell.ranks || []).map(([unit, rank]) => [unit, rank, (cell.units || []).includes(unit)]);
    const found = ranks.length
      ? ranks.map(([unit, rank, inContext]) => `rank ${rank} ${inContext ? "in" : "not in"} the context`).join("; ")
      : gold.size ? "none of the units that touch a gold turn is among the ranks that were kept" : "there is no gold turn to look for";
    return el("details", { class: "cell" },
      el("summary", null, `${card.cell}: `, outcome(cell.right), card.control ? ` (${card.control})` : ""),
      el("p", null, `Gold: ${found}.`),
      cell.answer_lost ? el("p", null, "Words of the gold answer that are not in the context: ", struck(question.answer || "", cell.answer_lost)) : null,
      (cell.answers || []).flatMap((one) => answerOf(one, question, card)), contextOf(held, cell, gold, card), scoresOf(cell));
  };

  const storedPart = (held, turn, question) => Object.entries(turn.stored).map(([place, stored]) => {
    const units = stored.units || [], lost = stored.lost || [];
    const said = !units.length ? "no unit touches this turn" : lost.length ? `${count(lost.length, "word is", "words are")} lost` : "every word is kept";
    const rank = (unit) => cellsOf(question).map(([card, cell]) => {
      const held_at = (cell.ranks || []).find((pair) => pair[0] === unit);
      return card.representations.includes(index.representations[place]) && held_at ? `${card.cell}: rank ${held_at[1]}` : null;
    }).filter(Boolean).join(", ") || "in no ranking that was kept";
    return el("details", { open: lost.length > 0 && units.length > 0 }, el("summary", null, `${index.representations[place]}: ${said}`),
      units.length ? el("blockquote", null, struck(turn.text, lost)) : null,
      units.map((unit) => unitRow(held, unit, `stored, ${rank(unit)}`, true)));
  });

  const goldOf = (held, question) => new Set(question.turns.flatMap((turn) => Object.values(held.turns[turn].stored).flatMap((stored) => stored.units || [])));

  const overview = (question) => table("Cell by cell", ["cell", "outcome", "lost", "best gold rank", "gold in the context", "tokens", "answer"],
    cellsOf(question).map(([card, cell]) => {
      const ranks = cell.ranks || [];
      const inside = ranks.filter(([unit]) => (cell.units || []).includes(unit)).length;
      const first = (cell.answers || [])[0];
      const losses = new Set((cell.answers || []).flatMap((one) => one.verdicts || []).filter((one) => one.loss).map((one) => `${lossName(one.loss)} (${one.judge})`));
      return [card.cell, outcome(cell.right), [...losses].join("; "), ranks.length ? String(ranks[0][1]) : "none kept", cell.units ? String(inside) : "not known",
        cell.tokens.toLocaleString("en"), first ? data(first.text || `none: ${first.reason || "it is empty"}`) : "none asked for"];
    }));

  const show = (row) => {
    const held = conversation(row[0]);
    const question = held.questions[row[1]];
    const gold = goldOf(held, question);
    const facts = [["answer", question.answer ? data(question.answer) : "none: the benchmark has none"],
      question.also_accepted && ["also accepted", question.also_accepted.flatMap((text, place) => [place ? "; " : "", data(text)])],
      question.options && ["options", question.options.flatMap((text, place) => [place ? "; " : "", data(text)])],
      ["category", data(question.category)], question.asked_at && ["asked", question.asked_at],
      !question.answerable && ["answerable", "no: the right answer is that there is none"],
      ["question", data(`${held.corpus}, ${question.question_id}, labels ${question.label_set}`)]].filter(Boolean);
    byId("b-question").replaceChildren(...[
      el("h3", null, data(question.text)),
      el("dl", { class: "card" }, facts.flatMap(([name, value]) => [el("dt", null, name), el("dd", null, value)])),
      overview(question),
      el("h3", null, "Gold turns, and what was stored of them"),
      question.turns.length ? null : el("p", { class: "empty" }, "No evidence of this question names a turn, so there is nothing to look for."),
      ...question.turns.flatMap((place) => {
        const turn = held.turns[place];
        return [el("h4", null, data(turn.speaker), turn.date ? [", ", data(turn.date)] : null, ", turn ", data(turn.turn_id)),
          el("blockquote", null, data(turn.text)), ...storedPart(held, turn, question)];
      }),
      el("h3", null, "What each cell found, showed and answered"),
      ...cellsOf(question).map((one) => cellPart(held, question, one, gold)),
    ].filter(Boolean));
  };

  const fragment = (row) => `#q=${encodeURIComponent(`${index.conversations[row[0]][0]}/${row[2]}`)}`;
  const value = (id) => (byId(id) ? byId(id).value : "");
  let matches = index.questions;
  let current = null;

  const filter = () => {
    const words = value("b-search").toLowerCase().split(/\s+/).filter(Boolean);
    const [corpus, category, right, wrong, loss] = ["b-corpus", "b-category", "b-right", "b-wrong", "b-loss"].map(value);
    const lossPlace = index.losses.indexOf(loss);
    matches = index.questions.filter((row) => {
      if (corpus && index.conversations[row[0]][0] !== corpus) return false;
      if (category && row[3] !== category) return false;
      if (right && row[5][right] !== "1") return false;
      if (wrong && row[5][wrong] !== "0") return false;
      if (loss && !(wrong ? (row[6][wrong] || []).includes(lossPlace) : row[6].some((held) => held.includes(lossPlace)))) return false;
      if (!words.length) return true;
      const text = `${row[4]} ${row[2]}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  };

  const list = () => {
    const place = Math.max(matches.indexOf(current), 0);
    const start = Math.floor(place / LISTED) * LISTED;
    const legend = "a sign a cell: 1 right, 0 wrong, - not scored";
    byId("b-list").replaceChildren(...matches.slice(start, start + LISTED).map((row) => el("li", null,
      el("a", { href: fragment(row), "aria-current": row === current ? "true" : null }, data(row[4]), el("span", { class: "signs", title: legend }, row[5].trim())))));
    byId("b-count").textContent = matches.length
      ? `${matches.includes(current) ? `${place + 1} of ` : ""}${count(matches.length, "question", "questions")}`
      : "No question matches";
    byId("b-previous").disabled = !matches.length || (matches.includes(current) && place === 0);
    byId("b-next").disabled = !matches.length || (matches.includes(current) && place === matches.length - 1);
  };

  const open = (row, chosen) => {
    current = row;
    if (chosen) document.body.setAttribute("data-chosen", "");
    show(row);
    list();
  };

  const step = (by) => {
    const place = matches.indexOf(current);
    const next = matches[place < 0 ? 0 : place + by];
    if (next) location.hash = fragment(next);
  };

  const fromFragment = () => {
    if (!location.hash.startsWith("#q=")) return false;
    let wanted = "";
    try { wanted = decodeURIComponent(location.hash.slice(3)); } catch { return false; }
    const row = index.questions.find((one) => `${index.conversations[one[0]][0]}/${one[2]}` === wanted);
    if (!row) {
      byId("b-question").replaceChildren(el("p", { class: "empty" }, "This report holds no such question: ", data(wanted)));
      return true;
    }
    open(row, true);
    return true;
  };

  byId("b-form").addEventListener("submit", (event) => event.preventDefault());
  for (const kind of ["input", "change"]) byId("b-form").addEventListener(kind, () => { filter(); list(); });
  byId("b-previous").addEventListener("click", () => step(-1));
  byId("b-next").addEventListener("click", () => step(1));
  window.addEventListener("hashchange", () => { if (fromFragment()) byId("b-question").scrollIntoView(); });
  window.addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("#run, .lead details")) one.open = true; });
  const differs = (row) => row[5].includes("1") && row[5].includes("0");
  if (!index.questions.length) byId("b-question").replaceChildren(el("p", { class: "empty" }, "There is no question to show."));
  else if (!fromFragment()) open(index.questions.find(differs) || index.questions[0], false);
  else { list(); byId("b-question").scrollIntoView(); }
})();
