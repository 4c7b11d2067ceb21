// Reads texts and lengths of the page's drawing, as far as they are visible. A place's bytes of one stream follow from the
// lengths: tests/claims.py.
() => {
  const streams = ["others", "important"];
  const isSeen = (each) => each?.checkVisibility({ visibilityProperty: true }) ?? false;
  const textOf = (each) => [...each.childNodes].filter((node) => node.nodeName !== "title").map((node) => node.textContent).join("").trim();
  const lengthOf = (each) =>
    each.localName === "rect" ? Number(each.getAttribute("width"))
      : [...(each.getAttribute("d") ?? "").matchAll(/h([\d.]+)v/g)].reduce((sum, [, long]) => sum + Number(long), 0);
  const colours = {};
  const arms = [...document.querySelectorAll(".arm")].map((arm) => {
    const all = (selector) => [...arm.querySelectorAll(selector)].filter(isSeen);
    const texts = {};
    const note = (name, each) => each && (texts[name] = textOf(each));
    note("name", all(".arm-name")[0]);
    note("verdict", all(".verdict")[0]);
    note("about the verdict", all(".about-verdict")[0]);
    note("screen", all(".phone-caption")[0]);
    for (const figure of all(".figure")) note(textOf(figure.querySelector("dt")), figure.querySelector("dd"));
    const [waiting] = all(".waiting, .available-name").flatMap((each) => textOf(each).match(/wait(?:ing|ed) (.*)$/) ?? []).slice(1);
    if (waiting) texts.waiting = waiting;
    const names = streams.map((stream) => textOf(arm.querySelector(`.lane-name.${stream}`)).replace("▸ ", ""));
    const [asked] = all(".lane-name").map(textOf).filter((name) => name.startsWith("▸ "));
    if (asked) texts["asks for"] = asked.slice(2);
    const [limit] = all("line.lowat:not(.handle)").filter((line) => line.dataset.bytes);
    if (limit) texts.limit = `${Number(limit.dataset.bytes) / 1024} KiB`;
    const [places, titles] = [{}, {}];
    for (const [place, shape, index] of [["front", "rect", 0], ["client", "rect", 1], ["socket", "path", 0], ["link", "path", 1]]) {
      const [bytes] = all(`.places .bytes.${place}`);
      if (!bytes) continue;
      const widths = streams.map((stream, number) => [names[number], lengthOf(arm.querySelectorAll(`.places ${shape}.fill.${stream}`)[index])]);
      places[place] = [textOf(bytes), Object.fromEntries(widths)];
      titles[place] = all(`.places .title.${place}`).map(textOf).join();
    }
    streams.forEach((stream, number) => (colours[names[number]] = getComputedStyle(arm.querySelector(`.fill.${stream}`)).fill));
    return { texts, titles, places, waits: all(".wait-card rect.part").map((each) => each.querySelector("title").textContent) };
  });
  const text = (selector) => [...document.querySelectorAll(selector)].filter(isSeen)[0]?.textContent ?? "";
  return { arms, colours, speed: text(".factor"), link: text(".link-facts"), gap: text(".gap-time"), first: text(".gap-first") };
}
