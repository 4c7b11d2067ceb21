// @ts-check
// The texts of the explanation in English. Another language is another file with the same keys (language.js).
//
// {name} is a fact of the recording that the section shows; {none.name} is one of the recording without a limit.
// [word|text] explains itself by the sentence of the same name in `words`.

export const strings = {
  name: "English",
  lab: "The priority lab",
  seconds: "{n} s",
  time: "time",
  screen: "the visitor's screen at this instant",
  language: "Language",
  theme: "Light or dark",
  copy: "Copy a link to this",
  copied: "Copied",
  copyByHand: "Copy this address:",
  next: "Next: {title}",
  nearest: "There is no recording of “{wanted}”; the nearest one is shown.",
  unreadable: "This browser cannot show the recordings.",
  places: { server: "server", buffer: "kernel's send buffer", link: "slow link", browser: "your browser" },
  results: {
    picture: "picture complete",
    works: "map works",
    pictureReady: "picture ready",
    ready: "script ready",
    first: "script begins",
    unsent: "of the picture are in the buffer before the script",
    gain: "sooner by",
  },
  legend: {
    picture: "picture",
    script: "script",
    ready: "script is ready",
    first: "its first byte is here",
    bet: "your bet",
    limit: "your line",
    gap: "gap: nothing of it came",
    below: "lower pair: the same without the line",
  },
  play: { play: "Play", pause: "Pause", again: "Play again" },
  moments: {
    page: "At {tMs} the server sends the page itself, which names the two files.",
    coming: "At {tMs} {buffer} of the picture are in the send buffer already. The script is not ready yet.",
    behind: "At {tMs} the script stands in the send buffer behind {buffer} of the picture, and cannot overtake.",
    ready: "At {tMs} the script is ready in the server; {buffer} of the picture are in the send buffer already.",
    choice: "At {tMs} both files wait in the server, and the script goes first. {server} of the picture are held back there.",
    onWay: "At {tMs} the script is under way, but nothing of it has arrived.",
    script: "At {tMs} the picture is complete, and the script arrives. The map does nothing until all of it is here.",
    both: "At {tMs} the script arrives, and the rest of the picture has to wait.",
    works: "At {tMs} the script is complete: the map works.",
  },
  words: {
    ready: "From this instant on the server has the script, and could send it.",
    first: "The instant at which the first byte of the script reaches the browser.",
    bet: "The instant on which you have bet.",
    limit: "The line that you move: more bytes than this the buffer does not take.",
    below: "For comparison, the bytes that arrived in the same time without a line.",
    server: "The server is the computer that has the files. As long as bytes are here, it can still choose which go first.",
    buffer: "The kernel is the core of the server's operating system. Its send buffer is a queue: bytes leave it in the order in which they came.",
    link: "The link is the way through the network. This one is slow, and decides how long everything takes.",
    browser: "The browser is the program with which you look at the page. What is here has arrived.",
    picture: "The picture is the image of the map: nice to look at, but it can wait.",
    script: "The script is the program in the page. Only when it is complete does the map react to you.",
    page: "The page is a short text that says which files belong to it.",
    priority: "A priority is the browser's wish which file the server sends first.",
    http: "HTTP/2 is the language in which browsers and servers talk; many files share one connection.",
    gap: "A gap in a bar: at that time nothing of this file arrived. The other file had its turn, or a packet was lost and came again.",
    byte: "A byte is one letter's worth of data. 1 KiB is 1,024 bytes.",
    lowat: "TCP_NOTSENT_LOWAT, in words: low-water mark for what is not sent yet. It is a setting of Linux, and of other systems.",
    wakeup: "Each time there is room in the buffer again, the kernel wakes the server, which then hands over the next bytes.",
    queue: "Routers and mobile masts keep packets in a queue when more come in than go out.",
  },
  sections: {
    start: {
      title: "You asked for the script first. Why does it come last?",
      text: [
        "A page with a map needs two files: a [picture|picture] of the map, and a [script|script], the program that makes the map react to you. The browser asks for the script first; and yet you sit before a finished picture for {dead}, and tap on a map that does nothing.",
        "This is a recording of a real [server|server] and a slow [link|link], as on a phone with poor reception. Drag the time under the picture, or press Play, and watch where the script, in orange, has to stand.",
      ],
    },
    asks: {
      title: "What the page asks for",
      text: [
        "First comes the [page|page] itself, a few lines. It names the two files, and the browser asks for both at once, after {asked}. It adds a wish: the script first. In [http|HTTP/2] such a wish is called a [priority|priority].",
        "The picture is ready at once. The script has to be computed, and is ready {later} later. In these {later} everything is decided. Drag the time slowly over them.",
      ],
    },
    places: {
      title: "Where bytes wait",
      text: [
        "A [byte|byte] passes four places, from the top to the bottom of the drawing: the [server|server], the [buffer|send buffer] of the server's kernel, the [link|link], and your [browser|browser]. Tap a name, here or in the drawing.",
        "All bars have one scale: a whole width is both files, {size} each. The link carries {rate}, so it holds little at a time. Nearly all that waits, waits before it.",
      ],
    },
    bet: {
      title: "Place a bet",
      text: [
        "The script is ready after {ready}. The browser has asked for it first. The link needs some {trip} for one byte.",
        "When does the first byte of the script reach the browser? Move the mark.",
      ],
      control: "your bet, in seconds",
      none: "No bet yet.",
      placed: "Your bet: {bet}. Scroll on to see.",
    },
    happened: {
      title: "What happened",
      text: [
        "The first byte of the script came after {first}. Before it came the whole picture: {size}, complete after {picture}.",
        "The map works when the script is complete, after {works}. For {dead} the picture was there, and the map did nothing.",
      ],
      none: "You placed no bet.",
      early: "You bet {bet}: {off} too early.",
      late: "You bet {bet}: {off} too late.",
      close: "You bet {bet}. Well done!",
    },
    why: {
      title: "Why? The kernel has no second thoughts",
      text: [
        "Look at the instant at which the script is ready. In the [server|server], where the order could still be changed, {pending} of the picture are left. {underWay} are on the link. All the rest, {unsent}, is in the [buffer|send buffer].",
        "The kernel sends what it was given, in the order in which it was given it. Nothing overtakes in the buffer, and nothing is taken back. So the script has to stand behind the picture: of the {waited} that it waits, it waits {inBuffer} there.",
        "The server did know what was urgent. It just gave the picture away too soon, because the buffer took all of it.",
      ],
    },
    line: {
      title: "Now draw a line",
      text: [
        "A server can tell the kernel: take only so much, and ask me again when it is nearly gone. This setting is called [lowat|TCP_NOTSENT_LOWAT]. It is the line in the send buffer. Drag it to the left.",
      ],
      control: "line in the send buffer",
      unset: "no line",
      less: "Smaller",
      more: "Larger",
      none: "No line yet: the buffer takes all, and the map works after {works}. Drag the line in from the right.",
      sooner: "You moved one line. The map works {gain} sooner: after {works} instead of {none.works}.",
      same: "Line at {limit}: more than ever waits there. The map works no sooner.",
      why: "When the script is ready, {unsent} of the picture are in the buffer: up to the line at {limit}, and a last piece that went over it. {pending} wait in the server, and there the script goes past them.",
      enough: "This line gains no more than the one before it: the server hands over whole pieces, and {unsent} is about one piece.",
    },
    cost: {
      title: "What it costs, and when it does not help",
      text: ["The line is no magic. Choose what you want to see; each is a recording, too."],
      control: "what to show",
      choices: {
        price: {
          name: "The price",
          text: "The link carries no more than before. What the script gains, the picture pays: with a line at {limit} it is complete after {picture} instead of {none.picture}. And the server has to come back often: the kernel [wakeup|wakes] it {wakeups} times instead of {none.wakeups}. On a fast link with a long way, a line that is too low can also cost some speed.",
        },
        fast: {
          name: "A fast link",
          text: "At {rate} the picture has arrived after {picture}, before the script is ready at {ready}. Nothing waits, so nothing can be overtaken. The map works after {works}; with a line, after {other.works}.",
        },
        equal: {
          name: "No wish",
          text: "Here the browser says that both files are equally urgent. The line does hold the picture back in the server, but nobody says that the script may pass it. The script begins after {first}, and the map works after {works}. The line keeps a choice open; somebody has to choose. It is no better with a server that does not read such wishes.",
        },
        queue: {
          name: "A queue in the network",
          text: "Here a box in the network lets {packets} packets [queue|queue] up. The line holds for the server's buffer alone: when the script is ready, {underWay} of the picture are out there, where no server can call them back. In spite of the line the map works after {works}.",
        },
      },
    },
    yours: {
      title: "What to do on a server of your own",
      text: [
        "One line on Linux sets it for all connections, without a restart:",
      ],
      code: "sysctl -w net.ipv4.tcp_notsent_lowat=131072",
      steps: [
        "Begin with 131072 (128 KiB). On slow links 16384 gains a little more, and wakes the server more often. To keep it after a restart of the machine, write the setting into a file in /etc/sysctl.d.",
        "nginx and h2o need nothing else: they read priorities, and have no long queue of their own. HAProxy has a setting for its visitors' side, tune.notsent-lowat.client; but it sends files in turns, and keeps a queue of its own.",
        "It pays for slow visitors and for pages with something urgent. For a server of downloads only it changes nothing but memory and wake-ups. Measure yours: docs/guide/choosing.md in the lab says how.",
      ],
      doors: "Where to go from here",
      explore: "Explore",
      exploreText: "All recordings, two at a time, with all knobs.",
      talk: "Give this as a talk",
      talkText: "Seven steps of five minutes, for a remote control.",
      run: "Run it yourself",
      runText: "In a clone of the lab, on Debian:",
      about: "How this was recorded",
    },
  },
};
