// @ts-check
// The page's side of the speaker's notes: tells the notes' window what the audience sees, and obeys its keys.

/** @typedef {{step: string, title: string, say: string, minute: string | null, next: string, presenting: boolean}} Notes */

export const CHANNEL = "priolab-talk";
const WINDOW = "popup,width=820,height=620";

export class Talk {
  /** @param {() => Notes} notes @param {(key: string) => void} press */
  constructor(notes, press) {
    this.notes = notes;
    this.channel = new BroadcastChannel(CHANNEL);
    this.channel.addEventListener("message", ({ data }) => {
      if (data.ask) this.tell();
      if (typeof data.key === "string") press(data.key);
    });
  }

  /** Tells the window what is shown. */
  tell() {
    this.channel.postMessage({ notes: this.notes() });
  }

  /** Opens the window, which asks for the notes. */
  open() {
    window.open("/page/notes.html", "priolab-notes", WINDOW);
  }
}
