// Runs in the demo's page before its own scripts: whenever the page changes, compares the films on the stage with the
// knobs of the panel or the step of the story, and the figures with those that the server sent. `story`: the knobs of
// both arms of each step, by the step's title, as JSON; a film may have another LOWAT if the page says so. Reports a fault
// as an error on the console.
const check = (story) => {
  const told = JSON.parse(story);
  const runs = () => (document.body.dataset.experiment ?? "").split(" ");
  const isPresenting = () => document.body.classList.contains("presenting");
  const isOwn = () => document.getElementById("own").checkVisibility();
  const wanted = () => {
    if (isPresenting()) return told[document.querySelector(".step-title")?.textContent] ?? [{ none: "" }, { none: "" }];
    const control = (name, arm) => document.querySelector(`[data-focus="${name}-${arm}"]`);
    const valueOf = (each) => (each.type === "range" ? each.getAttribute("aria-valuetext") : each.value);
    const compare = document.querySelector('[data-focus="compare"]')?.value;
    const names = [...document.querySelectorAll("[data-focus$='-0']")].map((each) => each.dataset.focus.slice(0, -2));
    return [0, 1].map((arm) => Object.fromEntries(names.flatMap((name) => {
      const own = name === compare ? control(name, arm) : control(name, 0);
      // A panel that is about to be redrawn has one control for a knob that is to be compared.
      return !own || control(name, 1) && name !== compare || name === compare && !control(name, 1) ? [] : [[name, valueOf(own)]];
    })));
  };
  // counts: true to count the figures that are visible and right.
  window.wrong = (counts) => {
    const stages = document.getElementById("stages");
    if (!stages || !stages.querySelector(".arm")) return "";
    if (stages.classList.contains("stale")) {
      const seen = isPresenting() && stages.querySelector(".arm").checkVisibility({ visibilityProperty: true });
      return seen ? "a film of another step under this step's title" : "";
    }
    const shown = runs().map((run) => window.knobsOf[run]);
    const asked = wanted();
    const names = [...stages.querySelectorAll(".arm-name")].map((each) => each.textContent);
    const compared = document.getElementById("comparison").textContent;
    if (!compared.startsWith(`Above: ${names[0]}. Below: ${names[1]}.`)) return `${names} are seen, and the page says: ${compared}`;
    if (isPresenting() && isOwn() !== [0, 1].some((arm) => shown[arm]?.LOWAT !== asked[arm].LOWAT)) return `own values are not told, or there are none; ${names}`;
    for (const arm of [0, 1]) {
      if (!shown[arm]) return "a film that is no film";
      for (const [name, value] of Object.entries(asked[arm])) {
        if (name === "LOWAT" && isPresenting() && isOwn()) continue;
        if (shown[arm][name] !== value) return `arm ${arm}: ${name} is ${shown[arm][name]}, asked ${value}; ${names}`;
      }
    }
    const parts = [...stages.querySelectorAll(".arm")].map((each) => each.querySelector('[data-figure="first_byte_ms"]'));
    for (const arm of [0, 1]) {
      const due = window.figureOf[runs()[arm]];
      const said = parts[arm]?.textContent;
      // Asking whether it is visible makes the browser compute styles.
      if (!due || !said || said === due && !counts || !parts[arm].checkVisibility()) continue;
      if (said !== due) return `arm ${arm} says ${said}, and its film is ${due}`;
      window.compared = (window.compared ?? 0) + 1;
    }
    return "";
  };
  window.figureOf = {};
  window.knobsOf = {};
  const real = window.fetch;
  const note = (shown) => {
    if (!shown) return;
    const run = `${shown.experiment}/${shown.run}`;
    window.knobsOf[run] = shown.knobs;
    window.figureOf[run] = `${(shown.arm.first_byte_ms / 1000).toFixed(2)} s`;
  };
  window.fetch = async (...words) => {
    const response = await real(...words);
    const path = String(words[0]);
    if (response.ok && path.endsWith("/recorded")) (await response.clone().json()).arms.forEach(note);
    if (response.ok && path.endsWith("/arms")) note((await response.clone().json()).shown);
    if (!response.ok || !path.endsWith("/news")) return response;
    let rest = "";
    const noting = new TransformStream({
      transform: (text, next) => {
        const lines = (rest + text).split("\n");
        rest = lines.pop();
        for (const line of lines) note(JSON.parse(line).shown);
        next.enqueue(text);
      },
    });
    const passed = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(noting);
    return new Response(passed.pipeThrough(new TextEncoderStream()), response);
  };
  new MutationObserver(() => {
    const fault = window.wrong(false);
    if (fault) console.error(fault);
  }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
}
