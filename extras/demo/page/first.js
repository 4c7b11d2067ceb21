// @ts-check
// Opens what the address names: the films with their knobs, the talk, or otherwise the explanation.

import { isExplored } from "./explain/address.js";

const isExploring = isExplored(location.search);
document.body.classList.toggle("explaining", !isExploring);
for (const each of [...document.body.children]) if ((each.id === "explanation") === isExploring) each.remove();
document.getElementById("to-explanation")?.addEventListener("click", () => location.assign(location.pathname));
if (isExploring) await import("./main.js");
else await import("./explain/explanation.js");
