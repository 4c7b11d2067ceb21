// Returns what is wrong with the mode Explore on a phone, as texts: the film and its slider must be in view at once.
() => {
  const seen = (each) => each.checkVisibility({ visibilityProperty: true });
  const within = ({ left, top, right, bottom }) =>
    left >= -1 && top >= -1 && right <= innerWidth + 1 && bottom <= innerHeight + 1;
  const faults = [];
  const film = [...document.querySelectorAll(".arm")].filter(seen);
  const sliders = [...document.querySelectorAll("#pinned input")].filter(seen);
  if (film.length !== 1) faults.push(`${film.length} films`);
  if (sliders.length !== 1) faults.push(`${sliders.length} sliders`);
  for (const each of document.querySelectorAll(".arm .stage, .arm .phone, .arm-name, #pinned, #pinned input, .play")) {
    if (seen(each) && !within(each.getBoundingClientRect())) faults.push(`${each.outerHTML.slice(0, 60)} is not in view`);
  }
  const top = document.getElementById("pinned").getBoundingClientRect().top;
  for (const each of document.querySelectorAll(".arm .stage")) {
    if (seen(each) && each.getBoundingClientRect().bottom > top + 1) faults.push("the slider is in front of the film");
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.push("the page is too wide");
  return faults;
}
