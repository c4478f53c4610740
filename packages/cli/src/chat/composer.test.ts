import { describe, expect, it } from "vitest";
import { Composer } from "./composer.ts";
import { draftOf } from "./draft.ts";
import type { Intent } from "./intent.ts";

const UP: Intent = { case: "up" };
const DOWN: Intent = { case: "down" };
const SEARCH: Intent = { case: "search" };
const SUBMIT: Intent = { case: "submit" };
const ESCAPE: Intent = { case: "escape" };

describe("the composer", () => {
  it("brings back earlier messages whole, and then the new one", () => {
    const composer = written("new");
    composer.edit(UP);
    expect(composer.text).toBe("third");
    composer.edit(UP);
    expect(composer.text).toBe("two\nlines");
    // Within a message, the key moves between its lines first.
    composer.edit(UP);
    composer.edit(UP);
    expect(composer.text).toBe("first");
    composer.edit(UP);
    expect(composer.text).toBe("first");
    for (let step = 0; step < 4; step++) composer.edit(DOWN);
    expect(composer.text).toBe("new");
  });

  it("finds earlier messages, the newest first, and does not send them", () => {
    const composer = written("new");
    composer.edit(SEARCH);
    type(composer, "ir");
    expect(composer.found).toBe("third");
    composer.edit(SEARCH);
    expect(composer.found).toBe("first");
    composer.edit(SEARCH);
    expect(composer.found).toBe("first");
    expect(composer.edit(SUBMIT)).toBe(true);
    expect(composer.text).toBe("first");
    expect(composer.edit(SUBMIT)).toBe(false);
  });

  it("keeps the draft when a search is given up, or finds nothing", () => {
    const composer = written("new");
    composer.edit(SEARCH);
    type(composer, "nothing like it");
    expect(composer.found).toBe("");
    composer.edit(SUBMIT);
    expect(composer.text).toBe("new");
    composer.edit(SEARCH);
    type(composer, "first");
    composer.edit(ESCAPE);
    expect(composer.text).toBe("new");
  });

  it("puts messages that were taken back before the draft", () => {
    const composer = written("new");
    composer.restore("back");
    expect(composer.text).toBe("back\nnew");
    expect(composer.take()).toBe("back\nnew");
    expect(composer.text).toBe("");
  });
});

function written(text: string): Composer {
  const composer = new Composer(() => ["first", "two\nlines", "third"]);
  composer.write(draftOf(text));
  return composer;
}

function type(composer: Composer, text: string): void {
  for (const character of text) {
    composer.edit({ case: "insert", text: character });
  }
}
