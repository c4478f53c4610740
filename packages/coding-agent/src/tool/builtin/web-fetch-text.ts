import { keepStart } from "@devtool/internal/cut-text";
import { Parser } from "htmlparser2";

/** Elements whose content is not part of the readable text. */
const HIDDEN: ReadonlySet<string> = new Set(
  "script style noscript template svg head iframe object".split(" "),
);

/** Elements that begin a new line. */
const ITEMS: ReadonlySet<string> = new Set("br tr dt dd option li".split(" "));

/** Elements that begin a new line and end with one. */
const BLOCKS: ReadonlySet<string> = new Set(
  "div section article header footer".split(" "),
);

/** Elements with an empty line before and after them. */
const PARAGRAPHS: ReadonlySet<string> = new Set(
  "p h1 h2 h3 h4 h5 h6 ul ol table pre blockquote hr".split(" "),
);
const HEADING = /^h([1-6])$/;
const MAX_TITLE_LENGTH = 500;

/**
 * The maximum nesting depth of elements, which is more than browsers accept.
 */
const MAX_DEPTH = 1000;

/** The number of characters that the parser gets at once. */
const PIECE_LENGTH = 16_384;

/**
 * Returns the readable text of an HTML page.
 *
 * Writes headings with `#`, list items with `-`, and links with their target.
 * The time is linear in the length of the page.
 */
export function readableText(html: string, baseUrl: string): string {
  const writer = new TextWriter(baseUrl);
  const parser = new Parser({
    onopentag: (name, attributes) => writer.open(name, attributes),
    ontext: (text) => writer.text(text),
    onclosetag: (name) => writer.close(name),
  });
  // The parser's time per element grows with the number of open elements, so
  // the rest of a page that nests too deeply is skipped.
  for (
    let start = 0;
    start < html.length && writer.depth < MAX_DEPTH;
    start += PIECE_LENGTH
  ) {
    parser.write(html.slice(start, start + PIECE_LENGTH));
  }
  parser.end();
  return writer.result();
}

/**
 * Writes text with single spaces between words and line breaks between blocks.
 */
class TextWriter {
  readonly #baseUrl: string;
  readonly #pieces: string[] = [];
  /** The number of open elements. */
  #depth = 0;
  #title = "";
  /** The target of the open link. Empty when there is none. */
  #link = "";
  /** The number of open elements in `HIDDEN`. */
  #hidden = 0;
  /** The number of open `pre` elements. */
  #preformatted = 0;
  #inTitle = false;

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  /** The number of open elements. */
  get depth(): number {
    return this.#depth;
  }

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    this.#depth++;
    if (HIDDEN.has(name)) this.#hidden++;
    if (name === "title") this.#inTitle = true;
    if (this.#hidden > 0) return;
    if (name === "pre") this.#preformatted++;
    this.#separate(name);
    if (ITEMS.has(name)) this.#pieces.push("\n");
    if (name === "li") this.#pieces.push("- ");
    if (name === "a") {
      // A link within the page has no target, nor has one that cannot be
      // fetched.
      const { href = "" } = attributes;
      const url = href.startsWith("#") ? null : URL.parse(href, this.#baseUrl);
      this.#link =
        url?.protocol === "https:" || url?.protocol === "http:" ? url.href : "";
    }
    const level = HEADING.exec(name)?.[1];
    if (level !== undefined) this.#pieces.push(`${"#".repeat(Number(level))} `);
  }

  text(text: string): void {
    if (this.#inTitle) {
      this.#title = keepStart(this.#title + text, MAX_TITLE_LENGTH);
    }
    if (this.#hidden === 0) {
      this.#pieces.push(
        this.#preformatted > 0 ? text : text.replace(/\s+/g, " "),
      );
    }
  }

  close(name: string): void {
    this.#depth--;
    if (name === "title") this.#inTitle = false;
    if (HIDDEN.has(name)) this.#hidden--;
    if (this.#hidden > 0) return;
    if (name === "pre") this.#preformatted--;
    this.#separate(name);
    if (name === "td" || name === "th") this.#pieces.push(" | ");
    if (name === "a" && this.#link !== "") {
      this.#pieces.push(` (${this.#link})`);
    }
    if (name === "a") this.#link = "";
  }

  result(): string {
    const lines = this.#pieces
      .join("")
      .split("\n")
      .map((line) => line.trimEnd().replace(/^ (?! )/, ""));
    const text = lines
      .filter((line, index) => line !== "" || lines[index - 1] !== "")
      .join("\n");
    const title = this.#title.replace(/\s+/g, " ").trim();
    return [title && `# ${title}\n`, text.trim()].filter(Boolean).join("\n");
  }

  /** Writes the line breaks before or after a block. */
  #separate(name: string): void {
    if (PARAGRAPHS.has(name)) {
      this.#pieces.push("\n\n");
    } else if (BLOCKS.has(name)) {
      this.#pieces.push("\n");
    }
  }
}
