// The server's documents: extras/demo/arm_view.py, choices.py and story.py make them. docs/reference/results.md explains Arm,
// analysis/reports/film.py explains FilmDocument.

/** The important resources of the page, or the others. */
export type Stream = "others" | "important";

export interface Asked {
  stream: Stream;
  /** The name of the stream's only resource, or a name for all its resources. */
  name: string;
  sent_ms: number;
  received_ms: number | null;
  available_ms: number | null;
  first_byte_ms: number;
  last_byte_ms: number;
  size_bytes: number;
}

export interface Delivery {
  name: string;
  stream: Stream | "documents";
  content_type: string;
  size_bytes: number;
  first_byte_ms: number;
  last_byte_ms: number;
  end: number[];
  total: number[];
}

export interface FilmDocument {
  load: number;
  duration_ms: number;
  resources: Asked[];
  tape: { end: number[]; others: number[]; important: number[] };
  looks: { t_ms: number[]; handed: number[]; sent: number[]; near_from: number[]; far_from: number[] };
  arrivals: { t_ms: number[]; end: number[] };
  deliveries: Delivery[];
  limits: { t_ms: number[]; bytes: number[] };
  ready: string;
}

/** The part of an arm's document in `priolab show --json` that the page shows. */
export interface Arm {
  name: string;
  status: string;
  reason: string | null;
  verdict: string | null;
  verdict_reason: string | null;
  scenario: Record<string, unknown>;
  first_byte_ms: number | null;
  important_last_byte_ms: number | null;
  others_last_byte_ms: number | null;
  other_bytes_before: number | null;
  oracle: { first_byte_ms: number } | null;
  ledger: { focal: string; wait_ms: number; parts_ms: Record<string, number>; other_bytes_at_available: Record<string, number> } | null;
  available_ms: number | null;
  /** The measured load is the last one. */
  loads: { cost?: { wakeups: number } }[];
  warnings: string[];
}

export interface Shown {
  experiment: string;
  fabric: string;
  run: string;
  knobs: Record<string, string>;
  favoured: Stream | null;
  /** Names of the important resources and of the others, for use in sentences. */
  names: Record<Stream, string>;
  arm: Arm;
  wait: string | null;
  /** Why this machine cannot run the arm, if it was recorded before, on another one. */
  instead?: string;
  film: FilmDocument | null;
  film_reason: string | null;
}

export interface News {
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  text: string;
  wall_s: number;
  shown: Shown | null;
}

export interface KnobOffer {
  name: string;
  /** The name of the knob's group. */
  group: string;
  default: string;
  allowed: string;
  meaning: string;
  values: string[];
  /** The plain name of an arm with this value. */
  names: Record<string, string>;
  /** The value that is compared with the default. */
  telling: string | null;
}

export interface Card {
  see: string;
  layer: string;
  tell: string;
  /** Knobs that bring the effect back. */
  cure: Record<string, string>;
  /** The arm in which the cure shows: 0 above, 1 below. */
  cured_arm: 0 | 1;
}

export interface ScenarioOffer {
  name: string;
  title: string;
  expect: string;
  knobs: Record<string, string>;
  card: Card | null;
}

export interface StepOffer {
  title: string;
  text: string;
  compare: string;
  values: [string, string];
  names: [string, string];
  knobs: Record<string, string>;
  speed: number;
  /** A question to bet on before the film plays. */
  bet: string | null;
  /** The speaker's notes. */
  say: Said[];
  /** The chapter marks at which the text or the notes say something. */
  stops: string[];
  /** When the step begins in the talk of five minutes; null if that talk leaves it out. */
  minute: string | null;
}

/** A sentence of the speaker's notes. at: the chapter mark at which it is said; `start` for the film's beginning. */
export interface Said {
  words: string;
  at: string;
}

/** The closing slide. */
export interface Closing {
  title: string;
  points: string[];
  say: Said[];
  minute: string;
  /** Where the audience finds the published file, and the QR code of this address as a data: URL; null if nobody said. */
  address: string | null;
  qr: string | null;
}

export interface Choices {
  lowats: string[];
  knobs: KnobOffer[];
  scenarios: ScenarioOffer[];
  story: StepOffer[];
  closing: Closing;
  /** True to run the stops of the slider beforehand. */
  ahead: boolean;
  /** In a published file, where its results came from: terms and texts. */
  published?: Record<string, string>;
}

/** A step in the slides. `shown`: the keys of its arms. */
export interface Slide extends StepOffer {
  shown: [string, string];
}
