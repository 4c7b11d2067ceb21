// Returns what is wrong in the explanation: a figure, title, sentence or number of another film than the one in view.
// facts: by language and recording, what each fact of the recording reads.
(facts) => {
  const faults = [];
  const language = document.documentElement.lang;
  const table = facts[language];
  const line = document.querySelector(".grip-of-line").getAttribute("aria-valuenow");
  const choice = document.querySelector(".choices-of-cost [aria-pressed=true]").dataset.choice;
  const wanted = { line: facts.stops[Number(line)], cost: facts.choices[choice] };
  for (const part of document.querySelectorAll(".part:not(.of-yours)")) {
    const figure = part.querySelector(".film");
    const film = wanted[part.id] ?? facts.choices.none;
    if (part.dataset.film !== film) faults.push(`${part.id}: the text is of ${part.dataset.film}, not of ${film}`);
    if (figure.dataset.film !== film) faults.push(`${part.id}: the figure is of ${figure.dataset.film}, not of ${film}`);
    if (part.querySelector("h1, h2").textContent !== facts.titles[language][part.id]) faults.push(`${part.id}: another title`);
    for (const shown of part.querySelectorAll("[data-fact]")) {
      const [first, second] = shown.dataset.fact.split(".");
      const other = { fast: "fastNone", equal: "price", queue: "price" }[choice] ?? "none";
      const run = second === undefined ? film : facts.choices[first === "none" ? "none" : other];
      const right = table[run][second ?? first];
      if (right === undefined && !["bet", "off", "tMs", "buffer", "behind", "server"].includes(first)) faults.push(`${part.id}: no fact ${shown.dataset.fact}`);
      if (right !== undefined && shown.textContent !== right) faults.push(`${part.id}: ${shown.dataset.fact} is ${shown.textContent}, not ${right}`);
    }
    const said = part.querySelector("figcaption [data-fact=tMs]")?.textContent;
    if (said !== part.querySelector(".film-clock").textContent) faults.push(`${part.id}: the caption says ${said}`);
    if (/\{|\}|undefined|NaN|\[\w+\|/.test(part.textContent)) faults.push(`${part.id}: a text has a hole`);
  }
  for (const held of document.querySelectorAll(".held")) {
    const { right } = held.getBoundingClientRect();
    if (right > document.documentElement.clientWidth) faults.push(`cut off: ${held.textContent}`);
  }
  const grip = document.querySelector(".grip-of-line");
  if (Math.abs(parseFloat(grip.style.left) - facts.lines[Number(line)]) > 0.01) faults.push(`the line is at ${grip.style.left}, not at ${facts.lines[Number(line)]}`);
  // A phone's window grows with a page that is too wide.
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth || scrollX > 0) faults.push(`the page is ${scrollWidth} px wide`);
  return faults;
}
