// Fetches a URL, and prints how long it took.
const begun = performance.now();
const answer = await fetch(process.argv[2]);
const body = await answer.arrayBuffer();
console.log(`${body.byteLength} bytes after ${(performance.now() - begun).toFixed(1)} ms`);
